# SPDX-License-Identifier: Apache-2.0
"""Native stacks of programs built as distributions build them: optimised, without frame
pointers, mostly stripped. That they reach their root, that two functions get their 70:30,
and what the modes of unwinding make of them."""
import os
import platform
import shutil
import time

import pytest

import sessions
from sessions import Session, Tools, Workload, check_share, total, with_frame

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")

# Not near 500: in step with a scheduler's tick of 4 ms a program that shares its CPU with
# others would lose samples of some of its functions to these.
HZ = 439
SECONDS = 3.0  # of CPU: some 1,300 samples
SHORT = 1
OMIT = ["-fomit-frame-pointer"]
MAIN = ["_start", "__libc_start_main"]
HEAVY, LIGHT = "heavy", "light"
DEPTH = 200  # of deep.cpp
TRUNCATED = "[truncated]"

# Where a goroutine begins, a thread of the scheduler, and where either changes to another
# stack.
GO_ENDS = {f"runtime.{name}{abi}" for abi in ("", ".abi0") for name in (
    "goexit", "mcall", "mstart", "rt0_go", "systemstack", "morestack")}

# The outermost functions of each program's stacks; None: that it is no mark is enough
# (the root has no name in a stripped file).
ROOTS = {
    "omit": {"_start"},
    "separate": {"_start"},
    "stripped": None,
    "static": {"_start"},
    # musl's start code says nothing of its own frames.
    "musl": {"libc_start_main_stage2", "_start", "_start_c"},
    "rust": {"_start"},
    # Threads of the scheduler change stacks on their way.
    "go": GO_ENDS,
    "goroutines": GO_ENDS,
    "deep": {"_start"},
    "handler": {"_start"},
    "closer": {"_start"},
    "jit": {"_start"},
    "noreturn": {"_start"},
    # libc's __start_context, which is no symbol of a stripped libc, for the coroutine;
    # the program's own main beside it.
    "coroutine": None,
    "threads": {"clone3", "clone", "__clone3", "__clone", "_start", None},
}


def is_kernel(frame):
    return frame.endswith("_[k]")


def user(row):
    return [f for f in row.frames if not is_kernel(f)]


class Stage:
    def __init__(self, folder):
        self.folder = folder
        self.tools = Tools(folder)
        self.workloads, self.missing = {}, {}
        self.rows = {}

    def prepare(self, name, *command):
        self.workloads[name] = Workload(name, command, self.folder)

    def build(self, name, source, *flags, needs=None):
        """None, and why in .missing, where the compiler is not there."""
        if needs and not shutil.which(needs, path="/usr/bin"):
            self.missing[name] = f"{needs} is not installed"
            return None
        return self.tools.build(name, source, *flags)

    def run(self, seconds, **programs):
        for name, program in programs.items():
            if program:
                self.prepare(name, program, str(seconds), "wait")

    def kill(self):
        for w in self.workloads.values():
            w.kill()


def musl(stage):
    if not shutil.which("musl-gcc"):
        stage.missing["musl"] = "musl-gcc is not installed"
        return None
    path = stage.folder / "musl"
    stage.tools.run("musl-gcc", "-O2", *OMIT, "-D_GNU_SOURCE", "-static", "-o", path,
                    sessions.SOURCES / "plain.c")
    return path


def separate(stage):
    """Stripped, with a debug file beside it that .gnu_debuglink names."""
    full = stage.build("separate_full", "plain.c", *OMIT, "-g")
    path, debug = stage.folder / "separate", stage.folder / "separate.debug"
    for command in (["--only-keep-debug", full, debug], ["--strip-all", full, path],
                    [f"--add-gnu-debuglink={debug}", path]):
        stage.tools.run("objcopy", *command)
    full.unlink()
    return path


def prepare(stage):
    build = stage.build
    rust = ["-C", "force-frame-pointers=no", "-C", "strip=debuginfo"]
    stage.run(SECONDS,
              omit=build("omit", "plain.c", *OMIT),
              separate=separate(stage),
              stripped=build("stripped", "plain.c", *OMIT, "-rdynamic", "-s"),
              static=build("static", "plain.c", *OMIT, "-static"),
              musl=musl(stage),
              rust=build("rust", "generic.rs", *rust, needs="rustc"),
              go=build("go", "plain.go", "-ldflags", "-s -w", needs="go"),
              deep=build("deep", "deep.cpp", *OMIT),
              handler=build("handler", "handler.c", *OMIT),
              coroutine=build("coroutine", "coroutine.c", *OMIT),
              threads=build("threads", "threads.c", *OMIT, "-pthread"))
    library = build("library.so", "library.c", *OMIT, "-shared", "-fPIC")
    stage.prepare("closer", build("closer", "closer.c", *OMIT), str(SECONDS), "wait", library)
    if platform.machine() == "x86_64":
        stage.prepare("jit", build("jit", "jitframes.c", *OMIT), str(SECONDS), "wait", stage.folder)
    else:
        stage.missing["jit"] = "its code is of x86-64"
    stage.run(SHORT, zero=build("zero", "zero.c", *OMIT),
              noreturn=build("noreturn", "noreturn.c", *OMIT, "-falign-functions=1"))
    stage.run(SECONDS,
              goroutines=build("goroutines", "goroutines.go", "-ldflags", "-s -w", needs="go"))


def perform(stage, mode, *options):
    for w in stage.workloads.values():
        w.wait()
    session = Session(stage.tools, "profiling-duration=3600", f"profiling-frequency={HZ}",
                      f"perf-mode={mode}", *options)
    try:
        pids = {}
        for name, w in stage.workloads.items():
            pids[name] = w.wait()
            w.go()
            # Files are opened while their programs run: not all at one moment, on a
            # machine that has other work too.
            time.sleep(0.2)
        until = time.monotonic() + sessions.LONGEST
        for w in stage.workloads.values():
            w.end(until)
        windows = session.end()
    finally:
        session.kill()
    assert len(windows) == 1
    for name, pid in pids.items():
        stage.rows[name] = [r for r in windows[0] if r.pid == pid]


@pytest.fixture(scope="module")
def stage(tmp_path_factory):
    stage = Stage(tmp_path_factory.mktemp("native"))
    try:
        prepare(stage)
        perform(stage, "smart")
        yield stage
    finally:
        stage.kill()


def rows_of(stage, name):
    if name in stage.missing:
        pytest.skip(stage.missing[name])
    rows = stage.rows[name]
    assert total(rows) > 0
    return rows


@pytest.mark.parametrize("name", ROOTS)
def test_stacks_end_at_a_root(stage, name):
    rows = [r for r in rows_of(stage, name) if user(r)]
    roots = ROOTS[name]
    good = [r for r in rows if user(r)[0] != TRUNCATED
            and (roots is None or user(r)[0] in roots
                 or (None in roots and user(r)[0].startswith("(")))]
    bad = [r for r in rows if r not in good]
    assert total(good) >= 0.99 * total(rows), bad[:10]


@pytest.mark.parametrize("name", ["omit", "separate", "stripped", "static", "musl", "handler",
                                  "closer", "coroutine", "jit", "threads"])
def test_share(stage, name):
    rows = rows_of(stage, name)
    check_share(total(with_frame(rows, HEAVY)), total(rows), stage.workloads[name].share(), name)


def test_share_of_mangled_names(stage):
    rows = rows_of(stage, "rust")
    heavy = [r for r in rows if any(f.startswith("generic::heavy") for f in r.frames)]
    check_share(total(heavy), total(rows), stage.workloads["rust"].share(), "rust")
    rows = rows_of(stage, "go")
    check_share(total(with_frame(rows, "main.heavy")), total(rows), stage.workloads["go"].share(),
                "go")
    rows = rows_of(stage, "deep")
    heavy = [r for r in rows if any(f.startswith("heavy(") for f in r.frames)]
    # Raising the exceptions costs too: it is in the program's CPU time.
    check_share(total(heavy), total(rows), stage.workloads["deep"].share(), "deep")


def in_leaf(rows):
    return [r for r in rows if user(r) and user(r)[-1].split("(")[0] in (HEAVY, LIGHT)]


@pytest.mark.parametrize("name", ["omit", "separate", "static", "closer"])
def test_no_frame_is_missing(stage, name):
    """From main on nothing but what the program called."""
    rows = [r for r in in_leaf(rows_of(stage, name)) if TRUNCATED not in r.frames]
    for row in rows:
        frames = user(row)
        assert frames[:1] == ["_start"], row
        inner = frames[frames.index("main"):]
        assert inner[0] == "main" and inner[-2:] in (["middle", HEAVY], ["middle", LIGHT]), row
        assert len(inner) == (4 if name == "closer" and "use" in inner else 3), row
    assert total(rows) >= 0.95 * total(stage.rows[name])


def test_deep_recursion(stage):
    rows = [r for r in in_leaf(rows_of(stage, "deep")) if TRUNCATED not in r.frames]
    assert total(rows) >= 0.8 * total(stage.rows["deep"])
    for row in rows:
        assert sum(f.startswith("descend(") for f in row.frames) == DEPTH, row
    # Samples in the midst of an exception are whole too: the first test has counted them.
    assert any("libgcc_s" in f or "_Unwind" in f for r in stage.rows["deep"] for f in r.frames)


def test_from_a_signal_handler_to_what_it_interrupted(stage):
    for row in in_leaf(rows_of(stage, "handler")):
        frames = user(row)
        if TRUNCATED in frames:
            continue
        assert frames.index("main") < frames.index("interrupted") < frames.index("handle"), row


def test_calls_that_never_return(stage):
    """Where they would return to is another function."""
    rows = in_leaf(rows_of(stage, "noreturn"))
    for row in rows:
        frames = user(row)
        assert frames[frames.index("main"):-1] == ["main", "at_the_end", "leave", "middle"], row
    assert total(rows) >= 0.95 * total(stage.rows["noreturn"])


def test_through_generated_code_without_frame_pointers(stage):
    """By what its jitdump file says, for code loaded, moved and replaced."""
    rows = in_leaf(rows_of(stage, "jit"))
    seen = {"jitted::first": 0, "jitted::second": 0}
    for row in rows:
        frames = user(row)
        if TRUNCATED in frames:
            continue
        at = frames.index("main")
        assert frames[at + 1] == "run" and frames[at + 3:at + 5] == ["work", "middle"], row
        seen[frames[at + 2]] += row.count
    whole = sum(seen.values())
    assert whole >= 0.98 * total(rows)
    # Where it was loaded first, the newest code's name counts.
    assert 0.22 < seen["jitted::first"] / whole < 0.45, seen


def test_goroutines_end_where_they_end(stage):
    """Nothing of Go is taken for a caller of what Go calls the top of a stack."""
    rows = rows_of(stage, "goroutines")
    tops = {f"runtime.{name}{abi}" for abi in ("", ".abi0")
            for name in ("goexit", "mcall", "mstart", "rt0_go")}
    for row in rows:
        frames = user(row)
        assert not tops & set(frames[1:]), row
        if any(f.startswith("main.") for f in frames):
            assert frames[0] in tops, row
    ends = {user(r)[0].removesuffix(".abi0") for r in rows if user(r)}
    assert {"runtime.goexit", "runtime.mcall"} <= ends and len(ends) > 2, ends
    assert any("main.spin" in r.frames for r in rows)


def test_kernel_joins_without_a_seam(stage):
    rows = rows_of(stage, "zero")
    whole = [r for r in rows if "entry_SYSCALL_64_after_hwframe_[k]" in r.frames
             or "el0_svc_[k]" in r.frames]
    assert total(whole) >= 0.9 * total(rows)
    at_root = 0
    for row in whole:
        first = next(i for i, f in enumerate(row.frames) if is_kernel(f))
        assert all(is_kernel(f) for f in row.frames[first:]), row
        if row.frames[0] == "_start" and "main" in row.frames[:first]:
            at_root += row.count
    assert at_root >= 0.99 * total(whole)


@pytest.mark.parametrize("mode", ["fp", "dwarf"])
def test_modes(tmp_path, mode):
    """Each mode for itself, over a program with frame pointers and one without."""
    stage = Stage(tmp_path)
    try:
        stage.run(SHORT, with_fp=stage.build("with_fp", "plain.c"),
                  without=stage.build("without", "plain.c", *OMIT))
        perform(stage, mode)
    finally:
        stage.kill()
    in_main = {name: total(with_frame(rows, "main")) / total(rows)
               for name, rows in stage.rows.items()}
    at_root = {name: total(with_frame(rows, "_start")) / total(rows)
               for name, rows in stage.rows.items()}
    assert in_main["with_fp"] > 0.95
    if mode == "fp":
        assert in_main["without"] < 0.1
        assert not [r for rows in stage.rows.values() for r in rows if TRUNCATED in r.frames]
    else:
        assert in_main["without"] > 0.95
        assert min(at_root.values()) > 0.95


def test_stack_size(tmp_path):
    """A copy that is too small shows where it ended."""
    stage = Stage(tmp_path)
    try:
        stage.run(SHORT, deep=stage.build("deep", "deep.cpp", *OMIT))
        perform(stage, "smart", "perf-dwarf-stack-size=512")
    finally:
        stage.kill()
    rows = in_leaf(stage.rows["deep"])
    cut = [r for r in rows if user(r)[0] == TRUNCATED]
    assert total(cut) >= 0.95 * total(rows)
    few = [r for r in cut if 3 < sum(f.startswith("descend(") for f in r.frames) < DEPTH / 2]
    assert total(few) >= 0.95 * total(cut), cut[:5]


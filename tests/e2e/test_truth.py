# SPDX-License-Identifier: Apache-2.0
"""What a profile says of programs whose truth is known: the share of two functions
that split their CPU time 70:30, whole stacks, and right names, however the program
was built, placed, renamed or removed. One session over all of them at once."""
import collections
import math
import os
import pathlib
import platform
import shutil
import subprocess
import time

import pytest

import rawdecode
import sessions
from sessions import Session, Tools, Workload, check_share, total, with_frame

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")

SECONDS = 11  # of CPU: 1,089 samples at 99 Hz
SHORT = 2     # where only names matter

UNSHARE = ["unshare", "--mount", "--pid", "--fork", "--kill-child"]
STACK = ["main", "middle"]
HEAVY, LIGHT = "heavy", "light"


class Stage:
    """The workloads and what the one session saw of them."""

    def __init__(self, folder):
        self.folder = folder
        self.tools = Tools(folder)
        self.workloads = {}
        self.pids = {}
        self.rows = []
        self.samples = []

    def prepare(self, name, *command):
        """A workload that is there before the profiler, and waits."""
        w = self.workloads[name] = Workload(name, command, self.folder)
        return w

    def of(self, name):
        """A workload's rows, by the pids that it had."""
        return [r for r in self.rows if r.pid in self.pids[name]]

    def kill(self):
        for w in self.workloads.values():
            w.kill()


def own_copy(stage, name, source="plain.c", *flags):
    """A build of its own, so that it can be removed or replaced."""
    return stage.tools.build(name, source, *flags)


def put_into_root(stage, name, program):
    """A root with the program's libraries only, and the shell command that puts the
    program itself where nobody outside of its mount namespace finds it."""
    root = stage.folder / f"{name}_root"
    for file in sessions.libraries(program):
        (root / file[1:]).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, root / file[1:])
    for folder in ("opt", "tmp"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    script = f"mount -t tmpfs tmpfs {root}/opt && mount -t tmpfs tmpfs {root}/tmp && " \
             f"cp {program} {root}/opt/ && exec chroot {root} /opt/{program.name} \"$@\""
    return [*UNSHARE, "sh", "-c", script, name]


def prepare_builds(stage):
    build, s = stage.tools.build, str(SECONDS)
    stage.prepare("plain", build("plain", "plain.c"), s, "wait")
    stage.prepare("o1", build("o1", "plain.c", "-O1"), str(SHORT), "wait")
    stage.prepare("nopie", build("nopie", "plain.c", "-no-pie"), str(SHORT), "wait")
    stage.prepare("bias", build("bias", "plain.c", "-Wl,-Ttext-segment=0x10000000"), s, "wait")
    stage.prepare("fixed", build("fixed", "plain.c", "-no-pie",
                                 "-Wl,-Ttext-segment=0x7000000"), str(SHORT), "wait")
    stage.prepare("static", build("static", "plain.c", "-static"), str(SHORT), "wait")
    stripped = build("stripped", "plain.c", "-rdynamic", "-s")
    assert "no symbols" in subprocess.run(["nm", stripped], capture_output=True, text=True).stderr
    stage.prepare("stripped", stripped, s, "wait")
    library = build("library.so", "library.c", "-shared", "-fPIC")
    stage.prepare("loader", build("loader", "loader.c"), s, "wait", library)
    stage.prepare("cpp", build("cpp", "generic.cpp"), s, "wait")
    stage.prepare("rust", build("rust", "generic.rs"), s, "wait")


def prepare_places(stage):
    build, s = stage.tools.build, str(SECONDS)
    inner = build("inner", "plain.c", "-DHEAVY=inner_heavy", "-DLIGHT=inner_light")
    stage.prepare("inner", *put_into_root(stage, "inner", inner), s, "wait")
    if platform.machine() == "x86_64":
        jit = put_into_root(stage, "jit", build("jit", "jit.c"))
        stage.prepare("jit", *jit, s, "wait")
    stage.prepare("threads", build("threads", "threads.c", "-pthread"), s, "wait")
    forks = build("forks", "forks.c")
    stage.prepare("forks", forks, s, "wait")
    stage.prepare("spawns", build("spawns", "forks.c"), s, "wait", build("brief", "plain.c"))
    stage.prepare("zero", build("zero", "zero.c"), str(SHORT), "wait")


def replace(stage, path, name):
    """Another program takes the path; its functions are where those of the first were."""
    other = stage.tools.build(name, "plain.c", "-DHEAVY=wrong_heavy", "-DLIGHT=wrong_light")
    os.replace(other, path)


def remove_some(stage):
    """Binaries that go, or change, while they run: before the profiler, and under it."""
    for name in ("deleted", "replaced", "deleted_late", "replaced_late"):
        path = own_copy(stage, name)
        seconds = SECONDS if name == "deleted" else SHORT
        stage.prepare(name, path, str(seconds), "wait").wait()
    (stage.folder / "deleted").unlink()
    replace(stage, stage.folder / "replaced", "other")


def start_late(stage):
    """Started under the profiler: seen from their exec on."""
    threads = stage.tools.build("late_threads", "threads.c", "-pthread")
    stage.prepare("late_threads", threads, str(SHORT), "go")
    stage.prepare("late", stage.tools.build("late", "plain.c"), str(SHORT), "wait")
    gone = own_copy(stage, "gone")
    stage.prepare("gone", gone, str(SHORT), "wait").wait()
    gone.unlink()


def idle_seconds():
    with open("/proc/stat", encoding="utf-8") as stat:
        return int(stat.readline().split()[4]) / os.sysconf("SC_CLK_TCK")


def wait_for_idleness():
    """Until the CPUs had nothing to do for half a second; false where there is other
    work all the time."""
    enough, until = idle_seconds() + 0.5, time.monotonic() + 20
    while idle_seconds() < enough and time.monotonic() < until:
        time.sleep(0.1)
    return idle_seconds() >= enough


def perform(stage):
    prepare_builds(stage)
    prepare_places(stage)
    remove_some(stage)
    for w in stage.workloads.values():
        w.wait()
    raw = stage.folder / "raw"
    session = Session(stage.tools, "profiling-duration=3600", "profiling-frequency=99",
                      f"debug-raw-records={raw}")
    try:
        start_late(stage)
        for name, w in stage.workloads.items():
            if name == "late_threads":
                stage.pids[name] = {w.pid}
                continue
            stage.pids[name] = {w.wait()}
            w.go()
        time.sleep(2)
        (stage.folder / "deleted_late").unlink()
        replace(stage, stage.folder / "replaced_late", "other_late")
        until = time.monotonic() + sessions.LONGEST
        for w in stage.workloads.values():
            w.end(until)
        stage.was_idle = wait_for_idleness()
        windows = session.end()
    finally:
        session.kill()
    assert len(windows) == 1
    stage.rows = windows[0]
    stage.samples, _ = rawdecode.read(raw)
    for name in ("forks", "spawns"):
        stage.pids[name] |= {r["pid"] for r in stage.workloads[name].reports}


@pytest.fixture(scope="module")
def stage(tmp_path_factory):
    stage = Stage(tmp_path_factory.mktemp("truth"))
    try:
        perform(stage)
        yield stage
    finally:
        stage.kill()


def is_kernel(frame):
    return frame.endswith("_[k]")


def native(row, first):
    """The frames of the program itself, from its first one on."""
    frames = [f for f in row.frames if not is_kernel(f)]
    return frames[frames.index(first):] if first in frames else frames


def check_stacks(rows, stack, leaves):
    """Each sample in a leaf has the whole stack above it, and nearly all are in one."""
    good = entering = 0
    for leaf in leaves:
        for row in with_frame(rows, leaf):
            # Before its first instructions are done a function has no frame of its
            # own, and the frame pointer leads past its caller.
            if native(row, stack[0]) == [*stack[:-1], leaf]:
                entering += row.count
                continue
            assert native(row, stack[0]) == [*stack, leaf], row
            good += row.count
    assert entering <= max(2, 0.005 * total(rows))
    assert good >= 0.95 * total(rows), [r for r in rows if not set(leaves) & set(r.frames)]


def check_program(stage, name, stack=None, heavy=HEAVY, light=LIGHT):
    rows = stage.of(name)
    check_stacks(rows, stack or STACK, (heavy, light))
    check_share(total(with_frame(rows, heavy)), total(rows), stage.workloads[name].share(), name)


@pytest.mark.parametrize("name", ["plain", "bias", "stripped", "loader", "deleted"])
def test_share_and_stacks(stage, name):
    check_program(stage, name)


@pytest.mark.parametrize("name", ["o1", "nopie", "fixed", "static", "late", "gone", "replaced",
                                  "deleted_late", "replaced_late"])
def test_stacks(stage, name):
    rows = stage.of(name)
    assert total(rows) >= 100
    check_stacks(rows, STACK, (HEAVY, LIGHT))


def test_own_root_mounts_and_pids(stage):
    assert not list(stage.folder.glob("inner_root/opt/*"))
    check_program(stage, "inner", heavy="inner_heavy", light="inner_light")
    assert {r.comm for r in stage.of("inner")} == {"inner"}


def test_templates_and_operators(stage):
    check_program(stage, "cpp", ["main", "shop::Worker<unsigned long, 7>::operator()(truth&)"],
                  "shop::Field<unsigned long>::operator+(shop::Field<unsigned long> const&) const",
                  "shop::Sink<unsigned long>& shop::operator<< <unsigned long>"
                  "(shop::Sink<unsigned long>&, unsigned long)")


def test_rust(stage):
    # C's main is std's caller, which keeps no frame pointer.
    check_program(stage, "rust", ["generic::main", "generic::middle", "generic::main::{{closure}}"],
                  "generic::heavy", "generic::light")


@pytest.mark.skipif(platform.machine() != "x86_64", reason="jit.c writes x86-64 code")
def test_generated_code(stage):
    check_program(stage, "jit", heavy="jit::heavy<int> [tier 2]", light="jit::light<int>")
    assert not pathlib.Path(f"/tmp/perf-{stage.workloads['jit'].reports[0]['pid']}.map").exists()


def test_threads_that_rename_themselves(stage):
    rows = stage.of("threads")
    check_stacks(rows, ["work", "middle"], (HEAVY, LIGHT))
    check_share(total(with_frame(rows, HEAVY)), total(rows),
                stage.workloads["threads"].share(), "threads")
    # There before the profiler: the main thread's name when it was first seen.
    assert {r.comm for r in rows} <= {"renamed early", "renamed late"}
    assert len({r.comm for r in rows}) == 1
    # Seen from its exec on: the name it was started under.
    assert {r.comm for r in stage.of("late_threads")} == {"late_threads"}


def test_forked_workers(stage):
    workers = stage.pids["forks"] - {stage.workloads["forks"].process.pid}
    assert len(workers) == len(stage.workloads["forks"].reports) >= 500
    # By name too: on a busy machine pids are used again within the session. That none
    # of theirs is under another name, their number shows.
    rows = [r for r in stage.of("forks") if r.pid in workers and r.comm == "forks"]
    check_stacks(rows, ["main", "child", "middle"], (HEAVY, LIGHT))
    check_share(total(with_frame(rows, HEAVY)), total(rows),
                stage.workloads["forks"].share(), "forks")
    check_all_seen(stage, "forks", rows)


def check_all_seen(stage, name, rows):
    """The samples of all short-lived processes together are those of their CPU time."""
    expected = 99 * stage.workloads[name].total("cpu_ns") / 1e9
    assert abs(total(rows) - expected) <= 3.3 * math.sqrt(expected), (total(rows), expected)
    # About two samples each; chance leaves out e^-2 of them, at worst.
    seen = len({r.pid for r in rows})
    assert seen >= 0.8 * len(stage.workloads[name].reports), seen


def test_brief_programs(stage):
    rows = [r for r in stage.of("spawns") if r.comm == "brief"]
    # Each of them is loaded by the kernel and by ld.so first.
    with_leaf = with_frame(rows, HEAVY) + with_frame(rows, LIGHT)
    check_stacks(with_leaf, STACK, (HEAVY, LIGHT))
    check_share(total(with_frame(with_leaf, HEAVY)), total(with_leaf),
                stage.workloads["spawns"].total("heavy_ns")
                / (stage.workloads["spawns"].total("heavy_ns")
                   + stage.workloads["spawns"].total("light_ns")), "brief")
    assert total(with_leaf) >= 0.9 * total(rows)
    check_all_seen(stage, "spawns", rows)


def test_nothing_of_the_new_program(stage):
    for name in ("replaced", "replaced_late"):
        assert total(with_frame(stage.of(name), HEAVY)) > 0
    assert not [r for r in stage.rows if {"wrong_heavy", "wrong_light"} & set(r.frames)]


def test_kernel_frames(stage):
    rows = stage.of("zero")
    whole = [r for r in rows if "main" in r.frames
             and "entry_SYSCALL_64_after_hwframe_[k]" in r.frames]
    for row in whole:
        at = row.frames.index("entry_SYSCALL_64_after_hwframe_[k]")
        assert all(is_kernel(f) for f in row.frames[at:]), row
        assert not any(is_kernel(f) for f in row.frames[:at]), row
    assert total(whole) >= 0.9 * total(rows)


def kernel_names():
    with open("/proc/kallsyms", encoding="utf-8") as lines:
        return {line.split()[2] for line in lines}


def test_kernel_mark_on_kernel_addresses_only(stage):
    """As many frames have the mark as the rings had kernel addresses; all are names
    of the kernel."""
    marked = sum(r.count * sum(map(is_kernel, r.frames)) for r in stage.rows)
    assert marked == sum(len(s.kernel) for s in stage.samples)
    names = {f[:-len("_[k]")] for r in stage.rows for f in r.frames if is_kernel(f)}
    assert names <= kernel_names(), names - kernel_names()
    assert all(address >> 63 for s in stage.samples for address in s.kernel)


def test_idle(stage):
    rows = [r for r in stage.rows if r.pid == 0]
    if not rows and not stage.was_idle:
        pytest.skip("this machine was never idle meanwhile")
    assert total(rows) > 0
    assert {r.comm for r in rows} == {"swapper"}
    assert all(is_kernel(f) for r in rows for f in r.frames)


def test_counts_are_those_of_the_rings(stage):
    counts = collections.Counter()
    for row in stage.rows:
        counts[row.pid] += row.count
    assert counts == collections.Counter(sample.pid for sample in stage.samples)

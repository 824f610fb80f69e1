# SPDX-License-Identifier: Apache-2.0
"""Python programs in the machine's profile: truth, whole stacks, files and lines, with
native code above and below, forked, replaced and short-lived. One session of the program
over all of them at once, with the machine's own Python."""
import collections
import json
import os
import re
import signal
import subprocess
import time

import pytest

from conftest import ROOT, parse_col, wait_for_lock, wait_until
from sessions import LONGEST, RELEASE, Workload, check_share

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="profiling a whole machine needs root")

PYTHON = "/usr/bin/python3"
SOURCES = ROOT / "tests/workloads/python"
SECONDS = 11  # of CPU: 1,089 samples at 99 Hz
SHORT = 2
FRAME = re.compile(r"(.+?) \((.+?)(?::(\d+))?(?: \[(.*)\])?\)_\[p\]")

Row = collections.namedtuple("Row", "comm frames count")


def has(module):
    return subprocess.run([PYTHON, "-c", f"import {module}"], capture_output=True).returncode == 0


def has_numpy():
    return has("numpy")


def read_rows(path):
    header, lines = parse_col(path)
    # INDEX;CONTAINER;COMM;[appid;]FRAMES
    return header, [Row(s[2], [f for f in s[3:] if not f.startswith("appid: ")], n)
                    for s, n in lines]


class Stage:
    def __init__(self, folder):
        self.folder, self.workloads = folder, {}
        self.out = folder / "out"
        self.header, self.rows = None, []

    def prepare(self, name, source, *args):
        # Its own name: rows have no pids.
        link = self.folder / f"py_{name}"
        if not link.exists():
            link.symlink_to(PYTHON)
        self.workloads[name] = Workload(name, [link, SOURCES / source, *args], self.folder)

    def of(self, name):
        return [r for r in self.rows if r.comm == f"py_{name}"]

    def perform(self):
        for w in self.workloads.values():
            w.wait()
        log = self.folder / "log"
        wait_for_lock()
        agent = subprocess.Popen(
            [RELEASE / "core/program/gprofiler-core", "--plugins=python", "-d", "3600",
             "-f", "99", "-o", self.out, "--log-file", log, "--pid-file", self.folder / "pid",
             "--no-flamegraph"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            wait_until(lambda: log.exists() and "Starting perf" in log.read_text(), 60)
            time.sleep(1)
            for w in self.workloads.values():
                w.go()
            for i in range(4):
                brief = self.folder / "py_brief"
                if not i:
                    brief.symlink_to(PYTHON)
                subprocess.run([brief, SOURCES / "brief.py", "0.3"], check=True)
            until = time.monotonic() + LONGEST
            for w in self.workloads.values():
                w.end(until)
            agent.send_signal(signal.SIGTERM)
            agent.communicate(timeout=60)
        finally:
            if agent.poll() is None:
                agent.kill()
                agent.communicate()
        self.log = log.read_text()
        self.header, self.rows = read_rows(self.out / "last_profile.col")
        print(json.dumps(self.header["gprofiler_core"]["readers"]))


@pytest.fixture(scope="module")
def stage(tmp_path_factory):
    s = Stage(tmp_path_factory.mktemp("python"))
    s.prepare("split", "split.py", SECONDS)
    s.prepare("threads", "many_threads.py", 500, 3, SHORT / 3)
    s.prepare("callback", "callback.py", SHORT)
    s.prepare("workers", "workers.py", 4, 2, 0.4)
    s.prepare("execs", "execs.py", 1)
    s.prepare("words", "words.py", 1)
    if has("greenlet"):
        s.prepare("greenlets", "greenlets.py", SHORT)
    if has("_xxsubinterpreters"):
        s.prepare("interpreters", "interpreters.py", SHORT)
    if has_numpy():
        s.prepare("arrays", "arrays.py", SHORT)
    try:
        s.perform()
        yield s
    finally:
        for w in s.workloads.values():
            w.kill()


def python(row):
    """(function, file, line) of its Python frames, from the root on."""
    found = [FRAME.fullmatch(f) for f in row.frames if f.endswith("_[p]")]
    assert None not in found, row
    return [(m[1], m[2], int(m[3])) for m in found]


def functions(row):
    return [f[0] for f in python(row)]


def index_of(row, function):
    return next(i for i, f in enumerate(row.frames) if f.startswith(f"{function} ("))


def total(rows):
    return sum(r.count for r in rows)


def with_function(rows, name):
    return [r for r in rows if name in functions(r)]


def is_rooted(row):
    names = functions(row)
    return bool(names) and names[0] in ("<module>", "Thread._bootstrap", "_run_code")


def check_rooted(rows, share=0.99):
    """Of those that run Python: starting up and ending is the interpreter's own."""
    started = [r for r in rows if functions(r)]
    bad = [r for r in started if not is_rooted(r) and not functions(r)[0].startswith("_find")]
    assert total(bad) <= (1 - share) * total(started), bad[:5]


def line_of(source, text):
    lines = (SOURCES / source).read_text().split("\n")
    return next(i for i, line in enumerate(lines, 1) if text in line)


def test_share_of_two_functions(stage):
    rows = stage.of("split")
    heavy, light = (total(with_function(rows, n)) for n in ("heavy", "light"))
    w = stage.workloads["split"]
    assert heavy + light >= 0.9 * total(rows)
    check_share(heavy / (heavy + light) * total(rows), total(rows),
                w.total("heavy_ns") / (w.total("heavy_ns") + w.total("light_ns")), "split")
    check_rooted(rows)


def test_whole_stacks_with_file_and_line(stage):
    path, rows = str(SOURCES / "split.py"), stage.of("split")
    want = [("<module>", path, 1)] + [
        (name, path, line_of("split.py", f"def {name.split('.')[-1]}("))
        for name in ("main", "Worker.run", "Worker.turn", "heavy", "spin")]
    exact = total(r for r in rows if python(r) == want)
    assert exact >= 0.95 * total(with_function(rows, "heavy")), want


def test_every_thread_has_its_own_stack(stage):
    rows = stage.of("threads")
    works = with_function(rows, "works")
    assert total(works) >= 0.8 * total(rows) > 100
    assert not with_function(works, "waits")
    check_rooted(works)


def test_calls_from_c_into_python(stage):
    rows = stage.of("callback")
    inner = with_function(rows, "compares")
    assert total(inner) >= 0.8 * total(rows) > 100
    whole = 0
    for row in inner:
        names = functions(row)
        assert names.index("sorts") < names.index("compares"), row
        upper, lower = index_of(row, "sorts"), index_of(row, "compares")
        # libc, which calls back, is between them.
        whole += row.count * any("qsort" in f or "libc.so" in f
                                 for f in row.frames[upper + 1:lower])
    assert whole >= 0.9 * total(inner), (whole, total(inner))
    check_rooted(rows)


@pytest.mark.skipif(not has_numpy(), reason="numpy is not there for the machine's Python")
def test_extension_code_is_below_its_caller(stage):
    rows = stage.of("arrays")
    works = with_function(rows, "multiplies")
    assert total(works) >= 0.8 * total(rows) > 100
    # Numpy's code is below the function that called it, and the kernel's below that.
    below = [r for r in works
             if any("_multiarray_umath" in f for f in r.frames[index_of(r, "multiplies") + 1:])]
    assert total(below) >= 0.8 * total(works), works[:3]
    mixed = [r for r in below if r.frames[-1].endswith("_[k]")]
    assert mixed, below[:3]
    check_rooted(rows)


@pytest.mark.skipif(not has_numpy(), reason="numpy is not there for the machine's Python")
def test_function_extension_and_kernel_in_one_stack(stage):
    """Each of the three once, in this order: numpy's memory is the kernel's to clear."""
    rows = [r for r in stage.of("arrays") if r.frames[-1].endswith("_[k]")]
    works = [r for r in rows if "multiplies" in functions(r)]
    whole = 0
    for row in works:
        kinds = "".join("k" if f.endswith("_[k]") else "p" if f.endswith("_[p]") else "n"
                        for f in row.frames[index_of(row, "multiplies"):])
        whole += row.count * bool(re.fullmatch("pn+k+", kinds))
    assert total(works) >= 3, rows[:5]
    assert whole >= 0.9 * total(works), works[:3]


def test_inlined_calls_leave_no_loop_behind(stage):
    """One call of the loop executes main, run, turn and so on: all of them stand in its place."""
    rows = with_function(stage.of("split"), "spin")
    joined = [r for r in rows if "main" in r.frames or "_start" in r.frames]
    assert total(joined) >= 0.9 * total(rows) > 100, rows[:3]
    assert not [r for r in joined if any("_PyEval_EvalFrameDefault" in f for f in r.frames)]


@pytest.mark.skipif(not has("greenlet"), reason="greenlet is not there for the machine's Python")
def test_greenlets_have_their_own_stacks(stage):
    rows, w = stage.of("greenlets"), stage.workloads["greenlets"]
    heavy, light = (with_function(rows, n) for n in ("heavy", "light"))
    assert total(heavy) + total(light) >= 0.9 * total(rows) > 100
    for row in heavy + light:
        names = functions(row)
        assert names[0] == "by_greenlet.<locals>.<lambda>" and len(
            {"heavy", "light"} & set(names)) == 1, row
    true = w.total("heavy_ns") / (w.total("heavy_ns") + w.total("light_ns"))
    assert abs(total(heavy) / (total(heavy) + total(light)) - true) < 0.13
    # Joined, though the stack of the greenlet that began them stands above.
    joined = [r for r in heavy + light if r.frames[0] == "_start" or "main" in r.frames]
    assert total(joined) >= 0.9 * (total(heavy) + total(light)), rows[:3]


@pytest.mark.skipif(not has("_xxsubinterpreters"), reason="this Python has no interpreters")
def test_each_interpreter_has_its_own_stacks(stage):
    rows, w = stage.of("interpreters"), stage.workloads["interpreters"]
    heavy, light = (with_function(rows, n) for n in ("heavy", "light"))
    assert total(heavy) + total(light) >= 0.9 * total(rows) > 100
    assert all(functions(r)[0] == "<module>" for r in heavy + light)
    true = w.total("heavy_ns") / (w.total("heavy_ns") + w.total("light_ns"))
    assert abs(total(heavy) / (total(heavy) + total(light)) - true) < 0.13


def test_words_of_other_alphabets(stage):
    """Strings of one, two and four bytes a character."""
    rows = [r for r in stage.of("words") if len(functions(r)) >= 4]
    names = ["na\u00efve", "\u0444\u0443\u043d\u043a\u0446\u0438\u044f", "\U000103a0\U000103a1"]
    whole = [r for r in rows if [f for f in functions(r) if f in names] == names]
    assert total(whole) >= 0.9 * total(rows) > 50, rows[:3]
    assert {f[1] for r in whole for f in python(r) if f[0] in names} == \
        {"/srv/datei_\u00e4\u20ac\U0001f40d.py"}


def test_forked_workers(stage):
    rows = stage.of("workers")
    expected = 99 * stage.workloads["workers"].total("cpu_ns") / 1e9
    serves = total(with_function(rows, "serves"))
    assert serves >= 0.8 * expected, (serves, expected)


def test_before_and_after_an_exec(stage):
    rows = stage.of("execs") + [r for r in stage.rows if r.comm == "python3"]
    for name in ("before_exec", "after_exec"):
        assert total(with_function(rows, name)) >= 0.7 * 99, name


def test_programs_of_three_hundred_milliseconds(stage):
    rows = [r for r in stage.rows if r.comm == "py_brief"]
    assert total(with_function(rows, "briefly")) >= 0.5 * 4 * 0.3 * 99


def test_nearly_all_is_joined(stage):
    readers = stage.header["gprofiler_core"]["readers"]
    assert readers["joined"] >= 0.9 * readers["answered"] > 500, readers


def test_what_the_process_is(stage):
    of = {tuple(sorted((m or {}).items())) for m in stage.header["application_metadata"]}
    # The machine may have other Pythons at work.
    found = [dict(m) for m in of if str(stage.folder) in (dict(m).get("execfn") or "")]
    version = subprocess.run([PYTHON, "-V"], capture_output=True, text=True, check=True).stdout
    assert {m["python_version"] for m in found} == {version.strip()}
    assert all(m["arch"] == os.uname().machine and m["exe"] for m in found)
    split = next(m for m in found if m["execfn"] == str(stage.folder / "py_split"))
    assert re.fullmatch(r"(buildid|sha1):[0-9a-f]{40}", split["exe_elfid"]), split
    # Of those that live 300 ms, too.
    assert {m.get("exe_elfid") for m in found} == {split["exe_elfid"]}
    notes = subprocess.run(["readelf", "-n", PYTHON], capture_output=True, text=True, check=True)
    build_id = re.search(r"Build ID: ([0-9a-f]+)", notes.stdout)
    assert not build_id or split["exe_elfid"] == f"buildid:{build_id[1]}"
    assert split["sys_maxunicode"] is None
    mapped = "libpython" in subprocess.run(["ldd", PYTHON], capture_output=True, text=True,
                                           check=True).stdout
    assert (split["libpython_elfid"] is not None) == mapped


def test_packages_and_their_versions(stage):
    rows = stage.of("threads")
    version = subprocess.run([PYTHON, "-V"], capture_output=True, text=True, check=True).stdout
    want = f"standard-library=={version.split()[1]}"
    frames = {f for r in rows for f in r.frames if f.startswith("Thread.run (")}
    assert frames and all(f.endswith(f" [{want}])_[p]") for f in frames), frames


def test_readers_lost_nothing(stage):
    readers = stage.header["gprofiler_core"]["readers"]
    assert readers["failed"] <= 0.01 * readers["asked"], readers
    assert readers["slow"] <= 0.01 * readers["asked"], readers
    assert " ERROR: " not in stage.log



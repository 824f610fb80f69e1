# SPDX-License-Identifier: Apache-2.0
"""Runtimes that are read at samples, against programs whose every stack is known."""
import os
import pathlib
import re
import shutil
import time

import pytest

import rawdecode
from conftest import wait_until
from hanging_file import HangingFile
from pull_play import (PullStage, count_of, judge_anon, judge_interp, stacks_of,
                       wait_for_time)
from sessions import libraries

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="profiling a whole machine needs root")
x86 = pytest.mark.skipif(os.uname().machine != "x86_64", reason="generated code is x86-64")
wide = pytest.mark.wide
EDGES = 0.001  # share of samples that may have an edge that the program has not


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    return tmp_path_factory.mktemp("pull-built")


@pytest.fixture
def stage(built, tmp_path):
    s = PullStage(built, tmp_path)
    yield s
    s.end()


def check(verdict, n=500, joined=0.97, exact=0.95):
    """Edges, and how much of it was joined and exact to the leaf."""
    print(verdict)
    assert verdict.n >= n, verdict
    assert verdict.wrong <= verdict.n * EDGES, verdict
    assert verdict.joined >= verdict.n * joined, verdict
    assert verdict.exact >= verdict.n * exact, verdict


def second_window(stage, judge, program, *options, **how):
    """The first one begins before the collector knows the process."""
    how.setdefault("seconds", 3)
    how.setdefault("frequency", 499)
    run = stage.run(*options, windows=2, **how)
    profiles = run.finish(300)
    print(run.readers())
    return run, judge(stacks_of(profiles[1], program.pid))


def raw_counts(path):
    counts = {}
    for s in rawdecode.read(path)[0]:
        counts[s.pid] = counts.get(s.pid, 0) + 1
    return counts


def check_totals(run, raw, pid):
    """perf's counts stay what they are, whatever became of the stacks."""
    assert count_of(run.profiles, pid=pid) == raw_counts(raw)[pid] > 0


# ---- stacks are exact -------------------------------------------------------------------

def test_interpreter_native_interpreter_sixty_deep(stage):
    program = stage.interp(levels=60)
    run, verdict = second_window(stage, judge_interp, program, seconds=6)
    check(verdict)
    # Each of the 120 functions was met, the deepest with 60 C frames of the interpreter.
    assert len(verdict.by_function) > 110 and max(verdict.by_function) == 119
    readers = run.readers()
    assert readers["priority"] == "realtime"
    assert readers["exact"] >= 0.99 * readers["checked"] > 0
    assert readers["joined"] + readers["alone"] == readers["answered"]


@x86
def test_generated_code_without_frame_pointers_sixty_deep(stage):
    program = stage.anon(60)
    run, verdict = second_window(stage, judge_anon, program, seconds=6)
    check(verdict, joined=0.93)  # level 0 has none: a sixtieth, and its like
    assert len(verdict.by_function) > 55 and max(verdict.by_function) == 59
    # Some may have been moved to another CPU while they were read.
    assert run.readers()["failed"] <= 0.01 * run.readers()["asked"]


@wide
@x86
def test_generated_code_with_a_copy_of_the_stack(stage):
    program = stage.anon(30)
    _, verdict = second_window(stage, judge_anon, program, "testpull-stack=4k")
    check(verdict, joined=0.9)


@wide
def test_sixteen_threads(stage):
    program = stage.interp(levels=4, threads=16)
    _, verdict = second_window(stage, judge_interp, program)
    check(verdict)


@wide
def test_idle_threads_cost_nothing(stage):
    program = stage.interp(levels=4, threads=2, idle=500)
    run, verdict = second_window(stage, judge_interp, program)
    check(verdict)
    # What is told of the readers is some milliseconds younger than the end of the window.
    late = 499 * os.cpu_count() // 2
    assert run.readers()["asked"] <= count_of(run.profiles, comm="interp") + late


@wide
def test_threads_come_and_go(stage):
    program = stage.interp(levels=2, threads=8, churn=1)
    _, verdict = second_window(stage, judge_interp, program)
    check(verdict, exact=0.9)


def test_exec_in_the_middle(stage):
    raw = stage.folder / "raw"
    program = stage.interp(levels=10, threads=2, exec=900)
    run = stage.run(f"debug-raw-records={raw}", windows=2, seconds=4, frequency=499)
    run.finish(300)
    verdict = judge_interp(stacks_of(run.profiles[1], program.pid))
    check(verdict, joined=0.4, exact=0.4)  # each image is looked at anew
    check_totals(run, raw, program.pid)


def chroot_with(stage, program):
    root = stage.folder / "root"
    for path in [program, *libraries(program)]:
        to = root / str(path).lstrip("/")
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, to)
    for folder in ("proc", "tmp"):
        (root / folder).mkdir(exist_ok=True)
    return root


def test_in_a_root_and_a_pid_namespace_of_its_own(stage):
    path = stage.build("interp")
    root = chroot_with(stage, path)
    program = stage.interp(before=["unshare", "--mount", "--pid", "--fork", "--kill-child",
                                   "chroot", root],
                           path=path, pid_namespace=True, levels=30, threads=5)
    wait_until(lambda: pathlib.Path(f"/proc/{program.pid}/comm").read_text() == "interp\n")
    text = pathlib.Path(f"/proc/{program.pid}/status").read_text()
    assert int(re.search(r"^NSpid:.*\s(\d+)$", text, re.M)[1]) != program.pid
    _, verdict = second_window(stage, judge_interp, program)
    check(verdict)


# ---- whatever the collector does, counts stay -----------------------------------------------

def trouble(stage, kind, judge=judge_interp, program=None, **how):
    raw = stage.folder / "raw"
    program = program or stage.interp(levels=10)
    how.setdefault("seconds", 3)
    run = stage.run(f"testpull-trouble={kind}", f"debug-raw-records={raw}", windows=2,
                    frequency=199, **how)
    run.finish(300)
    check_totals(run, raw, program.pid)
    verdict = judge(stacks_of(run.profiles[1], program.pid))
    print(verdict, run.readers())
    return run, verdict


def test_slow_answers_are_cut_and_the_process_left_alone(stage):
    run, verdict = trouble(stage, "slow")
    readers = run.readers()
    # Twenty in a row; time that a hypervisor took from the CPU is not the collector's, and
    # the readers of other CPUs may be in their last one.
    assert 20 <= readers["slow"] < 20 * (readers["answered"] + 1) + os.cpu_count()
    assert verdict.native == verdict.n > 50
    assert "take too long" in run.log


@pytest.mark.parametrize("kind", ["overlap", *(pytest.param(k, marks=wide) for k in ("order", "beyond"))])
def test_runs_that_make_no_sense_stand_alone(stage, kind):
    run, verdict = trouble(stage, kind)
    assert verdict.alone > 0.7 * verdict.n > 50
    assert verdict.wrong == 0
    assert run.readers()["failed"] == 0


@wide
def test_more_frames_than_room(stage):
    run, verdict = trouble(stage, "room")
    readers = run.readers()
    assert readers["failed"] == readers["asked"] > 50
    assert verdict.native == verdict.n


@wide
def test_an_empty_answer_is_no_error(stage):
    run, verdict = trouble(stage, "empty")
    assert run.readers()["failed"] == run.readers()["answered"] == 0
    assert verdict.native == verdict.n


@wide
def test_each_second_answer_fails(stage):
    run, verdict = trouble(stage, "fail", seconds=4)
    readers = run.readers()
    assert abs(readers["failed"] - readers["asked"] / 2) <= 1
    assert readers["joined"] > 0.4 * readers["asked"]
    assert 0.4 * verdict.n < verdict.native < 0.6 * verdict.n


@wide
@x86
@pytest.mark.parametrize("kind", ["room", "still"])
def test_steps_that_make_no_sense(stage, kind):
    run, verdict = trouble(stage, kind, judge_anon, stage.anon(10))
    assert run.readers()["failed"] > 50
    assert verdict.joined == 0


def test_killed_while_it_is_read(stage):
    raw = stage.folder / "raw"
    programs = [stage.interp(levels=10, threads=4) for _ in range(3)]
    run = stage.run(f"debug-raw-records={raw}", windows=2, seconds=4, frequency=499)
    wait_until(run.is_reading)
    for program in programs:
        wait_for_time(run, 1)
        program.end()
    run.finish(60)
    for program in programs:
        check_totals(run, raw, program.pid)
    verdict = judge_interp(stacks_of(run.profiles[0], programs[2].pid))
    check(verdict, n=50, joined=0.2, exact=0.2)


# ---- reads that hang --------------------------------------------------------------------------

def check_left_alone(run, program, other):
    """The others go on, and the session ended in time."""
    assert any("hangs" in text for _, text, _ in
               sum((p.reports(program.pid) for p in run.profiles), [])) or "hangs" in run.log
    assert judge_interp(stacks_of(run.profiles[-2], program.pid)).joined == 0
    verdict = judge_interp(stacks_of(run.profiles[-2], other.pid))
    assert verdict.n > 50 and verdict.joined > 0.9 * verdict.n, verdict


# Nothing that a stuck reader can reach is given back: that is the point.
NO_LEAK_CHECK = ["env", "ASAN_OPTIONS=detect_leaks=0"]


def test_a_page_that_never_comes(stage):
    if not os.path.exists("/dev/fuse"):
        pytest.skip("no /dev/fuse")
    raw = stage.folder / "raw"
    (stage.folder / "mount").mkdir()
    file = HangingFile(stage.folder / "mount")
    try:
        program = stage.interp(levels=3, hang=file.path)
        other = stage.interp(levels=3)
        run = stage.run("testpull-trouble=read", f"debug-raw-records={raw}", windows=3, seconds=4,
                        before=NO_LEAK_CHECK)
        begin = time.monotonic()
        # A thread that hangs in the kernel ends with the file system alone.
        wait_until(lambda: file.was_read.is_set(), 20)
        wait_until(lambda: not run_lives_with_threads(run), 60)
        assert time.monotonic() - begin < 45
    finally:
        file.end()
    run.finish_hung()
    check_totals(run, raw, program.pid)
    check_left_alone(run, program, other)


def run_lives_with_threads(run):
    """Does the run still do anything? Its main thread ends before a stuck reader does."""
    try:
        text = pathlib.Path(f"/proc/{run.process.pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return text.rsplit(")", 1)[1].split()[0] not in "ZX"


@wide
def test_a_collector_that_sleeps(stage):
    raw = stage.folder / "raw"
    program = stage.interp(levels=3)
    run = stage.run("testpull-trouble=sleep", f"debug-raw-records={raw}", windows=2, seconds=5,
                    before=NO_LEAK_CHECK)
    begin = time.monotonic()
    run.finish_hung()
    assert time.monotonic() - begin < 30
    check_totals(run, raw, program.pid)
    assert "hangs" in run.log
    assert judge_interp(stacks_of(run.profiles[1], program.pid)).native > 50


@wide
def test_a_page_that_userfaultfd_owes(stage):
    """That is an error at once, not a wait."""
    program = stage.interp(levels=3, owed=1)
    run, verdict = trouble(stage, "read", program=program)
    assert run.readers()["failed"] >= verdict.n > 50
    assert verdict.native == verdict.n
    assert "hangs" not in run.log


# ---- rights -------------------------------------------------------------------------------------

def without(*rights):
    if not shutil.which("setpriv"):
        pytest.skip("no setpriv")
    drop = ",".join("-" + r for r in rights)
    return ["setpriv", "--bounding-set", drop, "--inh-caps", drop]


@pytest.mark.parametrize("asked", ["realtime", pytest.param("nice", marks=wide)])
def test_without_the_right_to_priority(stage, asked):
    program = stage.interp(levels=10)
    run, verdict = second_window(stage, judge_interp, program, f"reader-priority={asked}",
                                 before=without("sys_nice"))
    print(verdict)
    assert run.readers()["priority"] == "normal"
    assert "readers run at normal priority" in run.log and "CAP_SYS_NICE" in run.log
    # What is joined is right all the same; the rest stands alone, in full view.
    assert verdict.wrong <= max(1, verdict.n * EDGES), verdict
    assert verdict.joined > 0
    assert verdict.joined + verdict.alone + verdict.native == verdict.n


@wide
def test_without_perfmon(stage):
    program = stage.interp(levels=10)
    run, verdict = second_window(stage, judge_interp, program, f"pids={program.pid}",
                                 before=without("perfmon", "sys_admin"))
    paranoid = int(pathlib.Path("/proc/sys/kernel/perf_event_paranoid").read_text())
    if paranoid > 1:
        assert "CAP_PERFMON" in run.log
    check(verdict)


@pytest.mark.parametrize("priority", ["batched", pytest.param("normal", marks=wide)])
def test_lower_priorities_join_only_what_is_proven(stage, priority):
    program = stage.interp(levels=10)
    run, verdict = second_window(stage, judge_interp, program, f"reader-priority={priority}")
    print(verdict)
    assert run.readers()["priority"] == priority
    assert verdict.wrong <= max(1, verdict.n * EDGES), verdict
    assert verdict.alone + verdict.joined >= 0.97 * verdict.n
    if priority == "batched":
        assert verdict.alone > 0.9 * verdict.n
        assert run.readers()["age_mean_us"] < 150000

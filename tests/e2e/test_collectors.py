# SPDX-License-Identifier: Apache-2.0
"""Collectors at work: how processes are found, what becomes of what is written."""
import os
import pathlib
import shutil
import subprocess
import time

import pytest

import rawdecode
from conftest import BUILD, wait_until
from runtime_play import EMBED, PLUGINS, SANITIZER, pass_time, stage  # noqa: F401

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")

SIX_THREE_ONE = "main;f 30\nmain;g 15\nmain;h 5\n"


# ---- finding processes -------------------------------------------------------------


@pytest.mark.threads
def test_found_by_the_name_of_the_executable(stage):
    target = stage.target(script=SIX_THREE_ONE)
    other = stage.target("other", script=SIX_THREE_ONE)
    run = stage.run()
    profile = run.finish()[0]
    assert set(profile.of(target.pid)) == {"main_[t];f_[t]", "main_[t];g_[t]", "main_[t];h_[t]"}
    assert run.calls("attach", target.pid)[0][1] == "0"
    assert not run.calls("claim", other.pid) and not run.calls("attach", other.pid)
    assert profile.total(other.pid) > 0
    assert not any("_[t]" in frames for frames in profile.of(other.pid))


def test_found_by_a_symbol_of_the_executable(stage):
    stage.build("marked", "-DMARKER", "-rdynamic")
    target = stage.target("marked", script="main 1\n")
    assert set(stage.run().finish()[0].of(target.pid)) == {"main_[t]"}


def test_found_by_a_mapped_file(stage):
    library(stage)
    without = stage.target("other", script="main 1\n")
    loaded = stage.target("other", "late", script="main 1\n")
    run = stage.run(windows=2)
    run.started()
    pass_time(run, 0.7)
    assert not run.calls("claim", loaded.pid)
    loaded.become_next()
    run.wait_for("attach", loaded.pid)
    profiles = run.finish()
    assert set(profiles[-2].of(loaded.pid)) == {"main_[t]"}
    assert not run.calls("claim", without.pid)


def library(stage):
    source = stage.folder / "library.c"
    source.write_text("int library(void);\nint library(void)\n{\n\treturn 1;\n}\n")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", stage.built / "libtestrt1.so", source],
                   check=True)


def test_claim_decides(stage):
    refused = stage.target(script="!claim 0\nmain 1\n")
    without = stage.target()
    run = stage.run()
    profile = run.finish()[0]
    for target in refused, without:
        assert [c[1] for c in run.calls("claim", target.pid)] == ["0"]
        assert not run.calls("attach", target.pid)
        assert profile.total(target.pid) > 0
        assert "_[t]" not in "".join(profile.of(target.pid))


def test_claim_is_asked_again_after_a_new_mapping(stage):
    library(stage)
    target = stage.target(mode="late", script="!claim 0\nmain 1\n")
    run = stage.run()
    run.wait_for("claim", target.pid)
    target.script("main 1\n")
    pass_time(run, 0.3)
    assert len(run.calls("claim", target.pid)) == 1
    target.become_next()
    run.wait_for("attach", target.pid)
    assert set(run.finish()[0].of(target.pid)) == {"main_[t]"}


def test_started_within_the_window(stage):
    run = stage.run()
    run.started()
    target = stage.target(script="main;late 7\n")
    run.wait_for("attach", target.pid)
    profile = run.finish()[0]
    # Before it became the program it was a shell.
    assert set(profile.of(target.pid, comm="testrt-a")) == {"main_[t];late_[t]"}


def test_sampled_before_all_collectors_have_started(stage):
    """perf is found first here, and has counted for a while when testrt has started."""
    target = stage.target(script="main 1\n")
    run = stage.run(f"plugin-dir={BUILD}/plugins", "testrt-wait=2s", seconds=5)
    assert "main_[t]" in run.finish()[0].of(target.pid)


def test_in_another_root_and_namespaces(stage):
    stage.build("testrt-static", "-static", "-DSTATIC")
    root = stage.folder / "root"
    (root / "tmp").mkdir(parents=True)
    shutil.copy(stage.built / "testrt-static", root / "tmp")
    target = stage.target("testrt-static", script="main;inside 3\n", pid_namespace=True,
                          chroot=root)
    assert set(stage.run().finish()[0].of(target.pid)) == {"main_[t];inside_[t]"}


def test_only_the_pids_asked_for(stage):
    one, other = stage.target(script="main 1\n"), stage.target(script="main 1\n")
    run = stage.run(f"pids={one.pid}", seconds=3)
    profile = run.finish()[0]
    assert set(profile.of(one.pid)) == {"main_[t]"}
    assert not profile.of(other.pid) and not run.calls("claim", other.pid)


def test_no_more_processes_than_allowed(stage):
    targets = [stage.target(script="main 1\n") for _ in range(3)]
    run = stage.run("max-processes-runtime-profiler=1")
    profile = run.finish()[0]
    shown = [set(profile.of(t.pid)) for t in targets]
    assert shown.count({"main_[t]"}) == 1
    skipped = "[Profiling skipped: more processes than --max-processes-runtime-profiler]"
    rest = [frames for frames in shown if frames != {"main_[t]"}]
    assert all(stack.startswith(skipped + ";") for frames in rest for stack in frames)


# ---- attach and detach ---------------------------------------------------------------


def test_detached_when_it_ends(stage):
    target = stage.target(script="main 1\n")
    run = stage.run(windows=2)
    run.wait_for("attach", target.pid)
    target.end()
    run.wait_for("detach", target.pid)
    run.finish()
    assert len(run.calls("detach", target.pid)) == 1


def test_exec_into_another_program_and_back(stage):
    target = stage.target(script="main 1\n", binaries=["other"],
                          more=["/tmp/other", "busy", "0", "/tmp/testrt-a", "busy", "0"])
    run = stage.run(windows=3)
    run.wait_for("attach", target.pid)
    target.become_next()
    run.wait_for("detach", target.pid)
    pass_time(run, 0.5)
    assert len(run.calls("attach", target.pid)) == 1
    target.become_next()
    run.wait_for("attach", target.pid, 2)
    profiles = run.finish()
    attached, detached = run.calls("attach", target.pid), run.calls("detach", target.pid)
    assert len(attached) == 2 and len(detached) == 2
    ids = [a[2] for a in attached]
    assert ids[0] != ids[1] and [d[1] for d in detached] == ids
    assert "main_[t]" in profiles[-2].of(target.pid)


def is_let_go(run, target):
    attached = [a for a in run.calls("attach", target.pid) if a[1] == "0"]
    return len(run.calls("detach", target.pid)) == len(attached)


def test_an_end_while_claim_thinks(stage):
    """The answer comes for a process that has gone: nobody may stay attached to it."""
    target = stage.target(script="!claim-ms 700\nmain 1\n")
    run = stage.run()
    run.wait_for("thinks", target.pid)
    target.end()
    run.wait_for("attach", target.pid)
    wait_until(lambda: is_let_go(run, target))
    run.finish()


def test_an_exec_while_claim_thinks(stage):
    target = stage.target(script="!claim-ms 700\nmain 1\n", binaries=["other"],
                          more=["/tmp/other", "busy", "0"])
    run = stage.run()
    run.wait_for("thinks", target.pid)
    target.become_next()
    run.wait_for("attach", target.pid)
    wait_until(lambda: is_let_go(run, target))
    run.finish()


def test_an_attach_that_fails_is_tried_again(stage):
    target = stage.target(script="!attach-fail -4\nmain 1\n")
    run = stage.run(windows=4, seconds=1)
    run.wait_for("attach", target.pid)
    target.script("main 1\n")
    profiles = run.finish()
    assert [a[1] for a in run.calls("attach", target.pid)] == ["-4", "0"]
    failed, worked = profiles[0].of(target.pid), profiles[3].of(target.pid)
    assert failed and all(s.startswith("[Profiling error: ") for s in failed)
    assert set(worked) == {"main_[t]"}
    # As long as it does not work each profile says why.
    assert all(s.startswith("[Profiling error: ") for s in profiles[1].of(target.pid))


def test_a_reason_given_at_attach_is_the_only_one(stage):
    target = stage.target(script="!attach-fail -3 version 9 is too new\n")
    run = stage.run()
    profile = run.finish()[0]
    for stack in profile.of(target.pid):
        assert stack.startswith("[Profiling error: version 9 is too new];")
        assert stack.count("[Profiling") == 1
    assert profile.reports(target.pid) == [("unsupported", "version 9 is too new", 1)]


# ---- windows ----------------------------------------------------------------------------


def test_windows_follow_each_other(stage):
    # Both must keep a share when they are scaled to few samples.
    target = stage.target(script="main 20\n!timer 50\n!tick tick;x 1\n")
    run = stage.run(windows=4, seconds=1)
    profiles = run.finish()
    windows = run.calls("window", target.pid)
    assert len(windows) >= 4
    assert [int(w[1]) for w in windows] == list(range(len(windows)))
    for before, after in zip(windows, windows[1:]):
        assert before[3] == after[2]
    for w in windows[:4]:
        assert abs(int(w[3]) - int(w[2]) - 10**9) < 10**8
    assert [p.seq for p in profiles[:4]] == [0, 1, 2, 3]
    seen = [set(profile.of(target.pid)) for profile in profiles[1:4]]
    assert all(seen)
    assert set().union(*seen) == {"main_[t]", "tick_[t];x_[t]"}


def test_what_was_written_before_the_end_of_a_process_counts(stage):
    target = stage.target(script="!timer 50\n!tick tick;x 1\n")
    run = stage.run()
    run.wait_for("attach", target.pid)
    pass_time(run, 0.5)
    target.end()
    run.wait_for("detach", target.pid)
    profile = run.finish()[0]
    assert set(profile.of(target.pid)) == {"tick_[t];x_[t]"}


def test_a_window_that_takes_too_long(stage):
    slow = stage.target(script="!sleep 6500\nmain 1\n!alloc main 1\n")
    other = stage.target("other", "busy+socket", sock_script="main 1\n")
    run = stage.run(seconds=3)
    profiles = run.finish()
    assert "collector testrt misbehaves: it was not ready at the end" in run.log
    assert [r[0] for r in profiles[0].reports(0)] == ["timeout"]
    assert profiles[0].total(slow.pid) > 0
    assert "main_[t]" not in profiles[0].of(slow.pid)
    assert not profiles[0].of(slow.pid, "testrt-alloc")
    # It costs only itself.
    assert set(profiles[0].of(other.pid)) == {"main_[ts]"}


# ---- troubles ------------------------------------------------------------------------------


def test_errors_are_frames_once(stage):
    target = stage.target(script="!error no luck\n!error no luck\n!error bad luck\n!gone away\n")
    run = stage.run()
    profile = run.finish()[0]
    stacks = profile.of(target.pid)
    head = "[Profiling error: no luck];[Profiling error: bad luck];"
    assert stacks and all(s.startswith(head) and s.count("[Profiling") == 2 for s in stacks)
    assert sorted(profile.reports(target.pid)) == [
        ("corrupt", "bad luck", 1), ("corrupt", "no luck", 2), ("gone", "away", 1)]


def test_skipped(stage):
    target = stage.target(script="!skip not this one\n")
    profile = stage.run().finish()[0]
    stacks = profile.of(target.pid)
    assert stacks and all(s.startswith("[Profiling skipped: not this one];") for s in stacks)
    assert profile.reports(target.pid) == [("skipped", "not this one", 1)]


def test_errors_beside_stacks_are_no_frames(stage):
    target = stage.target(script="main 4\n!error a thread was lost\n")
    profile = stage.run().finish()[0]
    assert set(profile.of(target.pid)) == {"main_[t]"}
    assert profile.reports(target.pid) == [("corrupt", "a thread was lost", 1)]


def test_the_status_of_a_window_is_a_trouble(stage):
    target = stage.target(script="!status -5\n")
    profile = stage.run().finish()[0]
    assert [r[0] for r in profile.reports(target.pid)] == ["timeout"]
    assert all(s.startswith("[Profiling error: ") for s in profile.of(target.pid))


def test_damaged_records_harm_nobody(stage):
    liar = stage.target(script="lie 4\n!corrupt 1\n")
    honest = stage.target(script="main 4\n")
    profile = stage.run().finish()[0]
    assert set(profile.of(honest.pid)) == {"main_[t]"}
    assert profile.total(liar.pid) > 0
    assert [r for r in profile.reports(0) if r[0] == "corrupt"]


def test_samples_of_strangers_are_refused_and_told(stage):
    target = stage.target(script="main 4\n!stranger 1\n")
    profile = stage.run().finish()[0]
    assert set(profile.of(target.pid)) == {"main_[t]"}
    assert not any("stranger" in s.frames for s in profile.stacks)
    assert [r for r in profile.reports(0) if r[1].startswith("refused records: 1,")]


def test_a_flood_ends_at_the_budget_of_the_window(stage):
    target = stage.target(script="!flood 1000000000\n")
    run = stage.run(windows=2, seconds=3)
    profiles = run.finish()
    floods = run.calls("flood", target.pid)
    assert len(floods) >= 2
    for written, status in ((int(f[1]), f[2]) for f in floods):
        assert status == "-6" and written <= 256 << 20
        assert written > 200 << 20 # each window has a budget of its own
    assert set(profiles[0].of(target.pid)) == {";".join(["flood_[t]"] * 64)}
    assert ("budget" in [r[0] for r in profiles[0].reports(target.pid)])


# ---- the merge -------------------------------------------------------------------------------


def split_exactly(weights, total):
    """Largest remainder; the larger weight first among equals."""
    shares = [w * total // sum(weights) for w in weights]
    rest = sorted(range(len(weights)),
                  key=lambda i: (-(weights[i] * total % sum(weights)), -weights[i]))
    for i in rest[:total - sum(shares)]:
        shares[i] += 1
    return shares


def test_scaled_to_exactly_what_perf_counted(stage):
    raw = stage.folder / "raw"
    target, twin = stage.target(script=SIX_THREE_ONE), stage.target("other")
    run = stage.run(f"debug-raw-records={raw}", windows=3, frequency=97)
    profiles = run.finish()
    samples, _ = rawdecode.read(raw)
    windows = run.calls("window", target.pid)
    for _, seq, begin, end, *_ in windows:
        profile = profiles[int(seq)]
        # What perf counted before the first window began is of that window too.
        counted = [s.pid for s in samples
                   if (seq == "0" or int(begin) <= s.time) and s.time < int(end)]
        total = counted.count(target.pid)
        assert total > 3 or profile is profiles[-1]
        stacks = profile.of(target.pid)
        assert [stacks.get(f"main_[t];{f}_[t]", 0) for f in "fgh"] == \
            split_exactly([30, 15, 5], total if total else 50)
        assert profile.total(twin.pid) == counted.count(twin.pid)


def test_two_processes_are_scaled_by_themselves(stage):
    raw = stage.folder / "raw"
    one, two = stage.target(script="a 1\nb 1\n"), stage.target(script="c 1000\nd 1\n")
    run = stage.run(f"debug-raw-records={raw}")
    profile = run.finish()[0]
    samples, _ = rawdecode.read(raw)
    for target, weights, names in (one, [1, 1], "ab"), (two, [1000, 1], "cd"):
        end = int(run.calls("window", target.pid)[0][3])
        total = [s.pid for s in samples if s.time < end].count(target.pid)
        stacks = profile.of(target.pid)
        assert total > 3
        assert [stacks.get(f"{n}_[t]", 0) for n in names] == split_exactly(weights, total)


def test_both_collectors_of_one_process(stage):
    target = stage.target(mode="busy+socket", script="main 30\n", sock_script="other 10\n")
    stacks = stage.run().finish()[0].of(target.pid)
    total = sum(stacks.values())
    assert total > 3
    assert [stacks["main_[t]"], stacks["other_[ts]"]] == split_exactly([30, 10], total)


def test_what_perf_did_not_see_is_not_scaled(stage):
    # An idle process is found by its socket; perf may catch a sample of it in passing.
    target = stage.target("sleeper", "idle+socket", sock_script=SIX_THREE_ONE)
    raw = stage.folder / "raw"
    run = stage.run(f"debug-raw-records={raw}", windows=3, seconds=1, frequency=1)
    profiles = run.finish()
    samples, _ = rawdecode.read(raw)
    unseen = 0
    for _, seq, begin, end, *_ in run.calls("window", target.pid, "testsock"):
        profile = profiles[int(seq)]
        if any(s.pid == target.pid and int(begin) <= s.time < int(end) for s in samples):
            continue
        unseen += 1
        assert profile.of(target.pid) == {"main_[ts];f_[ts]": 30, "main_[ts];g_[ts]": 15,
                                          "main_[ts];h_[ts]": 5}
    assert unseen


def test_without_perf_all_is_taken_as_it_is(stage):
    busy = stage.target(script=SIX_THREE_ONE)
    broken = stage.target(script="!error no luck\n")
    run = stage.run("perf-mode=disabled")
    run.started()
    late = stage.target(script="late 9\n")
    run.wait_for("attach", late.pid)
    profile = run.finish()[0]
    assert profile.of(busy.pid) == {"main_[t];f_[t]": 30, "main_[t];g_[t]": 15,
                                    "main_[t];h_[t]": 5}
    assert profile.of(late.pid) == {"late_[t]": 9}
    assert profile.of(broken.pid) == {"[Profiling error: no luck]": 1}
    assert {s.pid for s in profile.stacks} == {busy.pid, late.pid, broken.pid}


def test_other_events_stay_apart(stage):
    target = stage.target(script="main 1\n!alloc main;new 4096\n!alloc main;old 100\n")
    profile = stage.run().finish()[0]
    assert profile.of(target.pid, "testrt-alloc") == {"main_[t];new_[t]": 4096,
                                                      "main_[t];old_[t]": 100}
    assert {s.unit for s in profile.stacks if s.event == "testrt-alloc"} == {"bytes"}
    assert set(profile.of(target.pid)) == {"main_[t]"}
    assert profile.samples == sum(s.value for s in profile.stacks if s.event == "cpu-time")


def test_suffixes_and_native_frames(stage):
    target = stage.target(script="main%2;@testrt_work;plain%0 1\n")
    assert set(stage.run().finish()[0].of(target.pid)) == {"main_[tn];testrt_work;plain"}


def test_native_frames_of_a_library(stage):
    library(stage)
    target = stage.target(mode="late", script="main;@libtestrt1.so!library 1\n")
    target.become_next()
    assert set(stage.run().finish()[0].of(target.pid)) == {"main_[t];library"}


# ---- what the host does for collectors -----------------------------------------------------


def test_a_timer(stage):
    target = stage.target(script="!timer 100\n!tick tick;x 1\n")
    run = stage.run()
    run.wait_for("attach", target.pid)
    attached = time.monotonic()
    run.finish()
    _, _, _, end, _, ticks = run.calls("window", target.pid)[0]
    # It is told a little after the end.
    most = (int(end) / 10**9 - attached) * 10
    assert most * 0.7 < int(ticks) <= most + 5


def test_a_descriptor(stage):
    target = stage.target(script="!fifo /tmp/fifo\n")
    os.mkfifo(target.folder / "fifo")
    run = stage.run()
    run.wait_for("attach", target.pid)
    with open(target.folder / "fifo", "w") as fifo:
        fifo.write("word\n")
    assert set(run.finish()[0].of(target.pid)) == {"fifo_[t];word_[t]"}


def test_a_child_and_what_it_says(stage):
    target = stage.target(script="!spawn echo hello; exit 3\n")
    run = stage.run()
    profile = run.finish()[0]
    assert set(profile.of(target.pid)) == {"child_[t];hello_[t];3_[t]"}


def test_a_child_past_its_deadline(stage):
    target = stage.target(script="!spawn echo $$; exec sleep 1000\n!deadline-ms 300\n")
    run = stage.run()
    run.wait_for("child", target.pid)
    run.finish()
    _, child, status, word = run.calls("child", target.pid)[0]
    assert status == "-9" and word == child
    assert not pathlib.Path(f"/proc/{child}").exists()


def test_a_child_does_not_outlive_its_target(stage):
    target = stage.target(script="!spawn echo $$ > /dev/stdout; exec sleep 1000\n!timer 100\n")
    run = stage.run()
    run.wait_for("attach", target.pid)
    wait_until(lambda: sleepers(run.process.pid))
    target.end()
    run.wait_for("detach", target.pid)
    wait_until(lambda: not sleepers(run.process.pid))
    run.finish()


def sleepers(parent):
    """Children of any thread of a process, by now programs of their own."""
    found = []
    for task in pathlib.Path(f"/proc/{parent}/task").iterdir():
        found += (task / "children").read_text().split()
    return [c for c in found if pathlib.Path(f"/proc/{c}/comm").read_text() == "sleep\n"]


def test_nothing_of_a_target_runs_as_root(stage):
    target = stage.target(script="!spawn echo hello\n!inside 1\nmain 1\n")
    run = stage.run()
    profile = run.finish()[0]
    assert run.calls("attach", target.pid)[0][1] == "-2"
    assert "is not run as root" in profile.reports(target.pid)[0][1]


# ---- the collector that looks for itself ---------------------------------------------------


@pytest.mark.threads
def test_found_by_a_socket_in_a_private_tmp(stage):
    inside = stage.target("other", "busy+socket", sock_script="main 1\n", pid_namespace=True)
    without = stage.target("other", sock_script="main 1\n")
    run = stage.run()
    profile = run.finish()[0]
    assert set(profile.of(inside.pid)) == {"main_[ts]"}
    assert not run.calls("found", without.pid, "testsock")


def test_an_idle_process_is_found_too(stage):
    idle = stage.target("other", "idle+socket", sock_script="main 5\n")
    run = stage.run()
    assert set(run.finish()[0].of(idle.pid)) == {"main_[ts]"}


def test_an_idle_process_that_becomes_another(stage):
    idle = stage.target("other", "idle+socket", sock_script="main 5\n", binaries=["third"],
                        more=["/tmp/third", "idle", "0"])
    run = stage.run(frequency=1)
    run.wait_for("attach", idle.pid, collector="testsock")
    idle.become_next()
    run.wait_for("detach", idle.pid, collector="testsock")
    run.finish()


def test_events_of_processes(stage):
    run = stage.run()
    run.started()
    pass_time(run, 0.3)
    target = stage.target("other", "busy", script="")
    target.end()
    pass_time(run, 0.3)
    run.finish()
    events = [t[2:] for t in run.trace() if t[1] == "event" and t[3] == str(target.pid)]
    kinds = [e[0] for e in events]
    assert kinds[0] == "fork" and kinds[-1] == "exit" and kinds.count("exit") == 1
    execs = [e[3] for e in events if e[0] == "exec"]
    assert execs[0] == "unshare" and execs[-1] == "other"
    mapped = [e[3] for e in events[kinds.index("exec"):] if e[0] == "mmap"]
    assert any(path.endswith("/other") for path in mapped)


# ---- the traces we leave ----------------------------------------------------------------------


def likeness(target):
    """What a process that was looked at must not show."""
    proc = pathlib.Path(f"/proc/{target.pid}")
    status = dict(line.split(":\t", 1) for line in (proc / "status").read_text().splitlines())
    kept = ["SigPnd", "SigBlk", "SigIgn", "SigCgt", "Threads", "TracerPid", "FDSize",
            "Seccomp", "CoreDumping"]
    return ({k: status[k] for k in kept if k in status},
            {fd.name: os.readlink(fd) for fd in (proc / "fd").iterdir()},
            (proc / "maps").read_text(),
            sorted(p.name for p in target.folder.iterdir()),
            os.readlink(proc / "cwd"), (proc / "oom_score_adj").read_text())


def test_targets_stay_as_they_are(stage):
    target = stage.target(mode="busy+socket", script=SIX_THREE_ONE + "x;@testrt_work 1\n",
                          sock_script="main 1\n")
    before = likeness(target)
    run = stage.run(windows=2, seconds=1)
    run.finish()
    assert run.calls("attach", target.pid)
    assert run.calls("attach", target.pid, "testsock")
    assert likeness(target) == before


def test_the_example_of_the_sdk(stage):
    target = stage.target(script=SIX_THREE_ONE)
    done = subprocess.run([EMBED, "profiling-duration=1", "profiling-frequency=49",
                           f"plugin-dir={PLUGINS}", "plugins=testrt"], capture_output=True,
                          text=True, timeout=30)
    assert done.returncode == 0 and not SANITIZER.search(done.stderr), done.stderr
    assert f"stack {target.pid} " in done.stdout
    assert "testrt-a cpu-time;main_[t];f_[t]\n" in done.stdout

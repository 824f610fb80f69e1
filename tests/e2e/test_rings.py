# SPDX-License-Identifier: Apache-2.0
"""What the rings held, what an independent decoder counts in them, and what the
profile says: the same numbers, for each process, in each window. And as many samples
as the perf program sees in the same time."""
import bisect
import collections
import os
import shutil
import subprocess
import threading
import time

import pytest

import rawdecode
from conftest import parse_col, run_agent
from sessions import Session, Tools, Workload

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


@pytest.fixture
def tools(tmp_path):
    return Tools(tmp_path)


class Churn:
    """Processes that start, execute, fork, work for a moment and end, until stop()."""

    def __init__(self, tools):
        self.brief = tools.build("brief", "plain.c")
        self.forks = tools.build("forks", "forks.c")
        self.threads = tools.build("threads", "threads.c", "-pthread")
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        commands = [[self.brief, "0.005"], [self.threads, "0.01", "go"],
                    ["/bin/sh", "-c", "exec /bin/sh -c 'exec /bin/true'"], ["/bin/true"],
                    [self.forks, "0.06"]]
        running = []
        for i in range(1 << 30):
            if self.stopped.is_set():
                break
            running.append(subprocess.Popen([str(c) for c in commands[i % len(commands)]],
                                            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL))
            running = [p for p in running if p.poll() is None]
            time.sleep(0.03)
        for process in running:
            process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stopped.set()
        self.thread.join()


def per_pid(samples):
    return collections.Counter(s.pid for s in samples)


def profile_per_pid(rows):
    counts = collections.Counter()
    for row in rows:
        counts[row.pid] += row.count
    return counts


def check_counts(windows, samples):
    """Samples stand in the order in which they were counted, so the first window has
    the first ones, and so on to the last."""
    at = 0
    for rows in windows:
        counts = profile_per_pid(rows)
        n = sum(counts.values())
        assert counts == per_pid(samples[at:at + n])
        at += n
    assert at == len(samples)


def check_order(windows, samples):
    """What is in a later window was taken later."""
    at = latest = 0
    for rows in windows:
        n = sum(r.count for r in rows)
        times = [s.time for s in samples[at:at + n]]
        assert not times or min(times) >= latest
        latest = max(times, default=latest)
        at += n


def lost(others):
    return [o for o in others if o.type in (rawdecode.RECORD_LOST, rawdecode.RECORD_LOST_SAMPLES)]


def pids_of(others, kind, misc=0):
    return {int.from_bytes(o.body[:4], "little") for o in others
            if o.type == kind and o.misc & misc == misc}


def check_kernel_frames(rows, samples):
    marked = sum(r.count * sum(f.endswith("_[k]") for f in r.frames) for r in rows)
    assert marked == sum(len(s.kernel) for s in samples)


@pytest.mark.parametrize("frequency", [11, 99, 999])
def test_one_window(tools, frequency):
    raw = tools.folder / "raw"
    with Churn(tools):
        session = Session(tools, "profiling-duration=4", f"profiling-frequency={frequency}",
                          f"debug-raw-records={raw}")
        try:
            session.process.wait(60)
            windows = session.end()
        finally:
            session.kill()
    samples, others = rawdecode.read(raw)
    assert len(windows) == 1
    assert samples and not lost(others)
    check_counts(windows, samples)
    check_kernel_frames(windows[0], samples)
    # The run had all that it is about.
    ended = pids_of(others, rawdecode.RECORD_EXIT)
    assert len(ended & pids_of(others, rawdecode.RECORD_COMM, rawdecode.MISC_COMM_EXEC)) > 10
    assert len(ended & pids_of(others, rawdecode.RECORD_FORK)) > 10
    if frequency > 11:
        assert len(ended & set(per_pid(samples))) > 10


def test_many_windows(tools):
    raw = tools.folder / "raw"
    with Churn(tools):
        session = Session(tools, "profiling-duration=1", "profiling-frequency=999",
                          "continuous=true", f"debug-raw-records={raw}")
        try:
            time.sleep(8.5)
            windows = session.end()
        finally:
            session.kill()
    samples, others = rawdecode.read(raw)
    assert len(windows) >= 8
    assert not lost(others)
    check_counts(windows, samples)
    check_order(windows, samples)


def test_program(tools, place):
    """The program's file says the same."""
    raw = tools.folder / "raw"
    with Churn(tools):
        done = run_agent([*place, "-d", "3", "-f", "99", "--debug-raw-records", str(raw)])
    assert done.returncode == 0, done.stdout + done.stderr
    _, stacks = parse_col(place.out / "last_profile.col")
    samples, others = rawdecode.read(raw)
    assert samples and not lost(others)
    assert sum(count for _, count in stacks) == len(samples)


def perf_times(folder, seconds, during):
    """Times, in ns, of the samples that the perf program took meanwhile."""
    data = folder / "perf.data"
    # Without build-ids: perf 6.1 dies of one longer than 20 bytes.
    perf = subprocess.Popen(["perf", "record", "-q", "-B", "-F", "99", "-a", "-e", "cpu-clock",
                             "-k", "CLOCK_MONOTONIC", "-o", data, "--", "sleep", str(seconds)],
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        during()
        _, err = perf.communicate(timeout=seconds + 60)
    finally:
        perf.kill()
        perf.wait()
    assert perf.returncode == 0, err
    # Not by perf script, which dies of them too.
    return sorted(s.time for s in rawdecode.read_perf_data(data))


@pytest.mark.skipif(not shutil.which("perf"), reason="perf is not installed")
def test_as_many_as_perf(tools):
    """Over the time that both were sampling, within 2 %."""
    raw = tools.folder / "raw"
    plain = tools.build("plain", "plain.c")
    workers = [Workload(f"plain{i}", [plain, "30", "wait"], tools.folder) for i in range(2)]
    session = None

    def profile():
        nonlocal session
        # With readers distances are random, and so are counts.
        session = Session(tools, "profiling-duration=20", "profiling-frequency=99",
                          "plugins=perf", f"debug-raw-records={raw}")
        session.process.wait(60)

    try:
        for w in workers:
            w.wait()
            w.go()
        theirs = perf_times(tools.folder, 24, profile)
        windows = session.end()
    finally:
        for w in workers:
            w.kill()
        if session:
            session.kill()
    ours = sorted(s.time for s in rawdecode.read(raw)[0])
    assert len(ours) == sum(r.count for r in windows[0])
    begin, end = max(ours[0], theirs[0]), min(ours[-1], theirs[-1])
    assert end - begin > 18e9
    n, m = (bisect.bisect_right(t, end) - bisect.bisect_left(t, begin) for t in (ours, theirs))
    print(f"{n} samples, perf has {m} in {(end - begin) / 1e9:.1f} s")
    assert abs(n - m) <= 0.02 * m, (n, m)

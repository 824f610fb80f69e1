# SPDX-License-Identifier: Apache-2.0
"""CPU of the agent beside perf record and perf script, on the same intervals."""
import time

from figures.tool import cpu_ns, median, ms, ratio_row, read_col, rusage_s, status_kb

SLEEPERS, BUSY = 1000, 4


def start_load(bench):
    link = bench.deep()
    bench.compile("spawn")
    sleeper = bench.compile("sleeper", *link)
    bench.spawn(SLEEPERS, sleeper)
    for kind in range(1, BUSY + 1):
        bench.start(bench.compile(f"busy{kind}", f"-DKIND={kind}", *link, source="busy.c"))


def continuous(bench, figures):
    """Windows after the first, each beside a perf record of the same length."""
    length, windows = (15, 2) if bench.quick else (60, 3)
    agent = bench.agent("-c", "-d", str(length), "-f", "11", "--plugins=perf")
    ours, theirs, begin = [], [], time.monotonic()
    agent.wait_profiles(1, length + 30)
    for window in range(windows):
        time.sleep(0.5)  # for the flame graph
        before = cpu_ns(agent.pid)
        record = bench.start_perf(length - 1)
        agent.wait_profiles(window + 2, length + 30)
        time.sleep(0.5)
        ours.append((cpu_ns(agent.pid) - before) / 1e9)
        perf = bench.finish_perf(record)
        if perf:
            theirs.append((perf[0] + perf[1], perf[0] + perf[2], *perf))
    if not theirs:
        raise RuntimeError("perf crashed in every window")
    memory = status_kb(agent.pid)
    span, used = time.monotonic() - begin, rusage_s(agent.end())
    cpu = median(ours)
    record, script, plain = (median(t[i] for t in theirs) for i in (2, 3, 4))
    _, samples, stacks = read_col(agent.profiles()[-2])
    figures.note(f"{windows} windows of {length} s after the first, 11 Hz; {samples} samples, "
                 f"{stacks} stacks in one; perf at the same time, in {len(theirs)} of them")
    figures.add(f"agent, {length} s window", ms(cpu))
    figures.add("agent, share of one core", f"{100 * cpu / length:.3f} %", "at most 0.2 %",
                cpu / length <= 0.002)
    figures.add("agent, the first window too", f"{100 * used / span:.3f} %")
    figures.add("perf record", ms(record))
    figures.add("perf script", ms(script))
    figures.add("perf script --no-inline", ms(plain))
    ratio_row(figures, "perf / agent, continuous", median(t[0] for t in theirs), cpu, 10)
    figures.add("  the same with --no-inline", f"{median(t[1] for t in theirs) / cpu:.1f} x")
    rss = memory["RssAnon"] + memory["RssFile"]
    figures.add("RssAnon + RssFile", f"{rss / 1024:.1f} MB", "below 25 MB", rss < 25 * 1024)


def cold(bench, figures):
    """Fork to exit, alternating with and without a flame graph."""
    length, runs = (10, 1) if bench.quick else (30, 3)
    plain, page, theirs, bare = [], [], [], []
    for _ in range(runs):
        for used, option in ((plain, "--no-flamegraph"), (page, "--flamegraph")):
            record = bench.start_perf(length)
            agent = bench.agent("-d", str(length), "-f", "11", "--plugins=perf", option)
            used.append(rusage_s(agent.wait()))
            perf = bench.finish_perf(record)
            if perf:
                theirs.append(perf[0] + perf[1])
                bare.append(perf[0] + perf[2])
    if not theirs:
        raise RuntimeError("perf crashed in every run")
    figures.note(f"cold: single runs of {length} s, fork to exit, median of {runs}; "
                 "perf at the same time")
    figures.add(f"agent, cold {length} s, .col", ms(median(plain)))
    figures.add(f"agent, cold {length} s, .col and .html", ms(median(page)))
    figures.add("perf record + script", ms(median(theirs)))
    ratio_row(figures, "perf / agent, cold, .col", median(theirs), median(plain), 3)
    ratio_row(figures, "perf / agent, cold, .html too", median(theirs), median(page), 3)
    figures.add("  the same with --no-inline", f"{median(bare) / median(page):.1f} x")


def run(bench, figures):
    start_load(bench)
    figures.note(f"{SLEEPERS} sleeping processes, {BUSY} busy ones with stacks of 30 frames")
    continuous(bench, figures)
    cold(bench, figures)

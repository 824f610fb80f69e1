# SPDX-License-Identifier: Apache-2.0
"""Resident memory as base, per CPU and per process, and the locked rings."""
import os
import time

from figures.tool import go_first, read_col, ring_kb, status_kb


FREQUENCY = 999  # of processes that work: all of them are to be seen


def measure(bench, frequency, length, windows):
    """KiB of the agent after some windows, and the stacks of the last one."""
    agent = bench.agent("-c", "-d", str(length), "-f", str(frequency), before=go_first)
    agent.wait_profiles(windows, windows * length + 30)
    time.sleep(0.5)
    got = status_kb(agent.pid)
    got["rings"] = ring_kb(agent.pid)
    got["stacks"] = read_col(agent.profiles()[-1])[2]
    agent.end()
    return got


def rss(status):
    return status["RssAnon"] + status["RssFile"]


def row(figures, what, got):
    figures.add(what, f"{got['RssAnon'] / 1024:.1f} + {got['RssFile'] / 1024:.1f} MB",
                "below 25 MB", rss(got) < 25 * 1024)


def run(bench, figures):
    link = bench.deep()
    bench.compile("spawn")
    sleeper = bench.compile("sleeper", *link)
    figures.note("RssAnon + RssFile; RssFile is mostly code that is shared with other programs")
    got = {}
    for count in (0, 500, 1000, 2000):
        load = bench.spawn(count, sleeper)
        got[count] = measure(bench, 11, *((3, 2) if bench.quick else (5, 5)))
        bench.stop(load)
        row(figures, f"{count} sleeping processes, 11 Hz", got[count])
    figures.add("  per sleeping process", f"{(rss(got[2000]) - rss(got[0])) / 2000:.3f} KB")
    active, cpus = {}, os.cpu_count() or 1
    for count in (100, 500, 1000):
        # In all a third of the CPUs, and in each window each process has samples.
        load = bench.spawn(count, sleeper, 1000, 3 * count // cpus + 1, before=go_first)
        active[count] = measure(bench, FREQUENCY, *((5, 2) if bench.quick else (10, 3)))
        bench.stop(load)
        row(figures, f"{count} processes with a little work, {FREQUENCY} Hz", active[count])
    figures.add("  per sampled process",
                f"{(rss(active[1000]) - rss(active[100])) / 900:.2f} KB")
    figures.note(f"stacks in a profile of 100, 500, 1000 working processes: "
                 f"{', '.join(str(one['stacks']) for one in active.values())}")
    figures.add("rings, per CPU, 11 Hz", f"{got[0]['rings'] / cpus:.0f} KB")
    figures.add(f"rings, per CPU, {FREQUENCY} Hz", f"{active[100]['rings'] / cpus:.0f} KB")
    figures.add("VmPin, VmLck, 11 Hz", f"{got[0]['VmPin']}, {got[0]['VmLck']} KB")

# SPDX-License-Identifier: Apache-2.0
"""Resident memory as base, per CPU and per process, and the locked rings."""
import os
import time

from figures.tool import ring_kb, status_kb


def measure(bench, frequency=11):
    """KiB of the agent after some windows: anonymous, of files; the rest."""
    length, windows = (3, 3) if bench.quick else (5, 6)
    agent = bench.agent("-c", "-d", str(length), "-f", str(frequency))
    agent.wait_profiles(windows, windows * length + 30)
    time.sleep(1)
    got = status_kb(agent.pid)
    got["rings"] = ring_kb(agent.pid)
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
        got[count] = measure(bench)
        bench.stop(load)
        row(figures, f"{count} sleeping processes, 11 Hz", got[count])
    figures.add("  per sleeping process", f"{(rss(got[2000]) - rss(got[0])) / 2000:.3f} KB")
    active = {}
    for count in (100, 500, 1000):
        # In all two thirds of the CPUs, and each process has samples in each window.
        period = 3000 * count // 1000 // (os.cpu_count() or 1) + 1
        load = bench.spawn(count, sleeper, 2000, period)
        active[count] = measure(bench, 499)
        bench.stop(load)
        row(figures, f"{count} processes with a little work, 499 Hz", active[count])
    figures.add("  per sampled process",
                f"{(rss(active[1000]) - rss(active[100])) / 900:.2f} KB")
    cpus = os.cpu_count() or 1
    figures.add("rings, per CPU, 11 Hz", f"{got[0]['rings'] / cpus:.0f} KB")
    figures.add("rings, per CPU, 499 Hz", f"{active[100]['rings'] / cpus:.0f} KB")
    figures.add("VmPin, VmLck, 11 Hz", f"{got[0]['VmPin']}, {got[0]['VmLck']} KB")

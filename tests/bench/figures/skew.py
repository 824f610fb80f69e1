# SPDX-License-Identifier: Apache-2.0
"""How often a runtime's stack was read too late: three processes change their top
function every 1, 10 and 100 ms of CPU time; the leaf of the native stack, which the
kernel took, tells the true one. The collector joins everything, proven or not; exact is
what the core vouches for."""
import os

from figures import runtimes

EVERY = (1, 10, 100)
PRIORITIES = ("realtime", "nice", "normal", "batched")


def measure(bench, figures, hz, priority, seconds):
    agent = bench.agent("-c", *runtimes.options(bench, hz, seconds, priority,
                                                "--testpull-join=always"))
    agent.wait_profiles(2, 4 * seconds + 60)
    agent.end()
    path = agent.profiles()[1]  # the first window began before the processes were known
    facts = runtimes.readers(path)
    stale, known_all = [], 0
    for ms in EVERY:
        lines = runtimes.lines_of(path, f"interp{ms}ms")
        known, late = runtimes.stale_of(lines)
        known_all += known
        stale.append(f"{100 * late / known:.2f}" if known else "-")
    checked = facts["checked"]
    share = 100 * facts["exact"] / checked if checked else 0
    figures.add(f"{hz} Hz, {priority}" + ("" if facts["priority"] == priority
                                          else f" (got {facts['priority']})"),
                f"{' / '.join(stale)} %", f"{known_all} samples; exact {share:.1f} %, age mean "
                f"{facts['age_mean_us']} us, max {facts['age_max_us']} us")


def run(bench, figures):
    seconds = 5 if bench.quick else 15
    for ms in EVERY:
        program = runtimes.build(bench, f"interp{ms}ms")
        bench.start(program, "flat=1", f"ms={ms}")
    figures.note("share of stale reads for a top function that changes every "
                 + ", ".join(map(str, EVERY)) + f" ms; windows of {seconds} s; three busy threads "
                 f"and what else the machine does on {os.cpu_count()} CPUs")
    for hz in (99, 499):
        for priority in PRIORITIES:
            measure(bench, figures, hz, priority, seconds)

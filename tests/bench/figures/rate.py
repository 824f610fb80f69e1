# SPDX-License-Identifier: Apache-2.0
"""CPU for each sample at 999 Hz with 2,000 distinct stacks."""
import time

from figures.tool import cpu_ns, go_first, median, read_col, rusage_s

STACKS = 2000


def windows_of(agent, length, n):
    """CPU nanoseconds of the n windows after the first."""
    used = []
    agent.wait_profiles(1, length + 30)
    for window in range(n):
        time.sleep(0.5)
        before = cpu_ns(agent.pid)
        agent.wait_profiles(window + 2, length + 30)
        time.sleep(0.5)
        used.append(cpu_ns(agent.pid) - before)
    return used


def measure(bench, mode, length, n):
    """Each sample of the windows after the first, the same with start and end, the profiles."""
    agent = bench.agent("-c", "-d", str(length), "-f", "999", "--plugins=perf",
                        f"--perf-mode={mode}", before=go_first)
    used = windows_of(agent, length, n)
    total = rusage_s(agent.end())
    profiles = [read_col(path) for path in agent.profiles()]
    counted = profiles[1:n + 1]
    each = [ns / 1e3 / samples for ns, (_, samples, _) in zip(used, counted)]
    return median(each), total * 1e6 / sum(p[1] for p in profiles), counted


def run(bench, figures):
    length, n = (10, 1) if bench.quick else (30, 3)
    bench.start(bench.compile("paths", "-pthread"), STACKS, before=go_first)
    for mode, bound in (("fp", 3), ("smart", None)):
        each, whole, counted = measure(bench, mode, length, n)
        stacks = min(p[2] for p in counted)
        lost = [s["lost"] for p in counted for s in p[0]["gprofiler_core"]["sources"]]
        figures.note(f"{mode}: windows of {length} s after the first, .col and .html written; "
                     f"{counted[-1][1]} samples in one; lost {max(lost)}")
        figures.add(f"{mode}: distinct stacks", f"{stacks}", f"at least {STACKS}",
                    stacks >= STACKS)
        if bound:
            figures.add("  each sample", f"{each:.2f} us", f"at most {bound} us", each <= bound)
        else:
            figures.add("  each sample", f"{each:.2f} us")
        figures.add("  start and end too", f"{whole:.2f} us")

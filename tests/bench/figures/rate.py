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


def run(bench, figures):
    length, n = (10, 1) if bench.quick else (30, 3)
    bench.start(bench.compile("paths", "-pthread"), STACKS, before=go_first)
    agent = bench.agent("-c", "-d", str(length), "-f", "999", before=go_first)
    used = windows_of(agent, length, n)
    total = rusage_s(agent.end())
    profiles = [read_col(path) for path in agent.profiles()]
    counted = profiles[1:n + 1]
    each = [ns / 1e3 / samples for ns, (_, samples, _) in zip(used, counted)]
    stacks = min(p[2] for p in counted)
    lost = [s["lost"] for p in counted for s in p[0]["gprofiler_core"]["sources"]]
    figures.note(f"windows of {length} s after the first, .col and .html written; "
                 f"{counted[-1][1]} samples in one; lost {max(lost)}")
    figures.add("distinct stacks in a profile", f"{stacks}", f"at least {STACKS}",
                stacks >= STACKS)
    figures.add("agent, each sample", f"{median(each):.2f} us", "at most 3 us",
                median(each) <= 3)
    figures.add("  start and end too", f"{total * 1e6 / sum(p[1] for p in profiles):.2f} us")

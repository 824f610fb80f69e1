# SPDX-License-Identifier: Apache-2.0
"""What the agent uses in each of its modes, over the programs of `native`."""
import time

from figures.native import PROGRAMS, build, start
from figures.tool import cpu_ns, read_col, ring_kb, status_kb


def run(bench, figures):
    seconds = 8 if bench.quick else 30
    running = [start(p, 12 * seconds + 60) for p in (build(bench.folder, n) for n in PROGRAMS) if p]
    for hz in (11, 99):
        for mode in ("fp", "dwarf", "smart"):
            agent = bench.agent("-c", "-d", str(seconds), "-f", str(hz), f"--perf-mode={mode}",
                                "--plugins=perf")
            agent.wait_profiles(1, seconds + 30)
            time.sleep(0.5)
            before = cpu_ns(agent.pid)
            agent.wait_profiles(2, seconds + 30)
            time.sleep(0.5)
            used = (cpu_ns(agent.pid) - before) / 1e9
            kb = status_kb(agent.pid)
            rings = ring_kb(agent.pid)
            agent.end()
            _, samples, _ = read_col(agent.profiles()[1])
            figures.add(f"{mode}, {hz} Hz", f"{used / seconds:.3%} of a core, "
                        f"{used * 1e6 / samples:.1f} us a sample, {kb['RssAnon'] / 1024:.1f} + "
                        f"{kb['RssFile'] / 1024:.1f} MB, rings {rings} KB")
    for process in running:
        process.kill()
        process.wait()

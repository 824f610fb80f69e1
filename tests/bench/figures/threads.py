# SPDX-License-Identifier: Apache-2.0
"""What samples with copies of stacks cost over a program of 200 threads that keep all
CPUs busy, beside `perf record --call-graph dwarf` and `perf script` of the same time."""
import time

from figures.native import BYTES, run_timed
from figures.tool import cpu_ns, read_col, ring_kb, status_kb

HZ = 99
THREADS = 200
WORK_US = 500
PERF_SECONDS = 5


def ours(bench, figures, mode, seconds):
    """The second window of a session: the first has read all symbols and tables. Seconds
    of CPU for a sample."""
    agent = bench.agent("-c", "-d", str(seconds), "-f", str(HZ), f"--perf-mode={mode}",
                        "--plugins=perf")
    agent.wait_profiles(1, seconds + 60)
    time.sleep(0.5)
    before = cpu_ns(agent.pid)
    agent.wait_profiles(2, seconds + 60)
    time.sleep(0.5)
    used = (cpu_ns(agent.pid) - before) / 1e9
    kb, rings = status_kb(agent.pid), ring_kb(agent.pid)
    agent.end()
    _, samples, stacks = read_col(agent.profiles()[1])
    share, size = used / seconds, (kb["RssAnon"] + kb["RssFile"] + rings) / 1024
    figures.add(f"{mode}, {seconds} s: CPU", f"{share:.2%} of a core", "below 3 %", share < 0.03)
    figures.add("  a sample", f"{used * 1e6 / samples:.1f} us of {samples}, {stacks} stacks")
    figures.add("  resident", f"{size:.1f} MB, of it rings {rings / 1024:.1f}", "below 80 MB",
                size < 80)
    return used / samples


def theirs(bench, figures, ours_each):
    data = bench.folder / "perf.data"
    _, record = run_timed("perf", "record", "-q", "-B", "-e", "cpu-clock", "-F", str(HZ), "-a",
                          f"--call-graph=dwarf,{BYTES}", "-o", str(data), "--", "sleep",
                          str(PERF_SECONDS))
    out, script = run_timed("perf", "script", "--no-inline", "-i", str(data), "-F", "ip")
    data.unlink()
    n = max(1, out.count("\n\n"))
    figures.add(f"perf, {PERF_SECONDS} s: record", f"{record / PERF_SECONDS:.2%} of a core, "
                f"{record * 1e6 / n:.1f} us a sample of {n}")
    figures.add("  script", f"{script * 1e6 / n:.0f} us a sample")
    figures.add("  both beside dwarf", f"{(record + script) / n / ours_each:.1f} x",
                "at least 10 x", (record + script) / n >= 10 * ours_each)
    figures.add("  the script alone", f"{script / n / ours_each:.1f} x")


def run(bench, figures):
    seconds = 10 if bench.quick else 60
    many = bench.compile("many", "-pthread", "-fomit-frame-pointer")
    program = bench.start(many, THREADS, 2 * seconds + 300, WORK_US)
    each = ours(bench, figures, "dwarf", seconds)
    ours(bench, figures, "smart", min(seconds, 20))
    theirs(bench, figures, each)
    bench.stop(program)
    figures.note(f"{THREADS} threads with stacks of 30 frames that keep all CPUs busy, {HZ} Hz, "
                 f"{BYTES} bytes of stack; of each session the second window")

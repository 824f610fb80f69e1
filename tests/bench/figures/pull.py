# SPDX-License-Identifier: Apache-2.0
"""What reading at samples costs: CPU for each sample beside a bare loop that is woken and
reads as much, at the same time; and how long the target waits for a CPU."""
import os
import pathlib
import re
import subprocess
import time

from figures import runtimes
from figures.tool import beside_hz, median, read_col


def bare(bench, pid, hz, seconds, batched):
    program = bench.folder / "barepull"
    if not program.exists():
        bench.compile("barepull", "-pthread")
    address = symbol(bench, pid)
    return subprocess.Popen([program, str(pid), str(beside_hz(hz)), str(seconds), "512", str(int(batched)),
                             hex(address)], stdout=subprocess.PIPE, text=True)


def symbol(bench, pid):
    """Where the interpreter's table is."""
    out = subprocess.run(["nm", str(bench.folder / "interp")], capture_output=True, text=True,
                         check=True).stdout
    offset = int(re.search(r"^(\S+) \S interp_threads$", out, re.M)[1], 16)
    maps = pathlib.Path(f"/proc/{pid}/maps").read_text()
    base = next(line for line in maps.splitlines() if line.endswith("/interp"))
    return int(base.split("-")[0], 16) + offset


def beside(bench, pid, hz, seconds, priority):
    """Microseconds for each sample of the whole machine: ours, theirs."""
    agent = bench.agent("-c", *runtimes.options(bench, hz, seconds + 2, priority))
    agent.wait_profiles(1, 60 + seconds)
    loop = bare(bench, pid, hz, seconds, priority == "batched")
    before = runtimes.reader_cpu_ns(agent.pid), time.monotonic()
    out, _ = loop.communicate(timeout=60 + seconds)
    used, span = runtimes.reader_cpu_ns(agent.pid) - before[0], time.monotonic() - before[1]
    agent.wait_profiles(2, 60 + seconds)
    agent.end()
    _, samples, _ = read_col(agent.profiles()[1])
    rate = samples / (seconds + 2)
    _, bare_all, bare_ns = map(int, out.split())
    return used / 1e3 / (rate * span), bare_ns / 1e3 / bare_all


def delay(pid, seconds):
    """Share of time in which the process's threads waited for a CPU."""
    def waited():
        return sum(int((t / "schedstat").read_text().split()[1])
                   for t in pathlib.Path(f"/proc/{pid}/task").iterdir())
    before, begin = waited(), time.monotonic()
    time.sleep(seconds)
    return (waited() - before) / 1e9 / (time.monotonic() - begin)


def run_delay(bench, figures, pid, seconds, rounds):
    """Alternating, because the machine does other things."""
    alone, profiled = [], []
    for _ in range(rounds):
        alone.append(delay(pid, seconds))
        agent = bench.agent("-c", *runtimes.options(bench, 99, 2 * seconds + 5))
        time.sleep(2)
        profiled.append(delay(pid, seconds))
        agent.end()
    added = 100 * (median(profiled) - median(alone))
    figures.add("run delay of the target, alone", f"{100 * median(alone):.3f} %",
                f"{100 * min(alone):.3f} to {100 * max(alone):.3f} %")
    figures.add("  added at 99 Hz", f"{added:.3f} %", "under 0.5 %", added < 0.5)


def run(bench, figures):
    seconds, rounds = (5, 3) if bench.quick else (15, 5)
    program = runtimes.build(bench, "interp")
    target = bench.start(program, "levels=1", f"threads={os.cpu_count()}")
    figures.note(f"{os.cpu_count()} busy threads; {seconds} s each; both loops at the same time")
    for hz, priority in ((99, "realtime"), (499, "realtime"), (99, "batched"), (499, "batched")):
        ours, theirs = beside(bench, target.pid, hz, seconds, priority)
        figures.add(f"{hz} Hz, {priority}: bare loop", f"{theirs:.1f} us")
        if priority == "realtime":
            figures.add("  pull", f"{ours:.1f} us, {ours / theirs:.2f} x", "at most 1.5 x",
                        ours <= 1.5 * theirs)
        else:
            figures.add("  pull", f"{ours:.1f} us", "at most 15 us", ours <= 15)
    bench.stop(target)
    one = bench.start(program, "levels=1", "threads=1")
    time.sleep(0.5)
    run_delay(bench, figures, one.pid, seconds, rounds)

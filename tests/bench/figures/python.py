# SPDX-License-Identifier: Apache-2.0
"""What a Python process of 500 threads costs of which 3 work: CPU of the whole agent for each
sample, its windows' ends included, beside a bare loop that is woken and reads as much; the same
with the 3 threads alone; and how much longer the process waits for a CPU."""
import pathlib
import subprocess
import time

from figures.pull import delay
from figures.tool import ROOT, beside_hz, cpu_ns, median, read_col

PYTHON = "/usr/bin/python3"
SOURCE = ROOT / "tests/workloads/python/many_threads.py"
FOREVER = 3600  # seconds of CPU: it is ended before


def start(bench, threads):
    process = subprocess.Popen([PYTHON, str(SOURCE), str(threads), "3", str(FOREVER)],
                               stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    bench.running.append(process)
    process.stdin.write("\n")
    process.stdin.flush()
    tasks = pathlib.Path(f"/proc/{process.pid}/task")
    until = time.monotonic() + 30
    while len(list(tasks.iterdir())) < threads + 1:
        if time.monotonic() > until:
            raise RuntimeError("the threads do not begin")
        time.sleep(0.1)
    return process


def end(bench, process):
    bench.running.remove(process)
    process.kill()
    process.wait()


def heap(pid):
    """Something that can be read."""
    for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
        if line.endswith("[heap]"):
            return line.split("-")[0]
    raise RuntimeError(f"process {pid} has no heap")


def options(hz, seconds, *more):
    return ["-c", "-d", str(seconds), "-f", str(hz), "--plugins", "python", "--no-flamegraph",
            *more]


def by_thread(pid):
    """CPU of the agent's threads by name."""
    ret = {}
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        name = (task / "comm").read_text().strip()
        ret[name] = ret.get(name, 0) + int((task / "schedstat").read_text().split()[0])
    return ret


def costs(bench, pid, hz, seconds, *more):
    """Microseconds of the whole agent for each sample of the machine, over a whole window, end
    and file included; of a bare loop in the same time; how many samples, how many of them with
    the program's Python frames; and the agent's by thread."""
    if not (bench.folder / "barepull").exists():
        bench.compile("barepull", "-pthread")  # not in a window: the compiler is large
    agent = bench.agent(*options(hz, seconds, *more))
    agent.wait_profiles(1, 60 + seconds)
    batched = "batched" in more
    loop = subprocess.Popen([bench.folder / "barepull", str(pid), str(beside_hz(hz)),
                             str(seconds - 1), "512", str(int(batched)), "0x" + heap(pid)],
                            stdout=subprocess.PIPE, text=True)
    # From the end of a window's file to that of the next.
    before, threads = cpu_ns(agent.pid), by_thread(agent.pid)
    agent.wait_profiles(2, 60 + seconds)
    used, after = cpu_ns(agent.pid) - before, by_thread(agent.pid)
    out, _ = loop.communicate(timeout=60)
    agent.end()
    path = agent.profiles()[1]
    _, samples, _ = read_col(path)
    _, bare_all, bare_ns = map(int, out.split())
    lines = [line for line in path.read_text().splitlines() if ";works (" in line or
             ";Thread._bootstrap" in line]
    mine = sum(int(line.rsplit(" ", 1)[1]) for line in lines)
    split = ", ".join(f"{name} {(ns - threads.get(name, 0)) / 1e3 / samples:.1f}"
                      for name, ns in sorted(after.items())
                      if ns - threads.get(name, 0) > 100 * samples)
    return used / 1e3 / samples, bare_ns / 1e3 / bare_all, samples, mine, split


def show(figures, what, found, limit):
    ours, theirs, samples, mine, split = found
    figures.note(f"{what}: {samples} samples, {mine} of them with the program's Python frames")
    figures.note(f"  us for each sample by thread: {split}")
    figures.add(f"{what}: bare loop", f"{theirs:.1f} us")
    if limit:
        figures.add("  agent, all of it", f"{ours:.1f} us", f"at most {limit} us", ours <= limit)
    else:
        figures.add("  agent, all of it", f"{ours:.1f} us, {ours / theirs:.2f} x",
                    "at most 1.5 x", ours <= 1.5 * theirs)


def run_delay(bench, figures, pid, seconds, rounds, *more):
    """Alternating, because the machine does other things."""
    alone, profiled = [], []
    for _ in range(rounds):
        alone.append(delay(pid, seconds))
        agent = bench.agent(*options(99, 2 * seconds + 5, *more))
        time.sleep(3)
        profiled.append(delay(pid, seconds))
        agent.end()
    added = 100 * (median(profiled) - median(alone))
    what = " ".join(more) or "pull"
    figures.add(f"run delay, alone ({what})", f"{100 * median(alone):.3f} %",
                f"{100 * min(alone):.3f} to {100 * max(alone):.3f} %")
    figures.add("  added at 99 Hz", f"{added:.3f} %", "at most 0.5 %", added <= 0.5)


def run(bench, figures):
    seconds, rounds = (12, 3) if bench.quick else (60, 5)
    many = start(bench, 500)
    show(figures, "500 threads, 99 Hz", costs(bench, many.pid, 99, seconds), None)
    show(figures, "500 threads, 99 Hz, batched",
         costs(bench, many.pid, 99, seconds, "--reader-priority", "batched"), 15)
    run_delay(bench, figures, many.pid, 5 if bench.quick else 15, rounds)
    end(bench, many)
    few = start(bench, 3)
    show(figures, "3 threads, 99 Hz", costs(bench, few.pid, 99, seconds), None)
    run_delay(bench, figures, few.pid, 5 if bench.quick else 15, rounds, "--python-sampling",
              "push")
    end(bench, few)

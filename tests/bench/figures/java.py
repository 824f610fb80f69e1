# SPDX-License-Identifier: Apache-2.0
"""What JVMs cost: CPU for each sample with 100 Java frames beside a bare loop at the same
time, how much longer the JVM waits for a CPU, and memory with 50,000 methods."""
import os
import pathlib
import re
import subprocess
import time

from figures import pull, runtimes
from figures.tool import LOAD, beside_hz, cpu_ns, median, read_col, status_kb

STACK = 1024  # copied with each sample of a JVM, plugins/java/java.c
METHODS = 50000
HOME = "/usr/lib/jvm/java-17-openjdk-amd64"


def jvm(bench, name, *args, **more):
    folder = bench.folder / "classes"
    if not (folder / f"{name}.class").exists():
        subprocess.run([f"{HOME}/bin/javac", "-nowarn", "--release", "11", "-d", folder,
                        LOAD / f"{name}.java"], check=True)
    return bench.start(f"{HOME}/bin/java", "-Xmx512m", "-cp", folder, name, *args, **more)


def options(hz, seconds):
    return ["-c", "-d", str(seconds), "-f", str(hz), "--plugins", "java", "--no-flamegraph"]


def readable(pid):
    """Where the bare loop reads: some of the JVM's memory."""
    maps = pathlib.Path(f"/proc/{pid}/maps").read_text()
    return int(re.search(r"^(\w+)-\w+ rw-p.*\[heap\]$", maps, re.M)[1], 16)


def beside(bench, pid, hz, seconds):
    """Microseconds for each sample of the machine: of readers, of the whole agent, of the
    bare loop; and the frames of a stack."""
    program = bench.compile("barepull", "-pthread")  # not in a window
    agent = bench.agent(*options(hz, seconds + 2))
    agent.wait_profiles(1, 60 + seconds)
    loop = subprocess.Popen([program, str(pid), str(beside_hz(hz)), str(seconds),
                             str(STACK), "0", hex(readable(pid))], stdout=subprocess.PIPE, text=True)
    before = runtimes.reader_cpu_ns(agent.pid), cpu_ns(agent.pid), time.monotonic()
    out, _ = loop.communicate(timeout=60 + seconds)
    used = (runtimes.reader_cpu_ns(agent.pid) - before[0]) / 1e3
    whole = (cpu_ns(agent.pid) - before[1]) / 1e3
    span = time.monotonic() - before[2]
    agent.wait_profiles(2, 60 + seconds)
    agent.end()
    path = agent.profiles()[1]
    _, samples, _ = read_col(path)
    n = samples / (seconds + 2) * span
    _, bare_all, bare_ns = map(int, out.split())
    return used / n, whole / n, bare_ns / 1e3 / bare_all, frames(path)


def frames(path):
    """Java frames of the stacks that have the program's, on average."""
    total = n = 0
    for line in path.read_text(encoding="utf-8").splitlines()[1:]:
        if "Deep.run(" in line:
            count = int(line.rsplit(" ", 1)[1])
            total += count * len(re.findall(r"\)\S+_\[[ji01]\]", line.replace(";", " ")))
            n += count
    return total / max(1, n)


def delays(bench, figures, pid, seconds, rounds):
    alone, profiled = [], []
    for _ in range(rounds):
        alone.append(pull.delay(pid, seconds))
        agent = bench.agent(*options(99, 2 * seconds + 5))
        time.sleep(2)
        profiled.append(pull.delay(pid, seconds))
        agent.end()
    added = 100 * (median(profiled) - median(alone))
    figures.add("run delay of the JVM, alone", f"{100 * median(alone):.3f} %",
                f"{100 * min(alone):.3f} to {100 * max(alone):.3f} %")
    figures.add("  added at 99 Hz", f"{added:.3f} %", "at most 0.5 %", added <= 0.5)


def memory(bench, figures):
    """After windows in which all methods were called once and twice."""
    log = bench.folder / "rounds"
    with open(log, "w", encoding="utf-8") as out:
        load = jvm(bench, "Methods", METHODS // 2, out=out)

    def rounds():
        return log.read_text().count("round")

    while rounds() < 1:
        time.sleep(0.2)
    agent = bench.agent(*options(999, 3))
    kb, done = [], []
    for windows in range(1, 14 if bench.quick else 30):
        agent.wait_profiles(windows, 60)
        status = status_kb(agent.pid)
        kb.append(status["RssAnon"] + status["RssFile"])
        done.append(rounds())
    agent.end()
    bench.stop(load)
    figures.note(f"{METHODS} methods called {done[-1] - done[0]} times round; MB at the ends of windows: "
                 + " ".join(f"{k / 1024:.1f}" for k in kb[::3]))
    figures.add(f"{METHODS} methods, 999 Hz", f"{kb[-1] / 1024:.1f} MB", "below 60 MB",
                kb[-1] < 60 * 1024)
    grown = (kb[-1] - kb[len(kb) // 2]) / 1024
    figures.add("  grown in the second half", f"{grown:.2f} MB", "at most 1 MB", grown <= 1)


def run(bench, figures):
    seconds, rounds = (10, 3) if bench.quick else (20, 5)
    target = jvm(bench, "Deep", os.cpu_count())
    time.sleep(5)  # compiled
    readers, whole, bare, depth = beside(bench, target.pid, 99, seconds)
    figures.add("99 Hz: bare loop", f"{bare:.1f} us")
    figures.add("  readers", f"{readers:.1f} us, {readers / bare:.2f} x", "at most 2 x",
                readers <= 2 * bare)
    figures.add("  the agent as a whole", f"{whole:.1f} us, {whole / bare:.2f} x")
    figures.note(f"{os.cpu_count()} busy threads, {depth:.1f} Java frames a stack, {seconds} s")
    bench.stop(target)
    one = jvm(bench, "Deep", 1)
    time.sleep(5)
    delays(bench, figures, one.pid, seconds // 2, rounds)
    bench.stop(one)
    memory(bench, figures)

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The fleet of fleet.py under one session, by hand:

    tests/python_matrix/soak.py [MINUTES [OPTION...]]

Thirty minutes if nothing is said. Prints what was seen of each part, which warnings and errors
were logged, and the memory of the last minute against the fifth: at most 1 MB more is the target.
Options are the core's. The client of tests/e2e is used, so another profiler may run."""
import collections
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import fleet

TREE = pathlib.Path(os.environ.get("GPC_BUILD_RELEASE", fleet.ROOT / "build-release"))
WINDOW = 60
FUNCTIONS = ("handles_request", "pooled", "before_exec", "after_exec", "briefly")
WARN = 2


def memory_kb(pid):
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    size = {line.split(":")[0]: line.split() for line in text.splitlines()}
    return tuple(int(size[name][1]) for name in ("RssAnon", "RssFile"))


class Core:
    def __init__(self, folder, options):
        self.out, self.log = folder / "out", folder / "log"
        with open(self.out, "wb") as out, open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [TREE / "tests/e2e/windows", "1000000", "plugins=python",
                 f"profiling-duration={WINDOW}", "profiling-frequency=99", *options],
                stdin=subprocess.PIPE, stdout=out, stderr=log)

    def end(self):
        self.process.stdin.write(b"\n")  # the window that runs ends now
        self.process.stdin.flush()
        time.sleep(5)
        self.process.terminate()
        self.process.wait(60)

    def seen(self):
        """Samples by function, and of how many processes."""
        count, pids = collections.Counter(), collections.defaultdict(set)
        for line in self.out.read_text(errors="replace").splitlines():
            if not line.startswith("stack\t"):
                continue
            _, pid, value, _, _, _, frames = line.split("\t", 6)
            for name in FUNCTIONS:
                if f"{name} (" in frames or f"{name}_[p]" in frames:
                    count[name] += int(value)
                    pids[name].add(pid)
        return count, {name: len(p) for name, p in pids.items()}

    def troubles(self):
        lines = self.log.read_text(errors="replace").splitlines()
        return collections.Counter(line.split(" ", 3)[3] for line in lines
                                   if line[:1].isdigit() and int(line[0]) <= WARN)


def watch(core, minutes, parts):
    """Medians of memory by minute."""
    samples = collections.defaultdict(list)
    begin = time.monotonic()
    while time.monotonic() - begin < 60 * minutes:
        time.sleep(2)
        minute = int((time.monotonic() - begin) / 60) + 1
        samples[minute].append(memory_kb(core.process.pid))
        if len(samples[minute]) == 1:
            anon, file = samples[minute][0]
            print(f"minute {minute}: {anon / 1024:.2f} + {file / 1024:.2f} MB; runs "
                  f"{[p.runs for p in parts]}", flush=True)
    return {m: (statistics.median(a for a, _ in s), statistics.median(a + f for a, f in s))
            for m, s in samples.items()}


def main():
    minutes = float(sys.argv[1]) if len(sys.argv) > 1 else 30
    with tempfile.TemporaryDirectory(prefix="gpc-soak-") as name:
        folder = pathlib.Path(name)
        core = Core(folder, sys.argv[2:])
        time.sleep(3)
        shop = fleet.Shop(folder, 5, 10)
        pause = max(0.2, 60 * minutes / 100 - 0.5)
        parts = [fleet.Repeat(folder, "py_pools", [fleet.SOURCES / "pools.py", 4, 1, 0.1, 0], pause),
                 fleet.Repeat(folder, "py_execs", [fleet.SOURCES / "execs.py", 0.3], 20),
                 fleet.Repeat(folder, "py_brief", [fleet.SOURCES / "brief.py", 0.3], 10)]
        try:
            shop.wait()
            shop.thread.start()
            by_minute = watch(core, minutes, parts)
        finally:
            for part in parts:
                part.end()
            shop.end()
            core.end()
        count, pids = core.seen()
        print(f"requests {shop.served}, failed {shop.failed}; runs of pools, execs, brief: "
              f"{[(p.runs, p.failed) for p in parts]}")
        for function in FUNCTIONS:
            print(f"{function}: {count[function]} samples of {pids.get(function, 0)} processes")
        for text, n in core.troubles().most_common(20):
            print(f"log: {n} x {text}")
        first, last = min(5, max(by_minute)), max(m for m in by_minute if m <= max(1, minutes))
        for m in (first, last):
            print(f"memory, minute {m}: {by_minute[m][1] / 1024:.2f} MB, "
                  f"{by_minute[m][0] / 1024:.2f} anonymous")
        grown = by_minute[last][1] - by_minute[first][1]
        print(f"more: {grown / 1024:.2f} MB, at most 1: {'ok' if grown <= 1024 else 'MISSED'}")
        return grown > 1024


if __name__ == "__main__":
    sys.exit(main())

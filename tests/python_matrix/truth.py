#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every interpreter at once under one session of the profiler, by hand:

    tests/python_matrix/truth.py SECONDS OPTIONS NAME=COMMAND...

OPTIONS: of the core, with a blank between them ("python-sampling=push"); "" none. NAME=COMMAND
as for record.py. Prints a table: how much of each program's samples one of two functions has,
what it really used, how many stacks begin at <module>, and what else was seen in them. With
PYSPY=COMMAND in the environment py-spy looks at each program for a while beside it."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/e2e"))
from sessions import Session, Tools, total  # noqa: E402

SPLIT = ROOT / "tests/workloads/python/split.py"
FRAME = re.compile(r"(.*)_\[p\]")
NOT_JOINED = "[runtime stack, not joined]"


class Program:
    def __init__(self, name, command, seconds, folder):
        self.name = name
        self.source = SPLIT
        root = pathlib.Path(command[1]) if command[0] == "chroot" else pathlib.Path("/")
        path = SPLIT
        if root != pathlib.Path("/"):
            path = root / "tmp/split.py"
            shutil.copy(SPLIT, path)
            path = "/tmp/split.py"
        self.out = folder / f"{name}.json"
        with open(self.out, "w", encoding="utf-8") as out:
            self.process = subprocess.Popen([*command, str(path), str(seconds)], stdout=out,
                                            stdin=subprocess.PIPE, text=True)

    def go(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def truth(self):
        report = json.loads(self.out.read_text())
        return report["heavy_ns"] / (report["heavy_ns"] + report["light_ns"])


def functions(row):
    return [m[1].rsplit(".", 1)[-1] for m in map(FRAME.fullmatch, row.frames) if m]


def pyspy(command, program):
    """Its figure for the share, of 10 s."""
    path = program.out.with_suffix(".pyspy")
    done = subprocess.run([*command, "record", "-p", str(program.process.pid), "-d", "10", "-r", "50",
                           "--nonblocking", "-f", "raw", "-F", "--gil", "-o", path],
                          capture_output=True)
    if done.returncode or not path.exists():
        return "fails"
    n = {"heavy": 0, "light": 0}
    for line in path.read_text().splitlines():
        stack, _, count = line.rpartition(" ")
        for name in n:
            if f"{name} (" in stack:
                n[name] += int(count)
    return f"{n['heavy'] / max(1, sum(n.values())):.1%} ({sum(n.values())})"


def line_of(program, rows, beside):
    rows = [r for r in rows if r.pid == program.process.pid]
    python = [r for r in rows if functions(r)]
    heavy = total(r for r in python if "heavy" in functions(r))
    light = total(r for r in python if "light" in functions(r))
    rooted = total(r for r in python if functions(r)[0] == "<module>")
    alone = total(r for r in python if NOT_JOINED in r.frames)
    n, seen = total(rows), total(python)
    share = heavy / max(1, heavy + light)
    return (f"| {program.name} | {n} | {share:.1%} | {program.truth():.1%} | "
            f"{rooted / max(1, seen):.1%} | {seen / max(1, n):.1%} | "
            f"{1 - alone / max(1, seen):.1%} | {beside} |")


def main():
    seconds, options = float(sys.argv[1]), sys.argv[2].split()
    command = os.environ.get("PYSPY", "").split()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        programs = []
        for what in sys.argv[3:]:
            label, _, interpreter = what.partition("=")
            programs.append(Program(label, interpreter.split(), seconds, folder))
        time.sleep(2)
        session = Session(Tools(folder), "plugins=python", "profiling-duration=3600",
                          "profiling-frequency=99", *options)
        try:
            time.sleep(1)
            for p in programs:
                p.go()
            beside = {p: pyspy(command, p) for p in programs if command}
            for p in programs:
                p.process.wait()
            rows = session.end()[0]
        finally:
            session.kill()
            for p in programs:
                p.process.kill()
        print("| interpreter | samples | heavy found | heavy true | rooted | with Python | joined "
              "| py-spy |\n|---|---|---|---|---|---|---|---|")
        for p in programs:
            print(line_of(p, rows, beside.get(p, "")))


if __name__ == "__main__":
    main()

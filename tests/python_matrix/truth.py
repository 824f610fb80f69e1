#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every interpreter at once under one session of gprofiler-core, by hand:

    tests/python_matrix/truth.py SECONDS OPTIONS NAME=COMMAND...

OPTIONS: of the program, with a blank between them ("--python-sampling=push"); "" none.
NAME=COMMAND as for record.py. Runs `gprofiler-core --plugins=python -d SECONDS -f 99 OPTIONS`
over tests/workloads/python/split.py in each interpreter. Prints a table: how much of each
program's samples one of two functions has, what it really used, how many stacks begin at
<module>, and how many frames name the right file and line (of the function's beginning, or
of what runs with --python-line-numbers); how many have Python's frames in the native stack, and
native frames above them (the rest is cut). Exits with 1 where that is not as it should be. With
PYSPY=COMMAND in the environment py-spy looks at each program for a while beside it."""
import json
import math
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/e2e"))
from conftest import parse_col, wait_for_lock, wait_until  # noqa: E402
from sessions import RELEASE  # noqa: E402

SPLIT = ROOT / "tests/workloads/python/split.py"
FRAME = re.compile(r"(.+?) \((.+?)(?::(\d+))?(?: \[(.*)\])?\)_\[p\]")
NOT_JOINED = "[runtime stack, not joined]"
LINES = SPLIT.read_text(encoding="utf-8").split("\n")


def numbers(*texts):
    return {i for i, line in enumerate(LINES, 1) if line.strip() in texts}


# function: where it begins, and the lines that can run in it (calls, for all but the leaf)
# 1 from 3.10 on, before that of the first statement, before 3.8 of a text's last line
FIRST = {"<module>": {1, 2, LINES.index("import json")},
         "main": numbers("def main():"), "heavy": numbers("def heavy(n):"),
         "light": numbers("def light(n):"), "spin": numbers("def spin(n):"),
         "run": numbers("def run(self, seconds, longest):"),
         "turn": numbers("def turn(self, function, which, n):")}
RUNNING = {"<module>": numbers("main()"), "main": {i for i, line in enumerate(LINES, 1)
                                                   if "worker.run(" in line},
           "heavy": numbers("return spin(n)"), "light": numbers("return spin(n)"),
           "spin": numbers("def spin(n):", "x = 0", "for i in range(n):", "x += i * i % 7",
                           "return x"),
           "run": numbers("self.turn(heavy, 0, 7 * n)", "self.turn(light, 1, 3 * n)"),
           "turn": numbers("function(n)")}
CHAIN = ["<module>", "main", "run", "turn"]


class Program:
    def __init__(self, name, command, seconds, folder):
        self.name, self.comm = name, f"py_{name}"[:15]
        root = pathlib.Path(command[1]) if command[0] == "chroot" else pathlib.Path("/")
        # A name of its own: rows have no pids.
        self.place = tempfile.mkdtemp(dir=root / "tmp")
        link = pathlib.Path(self.place, self.comm)
        link.symlink_to(command[-1])
        shutil.copy(SPLIT, pathlib.Path(self.place, "split.py"))
        inside = "/" + str(pathlib.Path(self.place).relative_to(root))
        self.path = f"{inside}/split.py"
        self.out = folder / f"{name}.json"
        with open(self.out, "w", encoding="utf-8") as out:
            self.process = subprocess.Popen(
                [*command[:-1], f"{inside}/{self.comm}", self.path, "1e6", str(seconds)],
                stdout=out, stdin=subprocess.PIPE, text=True)

    def go(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def truth(self):
        report = json.loads(self.out.read_text())
        return report["heavy_ns"] / (report["heavy_ns"] + report["light_ns"])

    def remove(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        shutil.rmtree(self.place)


def pyspy(command, program):
    """Its figure for the share, of 10 s."""
    path = program.out.with_suffix(".pyspy")
    done = subprocess.run([*command, "record", "-p", str(program.process.pid), "-d", "10", "-r",
                           "50", "--nonblocking", "-f", "raw", "-F", "--gil", "-o", path],
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


class Rows:
    """What was seen of one program."""

    def __init__(self, program, lines, wanted):
        # INDEX;CONTAINER;COMM;[appid;]FRAMES
        self.rows = [([f for f in stack[3:] if not f.startswith("appid: ")], n)
                     for stack, n in lines if stack[2] == program.comm]
        self.program, self.wanted = program, wanted

    def total(self, condition=lambda frames: True):
        return sum(n for frames, n in self.rows if condition(frames))

    def functions(self, frames):
        return [m[1].rsplit(".", 1)[-1] for m in map(FRAME.fullmatch, frames) if m]

    def has(self, name):
        return self.total(lambda frames: name in self.functions(frames))

    def is_right(self, frames):
        """Of a stack of the two functions: each frame's file and line, and their order."""
        found = [m for m in map(FRAME.fullmatch, frames) if m]
        names = self.functions(frames)
        if names[:4] != CHAIN or names[4] not in ("heavy", "light") or names[5:] not in (
                [], ["spin"]):
            return False
        if self.wanted is RUNNING and len(names) == 5:
            return True  # about to call, or to return
        return all(m[2] == self.program.path and int(m[3] or 0) in self.wanted[name]
                   for m, name in zip(found, names))


def line_of(program, lines, wanted, beside):
    r = Rows(program, lines, wanted)
    seen = r.total(r.functions)
    heavy, light = r.has("heavy"), r.has("light")
    works = heavy + light
    rooted = r.total(lambda f: r.functions(f)[:1] == ["<module>"]) / max(1, seen)
    right = r.total(lambda f: {"heavy", "light"} & set(r.functions(f)) and r.is_right(f))
    alone = r.total(lambda f: NOT_JOINED in f and r.functions(f))
    whole = r.total(lambda f: NOT_JOINED not in f and r.functions(f) and not FRAME.fullmatch(f[0]))
    share, true = heavy / max(1, works), program.truth()
    bound = max(0.03, 3.3 * math.sqrt(true * (1 - true) / max(1, works)))
    is_good = abs(share - true) <= bound and rooted >= 0.99 and right >= 0.99 * works > 0
    print(f"| {program.name} | {r.total()} | {share:.1%} | {true:.1%} | {rooted:.1%} | "
          f"{right / max(1, works):.1%} | {seen / max(1, r.total()):.1%} | "
          f"{1 - alone / max(1, seen):.1%} | {whole / max(1, seen):.1%} | {beside} |" + ("" if is_good else " <--"))
    return is_good


def main():
    seconds, options = float(sys.argv[1]), sys.argv[2].split()
    command = os.environ.get("PYSPY", "").split()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        programs = []
        wait_for_lock()
        agent = None
        try:
            for what in sys.argv[3:]:
                label, _, interpreter = what.partition("=")
                programs.append(Program(label, interpreter.split(), seconds - 5, folder))
            time.sleep(2)
            log = folder / "log"
            agent = subprocess.Popen(
                [RELEASE / "core/program/gprofiler-core", "--plugins=python", "-d",
                 str(int(seconds)), "-f", "99", "-o", folder / "out", "--log-file", log,
                 "--pid-file", folder / "pid", "--no-flamegraph", *options],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            begun = "Running" if "--perf-mode=disabled" in options else "Starting perf"
            wait_until(lambda: log.exists() and begun in log.read_text(), 60)
            time.sleep(1)
            for p in programs:
                p.go()
            beside = {p: pyspy(command, p) for p in programs if command}
            for p in programs:
                p.process.wait()
            agent.communicate(timeout=seconds + 60)
        finally:
            if agent and agent.poll() is None:
                agent.send_signal(signal.SIGKILL)
                agent.communicate()
            for p in programs:
                p.remove()
        lines = parse_col(folder / "out/last_profile.col")[1]
        if "TRUTH_KEEP" in os.environ:
            shutil.copy(folder / "out/last_profile.col", os.environ["TRUTH_KEEP"])
        wanted = RUNNING if "--python-line-numbers" in options else FIRST
        print("| interpreter | samples | heavy found | heavy true | rooted | file and line "
              "| with Python | joined | whole | py-spy |\n|---|---|---|---|---|---|---|---|---|---|")
        good = [line_of(p, lines, wanted, beside.get(p, "")) for p in programs]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())

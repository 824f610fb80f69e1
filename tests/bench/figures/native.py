# SPDX-License-Identifier: Apache-2.0
"""Native stacks beside `perf record --call-graph dwarf` and `perf script`: the 70:30 of each
program, how many stacks are whole, and how many end at a root."""
import json
import math
import os
import re
import shutil
import subprocess
import time

from figures.tool import ROOT, rusage_s

WORK = ROOT / "tests/workloads"
FLAGS = ["-O2", "-fomit-frame-pointer", "-D_GNU_SOURCE"]
LIBRARIES = ["-ljansson", "-lxxhash", "-liberty", "-lz", "-lzstd", "-llzma", "-lunwind-x86_64",
             "-lunwind", "-ldl", "-lpthread", "-lm"]
HZ = 439  # not in step with a tick of 4 ms
BYTES = 8192

# name: source, compiler and flags, frames of a whole stack from root to leaf.
PROGRAMS = {
    "C, glibc": ("plain.c", ["gcc", *FLAGS], 6),
    "stripped, with debug file": ("plain.c", ["gcc", *FLAGS, "-g"], 6),
    "stripped, without": ("plain.c", ["gcc", *FLAGS, "-rdynamic", "-s"], 6),
    "static glibc": ("plain.c", ["gcc", *FLAGS, "-static"], 6),
    "static musl": ("plain.c", ["musl-gcc", *FLAGS, "-static"], 4),
    "Rust": ("generic.rs", ["/usr/bin/rustc", "-Copt-level=2", "-Cforce-frame-pointers=no",
                            "-Cstrip=debuginfo"], 7),
    "Go, -s -w": ("plain.go", ["/usr/bin/go", "build", "-ldflags=-s -w"], 4),
    "C++, 200 deep, exceptions": ("deep.cpp", ["g++", *FLAGS], 206),
    "in a signal handler": ("handler.c", ["gcc", *FLAGS], 10),
    "in a library, then closed": ("closer.c", ["gcc", *FLAGS], 6),
    "in a coroutine": ("coroutine.c", ["gcc", *FLAGS], 4),
}


def take_debug(out):
    """The debug file beside the program, which names it and is stripped."""
    for command in (["--only-keep-debug", out, f"{out}.debug"], ["--strip-all", out],
                    [f"--add-gnu-debuglink={out}.debug", out]):
        subprocess.run(["objcopy", *map(str, command)], check=True)


def build(folder, name):
    source, command, _ = PROGRAMS[name]
    if not shutil.which(command[0]):
        return None
    out = folder / re.sub(r"\W+", "-", name)
    if out.exists():
        return out
    env = {**os.environ, "HOME": str(folder), "GO111MODULE": "off", "GOFLAGS": ""}
    subprocess.run([*command, "-o", str(out), str(WORK / source)], check=True, env=env)
    if "debug file" in name:
        take_debug(out)
    if source == "closer.c":
        subprocess.run(["gcc", *FLAGS, "-shared", "-fPIC", "-o", f"{out}.so",
                        str(WORK / "library.c")], check=True)
    return out


def arguments(program):
    """What its main takes behind the seconds."""
    if "closed" in program.name:
        return ["wait", f"{program}.so"]
    return ["wait", str(program.parent)]


class Program:
    """Waits for its start, works for so many seconds, and says what it did."""

    def __init__(self, program, seconds):
        self.process = subprocess.Popen([program, str(seconds), *arguments(program)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pid = self.process.pid
        time.sleep(0.3)

    def go(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def share(self):
        """Of the heavy function, in all CPU time."""
        out, _ = self.process.communicate(timeout=300)
        report = json.loads(out.splitlines()[-1])
        return report["heavy_ns"] / report["cpu_ns"]


def start(program, seconds):
    ret = Program(program, seconds)
    ret.go()
    return ret.process


def run_timed(*command):
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                               stdin=subprocess.DEVNULL, text=True)
    out = process.stdout.read()
    _, _, usage = os.wait4(process.pid, 0)
    process.returncode = 0
    return out, rusage_s(usage)


class Found:
    """Stacks of one program, each as the names of its frames from the root."""

    def __init__(self, stacks, true, at_root=None):
        self.stacks, self.true, self.at_root = stacks, true, at_root
        self.n = len(stacks)
        heavy = sum(any("heavy" in f for f in stack) for stack in stacks)
        self.share = heavy / max(1, self.n)

    def whole(self, frames):
        return sum(len(stack) >= frames for stack in self.stacks) / max(1, self.n)

    def is_right(self):
        """Three points, or what chance may do with so many samples."""
        bound = max(0.03, 3.3 * math.sqrt(self.true * (1 - self.true) / max(1, self.n)))
        return self.n >= 1000 and abs(self.share - self.true) <= bound


def ours(tool, program, seconds):
    process = Program(program, seconds)
    recorder = subprocess.Popen([tool, str(seconds + 1), str(HZ), str(BYTES), "stacks",
                                 str(process.pid)], stdout=subprocess.PIPE, text=True)
    recorder.stdout.readline()  # "ready"
    process.go()
    true = process.share()
    out, _ = recorder.communicate(timeout=300)
    rows = [line.split(" ", 2) for line in out.splitlines()]
    rows = [(end, stack.split(";")) for mode, end, stack in rows if mode == "smart" and stack]
    at_root = sum(end == "root" for end, _ in rows) / max(1, len(rows))
    return Found([stack for _, stack in rows], true, at_root)


def is_kernel(frame):
    return frame.split()[0].startswith("ffffffff")


def perf(folder, program, seconds):
    """What perf found, and seconds of CPU for recording and for the script."""
    data = folder / "perf.data"
    process = Program(program, seconds)
    recorder = subprocess.Popen(["perf", "record", "-q", "-B", "-e", "cpu-clock", "-F", str(HZ),
                                 f"--call-graph=dwarf,{BYTES}", "-p", str(process.pid), "-o",
                                 str(data)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL)
    time.sleep(0.7)
    process.go()
    true = process.share()
    _, _, usage = os.wait4(recorder.pid, 0)
    recorder.returncode = 0
    out, script = run_timed("perf", "script", "--no-inline", "--max-stack", "512", "-i",
                            str(data), "-F", "ip,sym")
    data.unlink()
    stacks = [[f for f in block.splitlines() if f.split() and not is_kernel(f)]
              for block in out.split("\n\n")]
    return Found([stack[::-1] for stack in stacks if stack], true), rusage_s(usage), script


def table(bench, figures, tool, seconds):
    for name, (_, _, frames) in PROGRAMS.items():
        program = build(bench.folder, name)
        if not program:
            figures.note(f"{name}: its compiler is not here")
            continue
        mine = ours(tool, program, seconds)
        theirs, record, script = perf(bench.folder, program, seconds)
        figures.add(name, f"{mine.share:.1%} of {mine.true:.1%}, at a root {mine.at_root:.1%}, "
                    f"whole {mine.whole(frames):.1%} of {mine.n}",
                    "right, 99 % at a root", mine.at_root >= 0.99 and mine.is_right())
        figures.add("  perf", f"{theirs.share:.1%} of {theirs.true:.1%}, whole "
                    f"{theirs.whole(frames):.1%} of {theirs.n}; record "
                    f"{record * 1e6 / max(1, theirs.n):.0f} us, script "
                    f"{script * 1e6 / max(1, theirs.n):.0f} us a sample")


def compile_tool(bench):
    return bench.compile("unwound", str(ROOT / "tests/bench/load/oracle.c"), f"-I{ROOT}/core",
                         f"-I{ROOT}/sdk/include", str(bench.tree / "core/libgpc-core.a"),
                         *LIBRARIES)


def run(bench, figures):
    seconds = 3 if bench.quick else 6
    figures.note(f"samples at {HZ} Hz, {BYTES} bytes of stack, {seconds} s each; whole: as many "
                 "frames as the program's source has, to the leaf")
    table(bench, figures, compile_tool(bench), seconds)

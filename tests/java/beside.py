#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""By hand: the methods of a mixed program (tests/workloads/java/Mix.java) as we find them
from outside, beside async-profiler inside the same JVM, over the JVM's whole life.

beside.py LIBRARY [--root CHROOT] [--jdk HOME]... [OPTION...]

LIBRARY is libasyncProfiler.so, OPTION one of the JVM's. Prints for each JDK how far the
top methods are apart, by time in the method itself and with what it calls: shares of the
stacks with methods."""
import argparse
import collections
import pathlib
import re
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))

from java_play import FRAME, Program, java_home
from matrix import homes, version
from sessions import Session, Tools

TOP, APART = 20, 0.02
ROOT = "java/lang/Thread.run"
THEIRS = re.compile(r"(?P<cls>[\w/$.+]+)\.(?P<method>[\w$<>]+)_\[[ji01]\]")


def stable(text):
    """Without what differs from run to run: numbers of lambdas and hidden classes."""
    text = re.sub(r"(\$\$Lambda).*?(\.\w+)$", r"\1\2", text)
    return re.sub(r"[.+]0x[0-9a-f]+", "", text)


def method(frame, pattern):
    m = pattern.fullmatch(frame)
    return stable(f"{m['cls']}.{m['method']}") if m else None


class Shares:
    """Of the stacks with methods: samples with each, and with each innermost. One that ends
    before the thread's begin is completed as those that do not come to its outermost method:
    with each way's share of them."""

    def __init__(self, stacks, pattern):
        self.n, self.whole, self.completed, self.no_java = 0, 0, 0, collections.Counter()
        self.self_, self.total = collections.Counter(), collections.Counter()
        short, ways = [], collections.defaultdict(collections.Counter)
        for frames, count in stacks:
            names = tuple(n for n in (method(f, pattern) for f in frames) if n)
            if not names:
                self.no_java[frames[0]] += count
            elif ROOT in names:
                self.whole += count
                self.count(names, count)
                for name in set(names):
                    ways[name][names[:names.index(name)]] += count
            else:
                short.append((names, count))
        for names, count in short:
            begins = ways[names[0]] or {(): 1}
            self.completed += count if ways[names[0]] else 0
            for begin, n in begins.items():
                self.count(begin + names, count * n / sum(begins.values()))

    def count(self, names, count):
        self.n += count
        self.self_[names[-1]] += count
        for name in set(names):
            self.total[name] += count


def theirs(path):
    for line in path.read_text().splitlines():
        stack, count = line.rsplit(" ", 1)
        yield stack.split(";"), int(count)


def measure(args, program, home, root):
    """Ours, theirs."""
    out = (root or pathlib.Path("/")) / "tmp/split-beside.txt"
    library = "/tmp/split-async.so"
    shutil.copy(args.library, (root or pathlib.Path("/")) / "tmp/split-async.so")
    tools = Tools(args.folder)
    session = Session(tools, "plugins=java", f"profiling-frequency={args.hz}",
                      f"profiling-duration={args.seconds + 60}")
    agent = (f"-agentpath:{library}=start,event=cpu,interval={1000000 // args.hz}us,ann,"
             f"cstack={args.cstack},jstackdepth=2048,collapsed,file=/tmp/split-beside.txt")
    try:
        jvm = program.start_main(["Mix", str(args.seconds), "2"], agent, *args.options,
                                 java=home / "bin/java", root=root)
        assert jvm.wait(args.seconds + 60) == 0
        rows = [r for window in session.end() for r in window if r.pid == jvm.pid]
        return (Shares([(r.frames, r.count) for r in rows], FRAME),
                Shares(theirs(out), THEIRS))
    finally:
        session.kill()
        out.unlink(missing_ok=True)
        ((root or pathlib.Path("/")) / "tmp/split-async.so").unlink(missing_ok=True)


def apart(ours, their, kind):
    """(difference, name, our share, theirs) of the top methods of both."""
    a, b = getattr(ours, kind), getattr(their, kind)
    top = {n for c in (a, b) for n, _ in c.most_common(TOP)}
    rows = [(a[n] / ours.n, b[n] / their.n, n) for n in top]
    return sorted(((abs(x - y), n, x, y) for x, y, n in rows), reverse=True)


def show(args, jdk, ours, their):
    is_fine = True
    text = []
    for kind in ("self_", "total"):
        rows = apart(ours, their, kind)
        is_fine = is_fine and rows[0][0] <= APART
        text.append(f"{100 * rows[0][0]:.1f} | {sum(r[0] <= APART for r in rows)} of {len(rows)}")
        print(f"  {kind}", file=sys.stderr)
        for far, name, x, y in rows[:args.far]:
            print(f"    {far:7.2%} {x:7.2%} {y:7.2%} {name}", file=sys.stderr)
    print(f"| {jdk} | {' '.join(args.options)} | {ours.whole} of {ours.n:.0f} | "
          f"{their.whole} of {their.n:.0f}, {their.completed} completed | "
          f"{' | '.join(text)} | {'' if is_fine else 'MISSED'} |", flush=True)
    print("   no method:", ours.no_java.most_common(4), their.no_java.most_common(4), file=sys.stderr)
    return is_fine


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seconds", type=int, default=60)
    p.add_argument("--hz", type=int, default=99)
    p.add_argument("--cstack", default="vm", help="async-profiler's way: vm, vmx, dwarf ...")
    p.add_argument("--root")
    p.add_argument("--jdk", action="append", default=[], metavar="HOME")
    p.add_argument("--far", type=int, default=6, help="how many of the most different are told")
    p.add_argument("library")
    p.add_argument("options", nargs="*")
    args = p.parse_args()
    root = pathlib.Path(args.root) if args.root else None
    is_fine = True
    print("| JDK | options | stacks with methods that are whole | async-profiler's | farthest, self | within 2 | "
          "farthest, total | within 2 | |\n" + "|---" * 9 + "|")
    with tempfile.TemporaryDirectory() as folder:
        args.folder = pathlib.Path(folder)
        program = Program(args.folder, java_home())
        for home in map(pathlib.Path, args.jdk) if args.jdk else homes(root):
            try:
                jdk = version(program, home, root)[1]
                is_fine = show(args, jdk, *measure(args, program, home, root)) and is_fine
            finally:
                program.end()
    return 0 if is_fine else 1


if __name__ == "__main__":
    sys.exit(main())

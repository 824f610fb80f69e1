#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""By hand: the program of known shares in many JVMs, one after another.

matrix.py [--seconds N] [--hz N] [--root CHROOT] [--java PATH] [--modes a,b] NAME=OPTIONS...
prints a row of a table for each NAME."""
import argparse
import pathlib
import shutil
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))

from java_play import Program, Verdict, java_home
from sessions import Session, Tools


def measure(program, args, name, options):
    root = pathlib.Path(args.root) if args.root else None
    jvm = program.start(args.seconds + args.warm + 10, args.modes.split(","), *options.split(),
                        java=args.java, root=root)
    time.sleep(args.warm)
    folder = pathlib.Path(tempfile.mkdtemp())
    session = Session(Tools(folder), "plugins=java", f"profiling-frequency={args.hz}",
                      f"profiling-duration={args.seconds + 60}", *args.option)
    time.sleep(args.seconds)
    rows = [r for window in session.end() for r in window if r.pid == jvm.pid]
    if args.log:
        shutil.copy(session.log, args.log)
    if args.dump:
        with open(args.dump, "w", encoding="utf-8") as out:
            for r in sorted(rows, key=lambda r: -r.count):
                print(r.count, ";".join(r.frames), file=out)
    program.end()
    v = Verdict(rows)
    hot = v.share("Split$Hot.work", "Split$Cold.work")
    deep = sum(r.count for r in rows if sum("Split.recurse" in f for f in r.frames) == 301)
    of = sum(r.count for r in rows if any("Split.recurse" in f for f in r.frames))
    print(f"| {name} | {v.n} | {v.java / max(1, v.n):.2%} | {hot:.1%} | "
          f"{v.whole / max(1, v.java):.2%} | {v.wrong / max(1, v.java):.3%} | "
          f"{deep / max(1, of):.1%} | {''.join(sorted(v.tiers))} |", flush=True)
    print("   ", v.odd.most_common(6), dict(v.by.most_common(8)), file=sys.stderr, flush=True)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seconds", type=int, default=20)
    p.add_argument("--warm", type=float, default=3)
    p.add_argument("--hz", type=int, default=99)
    p.add_argument("--root")
    p.add_argument("--java")
    p.add_argument("--dump", metavar="FILE", help="the stacks of the last run")
    p.add_argument("--log", metavar="FILE", help="the profiler's log of the last run")
    p.add_argument("--option", action="append", default=[])
    p.add_argument("--modes", default="pair,recurse,lambda")
    p.add_argument("runs", nargs="+")
    args = p.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        program = Program(pathlib.Path(folder), java_home())
        try:
            for run in args.runs:
                name, _, options = run.partition("=")
                measure(program, args, name, options)
        finally:
            program.end()


if __name__ == "__main__":
    main()

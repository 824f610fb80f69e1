#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""By hand: the program of known shares in many JVMs at once, one session for each JDK.

matrix.py [--kind main|variants|storms] [--root CHROOT] [--only EXPRESSION] [--jdk HOME]...
          [NAME=OPTIONS...]

Without NAME: all of SETTINGS that the JDK knows. Without --jdk: all of /usr/lib/jvm, in
CHROOT when there is one. Prints a row of docs/accuracy.md for each; the status tells
whether all met what is asked of them."""
import argparse
import collections
import math
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))

from java_play import Program, Verdict, java_home, without_thread
from sessions import Session, Tools

# {name: options}. "TRAIN | RUN": a first run of some seconds makes what the second uses.
SETTINGS = {
    "main": {
        "default": "", "-Xint": "-Xint", "C1 only": "-XX:TieredStopAtLevel=1",
        "no frame pointers": "-XX:-PreserveFramePointer",
        "Serial": "-XX:+UseSerialGC", "Parallel": "-XX:+UseParallelGC", "G1": "-XX:+UseG1GC",
        "CMS": "-XX:+UseConcMarkSweepGC", "ZGC": "-XX:+UseZGC",
        "ZGC, generational": "-XX:+UseZGC -XX:+ZGenerational",
        "Shenandoah": "-XX:+UseShenandoahGC",
        "Shenandoah, generational": "-XX:+UseShenandoahGC -XX:ShenandoahGCMode=generational",
    },
    "variants": {
        "frame pointers": "-XX:+PreserveFramePointer",
        "transparent huge pages": "-XX:+UseTransparentHugePages",
        "one code heap": "-XX:-SegmentedCodeCache",
        "no compressed pointers": "-XX:-UseCompressedOops -XX:-UseCompressedClassPointers",
        "compact headers": "-XX:+UseCompactObjectHeaders",
        "no CDS": "-Xshare:off",
        "AppCDS": "-XX:ArchiveClassesAtExit={} | -XX:SharedArchiveFile={} -Xshare:on",
        "AOT cache": "-XX:AOTCacheOutput={} | -XX:AOTCache={} -XX:AOTMode=on",
        # Without it the cache is refused where the heap comes to lie elsewhere.
        "AOT cache, any heap": "-XX:+UnlockDiagnosticVMOptions -XX:+AOTCompatibleOopCompression "
                               "-XX:AOTCacheOutput={} | -XX:AOTCache={} -XX:AOTMode=on",
        "no tiers": "-XX:-TieredCompilation",
    },
    "storms": {f"4 MB of code, {gc}": f"-XX:ReservedCodeCacheSize=4m -XX:+Use{gc}GC"
               for gc in ("Serial", "Parallel", "G1", "Z", "Shenandoah")},
}
MODES = {"main": "pair,recurse,lambda,virtual,garbage", "storms": "churn,deopt,pair,garbage"}
BRIEF = 2  # seconds that a JVM of the storms lives, one after another
ALWAYS = ["-XX:+UnlockExperimentalVMOptions"]
ROLES = {"[GC thread]", "[compiler thread]", "[VM thread]"}
ENOUGH = 1000  # samples of the split
LONGEST = 600
WARM = 5


def homes(root):
    """The JDKs of a folder, in the root: not their other names."""
    place = (root or pathlib.Path("/")) / "usr/lib/jvm"
    found = [h for h in sorted(place.iterdir()) if not h.is_symlink() and (h / "release").exists()
             or (h / "bin/java").exists() and not h.is_symlink()]
    return [pathlib.Path("/") / h.relative_to(root or "/") for h in found]


def version(program, home, root):
    done = program.run(["-version"], home / "bin/java", root)
    text = re.search(r'version "(?:1\.)?(\d+)[^"]*"', done.stderr)
    assert text, done.stderr
    return int(text[1]), text[0].split('"')[1]


def modes_of(args, major):
    modes = args.modes or MODES.get(args.kind, MODES["main"])
    return [m for m in modes.split(",") if m not in ("virtual", "yield") or major >= 21]


def is_known(program, home, root, options):
    """Does the JDK take these options, without a word about them?"""
    done = program.run([*ALWAYS, *options, "-version"], home / "bin/java", root)
    return done.returncode == 0 and "Ignoring option" not in done.stderr


def split_of(rows):
    """Without the JVM's own threads."""
    named = [without_thread(r) for r in rows]
    return Verdict([r for r in named if not r.frames or r.frames[0] not in ROLES])


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / 100


def train(program, home, root, name, options):
    """The options of the run proper; None: the JDK has no such thing."""
    first, _, second = options.replace(
        "{}", f"/tmp/split-{home.name}-{name.replace(' ', '_')}").rpartition(" | ")
    java = {"java": home / "bin/java", "root": root}
    if not first:
        return second.split() if is_known(program, home, root, second.split()) else None
    if not is_known(program, home, root, first.split()):
        return None
    program.start(3, ["pair", "lambda"], *ALWAYS, *first.split(), **java).wait(120)
    if program.start(0, ["pair"], *ALWAYS, *second.split(), **java).wait(120) != 0:
        print(f"{home.name}, {name}: cannot be used", file=sys.stderr, flush=True)
        return None
    return second.split()


def begin(program, args, home, root, settings):
    """{name: JVM}"""
    major, _ = version(program, home, root)
    jvms = {}
    for name, options in settings.items():
        # The default since 9
        options = None if (name, major > 8) == ("G1", True) else \
            train(program, home, root, name, options)
        if options is not None:
            jvms[name] = program.start(2 * LONGEST, modes_of(args, major), *ALWAYS, *options,
                                       java=home / "bin/java", root=root)
    return jvms


def wait(program, args, home, root, jvms):
    """Until each has used enough CPU; the pids of the brief ones meanwhile."""
    first = {n: cpu_seconds(j.pid) for n, j in jvms.items()}
    until = time.monotonic() + args.longest
    major = version(program, home, root)[0]
    brief = []
    while time.monotonic() < until and any(
            j.poll() is None and cpu_seconds(j.pid) - first[n] < args.cpu for n, j in jvms.items()):
        if args.kind == "storms" and (not brief or brief[-1].poll() is not None):
            brief.append(program.start(BRIEF, modes_of(args, major), java=home / "bin/java",
                                       root=root))
        time.sleep(0.2)
    if brief:
        brief[-1].wait(60)
    for name in [n for n, j in jvms.items() if j.poll() is not None]:
        print(f"{home.name}, {name}: it ENDED", file=sys.stderr, flush=True)
        args.is_fine = False
    return [j.pid for j in brief]


def look(program, args, home, settings):
    """{name: rows} of all settings, in one session."""
    root = pathlib.Path(args.root) if args.root else None
    jvms = begin(program, args, home, root, settings)
    time.sleep(args.warm)
    session = Session(Tools(args.folder), "plugins=java", f"profiling-frequency={args.hz}",
                      f"profiling-duration={LONGEST + 60}", "java-collect-thread-names",
                      *args.option)
    brief = wait(program, args, home, root, jvms)
    rows = [r for window in session.end() for r in window]
    if args.log:
        shutil.copy(session.log, args.log)
    program.end()
    found = {n: [r for r in rows if r.pid == j.pid] for n, j in jvms.items()}
    if brief:
        found[f"{len(brief)} JVMs of {BRIEF} s"] = [r for r in rows if r.pid in brief]
    return found


def dump(path, rows):
    with open(path, "w", encoding="utf-8") as out:
        for r in sorted(rows, key=lambda r: -r.count):
            print(r.count, ";".join(r.frames), file=out)


def deep_share(rows):
    """Of the samples in the recursion's end those with all its calls."""
    found = collections.Counter()
    for r in rows:
        n = sum("Split.recurse" in f for f in r.frames)
        if n and any("Split.pair" in f for f in r.frames):
            found[n == 301] += r.count
    return found[True] / max(1, found.total())


def judge(v, hot, n, is_interpreted):
    bound = max(0.03, 3.3 * math.sqrt(0.21 / max(1, n)))
    return (abs(hot - 0.7) <= bound and v.whole >= 0.99 * v.java > 0 and
            v.wrong < 0.001 * v.java + 1 and v.lost <= 0.01 * v.java and
            (is_interpreted or v.tiers["i"] > 0))


def show(args, jdk, name, rows, modes):
    v = split_of(rows)
    hot, n = v.share()
    is_fine = judge(v, hot, n, name == "-Xint")
    modes.update({(m, True): c for m, c in v.hot.items()})
    modes.update({(m, False): c for m, c in v.split.items()})
    print(f"| {jdk} | {name} | {n} | {hot:.1%} | {v.whole / max(1, v.java):.2%} | "
          f"{deep_share(rows):.1%} | {v.lost} | {v.wrong} of {v.java} | "
          f"{'' if is_fine else 'MISSED'}{'' if n >= ENOUGH else ' few'} |", flush=True)
    print("   ", dict(v.tiers), v.odd.most_common(args.odd), file=sys.stderr, flush=True)
    if args.dump:
        dump(f"{args.dump}-{jdk}-{name.replace(' ', '_')}", rows)
    return is_fine


def everything(args, program):
    root = pathlib.Path(args.root) if args.root else None
    settings = dict(r.partition("=")[::2] for r in args.runs) or SETTINGS[args.kind]
    settings = {n: o for n, o in settings.items() if re.search(args.only, n)}
    modes = collections.Counter()
    print("| JDK | options | samples | hot | whole | 300 deep | lost | wrong | |\n" + "|---" * 9 + "|")
    for home in map(pathlib.Path, args.jdk) if args.jdk else homes(root):
        jdk = version(program, home, root)[1]
        for name, rows in look(program, args, home, settings).items():
            args.is_fine = show(args, jdk, name, rows, modes) and args.is_fine
    for mode in sorted({m for m, _ in modes}):
        n, hot = modes[mode, False], modes[mode, True]
        print(f"{mode}: {hot / n:.2%} of {n}")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--cpu", type=float, default=18,
                   help="seconds of CPU that each JVM is to use before the session ends")
    p.add_argument("--longest", type=float, default=LONGEST)
    p.add_argument("--warm", type=float, default=WARM)
    p.add_argument("--hz", type=int, default=99)
    p.add_argument("--root")
    p.add_argument("--jdk", action="append", default=[], metavar="HOME")
    p.add_argument("--only", default="", metavar="EXPRESSION", help="of names of settings")
    p.add_argument("--dump", metavar="FILE", help="the stacks, into FILE-JDK-NAME")
    p.add_argument("--log", metavar="FILE", help="the profiler's log of the last session")
    p.add_argument("--odd", type=int, default=4, help="how many odd stacks are told of each")
    p.add_argument("--option", action="append", default=[])
    p.add_argument("--kind", choices=SETTINGS, default="main")
    p.add_argument("--modes", help="of Split.java")
    p.add_argument("runs", nargs="*", metavar="NAME=OPTIONS")
    args = p.parse_args()
    args.is_fine = True
    with tempfile.TemporaryDirectory() as folder:
        args.folder = pathlib.Path(folder)
        program = Program(args.folder, java_home())
        try:
            everything(args, program)
            return 0 if args.is_fine else 1
        finally:
            program.end()


if __name__ == "__main__":
    sys.exit(main())

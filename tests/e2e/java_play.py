# SPDX-License-Identifier: Apache-2.0
"""JVMs that run tests/workloads/java, and what their stacks must be."""
import collections
import os
import pathlib
import re
import shutil
import subprocess

from conftest import ROOT

SOURCES = ROOT / "tests/workloads/java"
FRAME = re.compile(r"(?P<cls>[\w/$]+)\.(?P<method>[\w$<>]+)\((?P<sig>.*)\)(?P<ret>\S+)_\[(?P<tier>[ji01])\]")
CUT = "[stack cut]"

# Who calls whom in the program; "*" is anything outside of it.
CALLEES = {
    "Split.run": {"Split.pair", "Split.recurse", "Split.lambda", "Split.aside", "Split.files", "Split.up",
                  "Split.garbage", "Churn.round", "Deopt.round", "*"},
    "Split.pair": {"Split$Hot.work", "Split$Cold.work"},
    "Split$Hot.work": {"Split.spin"},
    "Split$Cold.work": {"Split.spin"},
    "Split.recurse": {"Split.recurse", "Split.spin"},
    "Split.aside": {"Split.aside", "Split.spin", "*"},
    "Split.lambda": {"Split$$Lambda.applyAsLong", "*"},
    "Split$$Lambda.applyAsLong": {"Split.lambda$lambda$0", "Split.lambda$lambda$1"},
    "Split.lambda$lambda$0": {"Split.spin"},
    "Split.lambda$lambda$1": {"Split.spin"},
    "Split.files": {"*"},
    "Split.up": {"Split.spin", "Split.down"},
    "Split.down": {"Split.up"},
    "Split.garbage": set(),
    "Split.spin": set(),
    "Churn.round": {"Churn$Body.work", "Churn.load", "*"},
    "Churn$Body.work": {"Churn$Body.step"},
    "Churn$Body.step": {"Split.spin"},
    "Deopt.round": {"Deopt.use", "Deopt.fresh"},
    "Deopt.use": {"Split$Hot.work", "Split$Cold.work", "Churn$Body.work"},
}
CALLED_BY = collections.defaultdict(set)
for _caller, _callees in CALLEES.items():
    for _callee in _callees:
        CALLED_BY[_callee].add(_caller)
# JavaThread's start in C++ (FP only: libc's frames may have no name), and C's.
ENTRY = re.compile(r"(__)?clone3?|start_thread|_start|thread_native_entry\(Thread\*\)|"
                   r"\(\S*(libc|libpthread)[-.\d]*\.so[.\d]*\)|"
                   r"\(\S*libjvm\.so\)|java_start\(Thread\*\)")


def java_home(name="java-17-openjdk-amd64"):
    """A JDK with a compiler, or None."""
    home = pathlib.Path("/usr/lib/jvm") / name
    return home if (home / "bin/javac").exists() else None


class Program:
    """The compiled program, and JVMs that run it."""

    def __init__(self, folder, home):
        self.folder, self.home, self.jvms = folder, home, []
        subprocess.run([home / "bin/javac", "-nowarn", "-Xlint:-options", "--release", "8", "-d",
                        folder, *SOURCES.glob("*.java")], check=True, capture_output=True)
        include = home / "include"
        subprocess.run(["gcc", "-O2", "-shared", "-fPIC", f"-I{include}", f"-I{include}/linux",
                        "-o", folder / "libsplit.so", SOURCES / "split.c"], check=True)

    def start(self, seconds, modes, *options, java=None, root=None, cwd=None):
        """root: of a chroot in which folder is /tmp/split."""
        at = self.folder
        before = []
        if root:
            shutil.copytree(self.folder, root / "tmp/split", dirs_exist_ok=True)
            at, before = "/tmp/split", ["chroot", root]
        jvm = subprocess.Popen(
            [*before, java or self.home / "bin/java", "-Xmx128m", *options,
             f"-Djava.library.path={at}", "-cp", at, "Split", str(seconds), *modes],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, cwd=cwd)
        self.jvms.append(jvm)
        return jvm

    def end(self):
        for jvm in self.jvms:
            jvm.kill()
            jvm.wait()
        self.jvms.clear()


def java_name(frame):
    """Class.method of a Java frame; None for others."""
    m = FRAME.fullmatch(frame)
    return f"{m['cls']}.{m['method']}" if m else None


def tier_of(frame):
    return frame[-2]


class Verdict:
    """How the stacks of one JVM compare with the program."""

    def __init__(self, rows):
        self.n = self.java = self.whole = self.wrong = self.edges = self.cut = 0
        self.odd = collections.Counter()
        self.by = collections.Counter()  # samples with a method
        self.tiers = collections.Counter()
        for row in rows:
            self.take(row)

    def take(self, row):
        names = [java_name(f) for f in row.frames]
        self.n += row.count
        if not any(names):
            self.odd["native: " + ";".join(row.frames[-3:])] += row.count
            return
        self.java += row.count
        self.cut += row.count * (CUT in row.frames)
        if ENTRY.fullmatch(row.frames[0]) and CUT not in row.frames:
            self.whole += row.count
        else:
            self.odd["root: " + ";".join(row.frames[:4])] += row.count
        for name in set(filter(None, names)):
            self.by[name] += row.count
        for frame in {f for f in row.frames if java_name(f)}:
            self.tiers[tier_of(frame)] += row.count
        bad = [e for e in zip(names, names[1:]) if not is_edge(*e)]
        self.edges += row.count
        if bad:
            self.wrong += row.count
            self.odd[f"edge: {bad[0]}"] += row.count

    def share(self, one, other):
        return self.by[one] / max(1, self.by[one] + self.by[other])

    def __str__(self):
        return (f"{self.n} samples, {self.java} Java, {self.whole} whole, {self.cut} cut, "
                f"{self.wrong} with edges that do not exist; tiers {dict(self.tiers)}; "
                f"odd {self.odd.most_common(5)}")


def is_edge(caller, callee):
    """Both are names of Java methods, or None for what is not Java: between those
    and Java anything may be."""
    if callee is None or caller is None:
        return True
    if caller in CALLEES:
        allowed = CALLEES[caller]
        return callee in allowed or ("*" in allowed and callee not in CALLEES)
    return callee not in CALLEES or callee in ("Split.run",)


def is_root():
    return os.geteuid() == 0

# SPDX-License-Identifier: Apache-2.0
"""JVMs that run tests/workloads/java, and what their stacks must be."""
import collections
import pathlib
import re
import shutil
import subprocess

from conftest import ROOT

SOURCES = ROOT / "tests/workloads/java"
FRAME = re.compile(r"(?P<cls>[\w/$]+)\.(?P<method>[\w$<>]+)\((?P<sig>.*)\)(?P<ret>\S+)_\[(?P<tier>[ji01])\]")
CUT = "[stack cut]"
THREAD = re.compile(r"\[(.*) tid=\d+\]")
JAVA_THREADS = ("pair", "recurse", "lambda", "virtual", "yield", "garbage")

# Who calls whom in the program; "*" is anything outside of it.
CALLEES = {
    "Split.run": {"Split.pair", "Split.recurse", "Split.lambda", "Split.aside", "Split.files", "Split.up",
                  "Split.garbage", "Churn.round", "Deopt.round", "*"},
    "Split.pair": {"Split$Hot.work", "Split$Cold.work"},
    "Split$Hot.work": {"Split.spin"},
    "Split$Cold.work": {"Split.spin"},
    "Split.recurse": {"Split.recurse", "Split.pair"},
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
    "Churn$Body.step": {"Split.spin", "Churn$Body.mix"},
    "Churn$Body.mix": set(),
    "Deopt.round": {"Deopt.use", "Deopt.fresh"},
    "Deopt.use": {"Split$Hot.work", "Split$Cold.work", "Churn$Body.work"},
}
# Which method is the hot and which the cold one, and the mode whose stacks have this
# frame; others are of the plain pair.
HOT = {"Split$Hot.work", "Split.lambda$lambda$0"}
COLD = {"Split$Cold.work", "Split.lambda$lambda$1"}
MODES = {"Split.recurse": "recurse", "Split.lambda": "lambda", "java/lang/VirtualThread.run": "virtual"}
# JavaThread's start in C++ (FP only: libc's frames may have no name), and C's.
ENTRY = re.compile(r"(__)?clone3?|start_thread|_start|thread_native_entry\(Thread\*\)|"
                   r"\(\S*(libc|libpthread)[-.\d]*\.so[.\d]*\)|"
                   r"\(\S*libjvm\.so\)|java_start\(Thread\*\)")


def java_home(name="java-17-openjdk-amd64"):
    """A JDK with a compiler, or None."""
    home = pathlib.Path("/usr/lib/jvm") / name
    return home if (home / "bin/javac").exists() else None


def inside(root):
    """What goes before a command for it to run in a chroot, as the same process; java
    finds itself by /proc."""
    if not root:
        return []
    return ["unshare", "--mount", "sh", "-c",
            'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"', root]


class Program:
    """The compiled program, and JVMs that run it."""

    def __init__(self, folder, home):
        self.folder, self.home, self.jvms, self.roots = folder, home, [], set()
        subprocess.run([home / "bin/javac", "-nowarn", "-Xlint:-options", "--release", "8", "-d",
                        folder, *SOURCES.glob("*.java")], check=True, capture_output=True)
        include = home / "include"
        subprocess.run(["gcc", "-O2", "-shared", "-fPIC", f"-I{include}", f"-I{include}/linux",
                        "-o", folder / "libsplit.so", SOURCES / "split.c"], check=True)

    def copy_to(self, root):
        """Once: JVMs read it while they run."""
        if root not in self.roots:
            shutil.copytree(self.folder, root / "tmp/split", dirs_exist_ok=True)
        self.roots.add(root)
        return "/tmp/split"

    def run(self, options, java, root=None):
        """To its end."""
        return subprocess.run([*inside(root), java, *options], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=60)

    def start(self, seconds, modes, *options, **more):
        return self.start_main(["Split", str(seconds), *modes], *options, **more)

    def start_main(self, main, *options, java=None, root=None, cwd=None):
        """root: of a chroot in which folder is /tmp/split."""
        at = self.copy_to(root) if root else self.folder
        jvm = subprocess.Popen(
            [*inside(root), java or self.home / "bin/java", "-Xmx128m", *options,
             f"-Djava.library.path={at}", "-cp", at, *main],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, cwd=cwd)
        self.jvms.append(jvm)
        return jvm

    def end(self):
        for jvm in self.jvms:
            jvm.kill()
            jvm.wait()
        self.jvms.clear()


def without_thread(row):
    """Without the first frame of --java-collect-thread-names, but with the thread's name
    in place of the process's."""
    m = THREAD.fullmatch(row.frames[0]) if row.frames else None
    return row._replace(comm=m[1], frames=row.frames[1:]) if m else row


def java_name(frame):
    """Class.method of a Java frame; None for others."""
    m = FRAME.fullmatch(frame)
    return f"{m['cls']}.{m['method']}" if m else None


def tier_of(frame):
    return frame[-2]


class Verdict:
    """How the stacks of one JVM compare with the program."""

    def __init__(self, rows):
        self.n = self.java = self.whole = self.wrong = self.edges = self.cut = self.lost = 0
        self.odd = collections.Counter()
        self.by = collections.Counter()  # samples with a method
        self.tiers = collections.Counter()
        self.hot, self.split = collections.Counter(), collections.Counter()  # by mode
        for row in rows:
            self.take(row)

    def take(self, row):
        names = [java_name(f) for f in row.frames]
        self.n += row.count
        if not any(names):
            self.lost += row.count * (row.comm in JAVA_THREADS)
            self.odd[f"native {row.comm}: " + ";".join(row.frames[-3:])] += row.count
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
        self.take_split(set(names), row.count)
        bad = [e for e in zip(names, names[1:]) if not is_edge(*e)]
        self.edges += row.count
        if bad:
            self.wrong += row.count
            self.odd[f"edge: {bad[0]}"] += row.count

    def take_split(self, names, count):
        mode = next((m for frame, m in MODES.items() if frame in names), "pair")
        if names & HOT or names & COLD:
            self.hot[mode] += count * bool(names & HOT)
            self.split[mode] += count

    def share(self):
        """What was found of the 70 %, and of how many samples."""
        return self.hot.total() / max(1, self.split.total()), self.split.total()

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



# SPDX-License-Identifier: Apache-2.0
"""The test runtimes that are read at samples (tests/workloads/interp.c, anon.c), cores
that read them with tests/plugins/testpull, and what their stacks must be."""
import collections
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time

from conftest import BUILD, ROOT, wait_until
from runtime_play import WINDOWS, Run, children

PLUGINS = BUILD / "tests/plugins/testpull"
SOURCES = ROOT / "tests/workloads"
CFLAGS = ["-O2", "-std=gnu11", "-D_GNU_SOURCE", "-fno-omit-frame-pointer",
          "-fno-optimize-sibling-calls", "-Wall", "-Wextra", "-Werror", "-rdynamic"]
if os.uname().machine == "x86_64":
    CFLAGS.append("-mno-omit-leaf-frame-pointer")
ALONE = "[runtime stack, not joined]"
FUNCTION = re.compile(r"f(\d+)_\[t\]")
SPIN = re.compile(r"spin_(\d+)")
LEVEL = re.compile(r"(leaf|at)_(\d+)")


class PullRun(Run):
    """A core with the pull collectors."""

    def __init__(self, windows, options, before=()):  # pylint: disable=super-init-not-called
        self.trace_path = pathlib.Path("/nonexistent")
        # Files, not pipes: a stuck reader would keep those open.
        self.files = tempfile.TemporaryFile("w+"), tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            [*before, "setarch", "-R", str(WINDOWS), str(windows), f"plugin-dir={PLUGINS}",
             "plugins=testpull", *options],
            stdin=subprocess.DEVNULL, stdout=self.files[0], stderr=self.files[1], text=True)
        self.profiles, self.log, self.left = [], "", None

    def texts(self):
        for file in self.files:
            file.seek(0)
            yield file.read()

    def finish(self, timeout=60):
        self.process.wait(timeout)
        out, self.log = self.texts()
        return self.read(out)

    def finish_hung(self, timeout=60):
        """As finish(), for a run in which a reader was stuck: it leaves that."""
        try:
            self.finish(timeout)
        except AssertionError as error:
            if "left: " not in str(error):
                raise
        return self.profiles

    def kill(self):
        super().kill()
        for file in self.files:
            file.close()

    def is_reading(self):
        """Have its reader threads begun?"""
        names = pathlib.Path(f"/proc/{self.process.pid}/task").glob("*/comm")
        return any(n.read_text() == "gpc-reader\n" for n in names)

    def readers(self):
        """What the last whole profile says of the readers."""
        return self.profiles[-1].header["gprofiler_core"]["readers"]


class Program:
    """A process of a test runtime."""

    def __init__(self, command, pid_namespace=False):
        self.outer = subprocess.Popen([str(c) for c in command], stdin=subprocess.PIPE,
                                      stdout=subprocess.DEVNULL)
        self.pid = self.outer.pid
        if pid_namespace:
            wait_until(lambda: children(self.outer.pid))
            self.pid = children(self.outer.pid)[0]

    def lives(self):
        return self.outer.poll() is None

    def end(self):
        if self.lives():
            try:
                os.kill(self.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.outer.wait(10)
        self.outer.stdin.close()


class PullStage:
    """Builds the programs once for the session of tests; ends what is left."""

    def __init__(self, built, folder):
        self.built, self.folder, self.programs, self.runs = built, folder, [], []

    def build(self, name, *flags):
        path = self.built / name
        if not path.exists():
            subprocess.run(["gcc", *CFLAGS, "-o", str(path), str(SOURCES / f"{name}.c"),
                            "-pthread", *flags], check=True)
        return path

    def interp(self, before=(), path=None, pid_namespace=False, **options):
        words = [f"{k}={v}" for k, v in options.items()]
        return self.program([*before, path or self.build("interp"), *words], pid_namespace)

    def anon(self, levels, ms=1, seconds=0, threads=1):
        return self.program([self.build("anon"), levels, ms, seconds, threads])

    def program(self, command, pid_namespace=False):
        program = Program(command, pid_namespace)
        self.programs.append(program)
        return program

    def run(self, *options, windows=1, seconds=4, frequency=199, before=()):
        run = PullRun(windows, [f"profiling-duration={seconds}",
                                f"profiling-frequency={frequency}", *options], before)
        self.runs.append(run)
        return run

    def end(self):
        for run in self.runs:
            run.kill()
        for program in self.programs:
            program.end()


# ---- the interpreter's stacks ----------------------------------------------------------

def interp_stack(function, root="interp_main"):
    """From root on, when function spins: the runtime's frames in the places of
    interp_eval."""
    frames = [root]
    for k in range(function + 1):
        if k and k % 2 == 0:
            frames.append("native_fn")
        frames.append(f"f{k}_[t]")
    return frames


def stacks_of(profile, pid):
    """{frames: value}; after an exec each image has its own."""
    found = collections.Counter()
    for s in profile.stacks:
        if s.pid == pid and s.event == "cpu-time":
            found[s.frames] += s.value
    return found


def count_of(profiles, **what):
    """Samples of one pid=, or of one comm=."""
    (name, value), = what.items()
    return sum(s.value for p in profiles for s in p.stacks if getattr(s, name) == value)


def from_frame(frames, name):
    return frames[frames.index(name):] if name in frames else None


class Verdict:
    """How the stacks of a process compare with the program."""

    def __init__(self):
        self.n = self.exact = self.joined = self.alone = self.native = self.wrong = 0
        self.odd = collections.Counter()
        self.by_function = collections.Counter()

    def __str__(self):
        return (f"{self.n} samples: {self.joined} joined, {self.alone} alone, {self.native} native "
                f"only, {self.exact} exact to the leaf, {self.wrong} with edges that do not exist "
                f"{self.odd.most_common(4)}")

    def spoil(self, value, what):
        self.wrong += value
        self.odd[what] += value


def is_edge(caller, callee):
    """Does the program have it? Runtime frames stand for interp_eval."""
    up, down = FUNCTION.fullmatch(caller), FUNCTION.fullmatch(callee)
    leaf = SPIN.fullmatch(callee)
    if up and down:
        return int(up[1]) % 2 == 0 and int(down[1]) == int(up[1]) + 1
    if up and leaf:
        return up[1] == leaf[1]
    if up:
        return callee == "native_fn" and int(up[1]) % 2 == 1
    if down:
        return (caller == "interp_main" and down[1] == "0") or \
            (caller == "native_fn" and int(down[1]) % 2 == 0)
    return not leaf and callee not in ("native_fn", "interp_eval")


def judge_interp(stacks, verdict=None):
    """stacks: {frames from the root: value} of one process."""
    v = verdict or Verdict()
    for text, value in stacks.items():
        frames = [f for f in text.split(";") if f]
        user = from_frame(frames, "interp_main")
        v.n += value
        if ALONE in frames:
            v.alone += value
            names = frames[frames.index(ALONE) + 1:]
            numbers = [int(m[1]) for m in map(FUNCTION.fullmatch, names) if m]
            if numbers != list(range(len(numbers))):
                v.spoil(value, text)
            continue
        if not any(FUNCTION.fullmatch(f) for f in frames):
            v.native += value
            continue
        v.joined += value
        leaf = SPIN.fullmatch(frames[-1])
        if leaf:
            v.by_function[int(leaf[1])] += value
        if leaf and user == interp_stack(int(leaf[1])) + [frames[-1]]:
            v.exact += value
            continue
        if not user or "interp_eval" in user:
            v.spoil(value, text)
            continue
        bad = [(a, b) for a, b in zip(user, user[1:]) if not is_edge(a, b)]
        if bad:
            v.spoil(value, str(bad[0]) + text[-200:])
    return v


# ---- generated code's stacks -------------------------------------------------------------

def anon_stack(kind, level):
    frames = ["anon_main", "down"]
    for k in range(level):
        frames += ["jit_call_[s]" if k % 2 == 0 else "jit_clobber_[s]", "down"]
    return frames + [f"{kind}_{level}"]


def judge_anon(stacks):
    v = Verdict()
    for text, value in stacks.items():
        frames = [f for f in text.split(";") if f]
        v.n += value
        if not any(f.endswith("_[s]") for f in frames):
            v.native += value
            leaf = LEVEL.fullmatch(frames[-1]) if frames else None
            # Level 0 has no generated code above its leaf.
            if leaf and leaf[2] != "0":
                v.odd[text] += value
            continue
        v.joined += value
        user = from_frame(frames, "anon_main")
        tail = frames[:-1] if frames[-1] == "jit_spin_[s]" else frames
        leaf = LEVEL.fullmatch(tail[-1])
        if leaf:
            v.by_function[int(leaf[2])] += value
        if leaf and user and user[:len(user) - (len(frames) - len(tail))] == \
                anon_stack(leaf[1], int(leaf[2])):
            v.exact += value
        elif not user or leaf:
            v.spoil(value, text)
    return v


def wait_for_time(run, seconds):
    """The run must outlive it."""
    time.sleep(seconds)
    assert run.process.poll() is None, "the run has ended"

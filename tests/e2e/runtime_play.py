# SPDX-License-Identifier: Apache-2.0
"""Processes for the test collectors (tests/plugins/testrt) and cores that profile them."""
import collections
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

import pytest

from conftest import BUILD, ROOT, wait_until

PLUGINS = BUILD / "tests/plugins/testrt"
WINDOWS = BUILD / "tests/e2e/windows"
EMBED = BUILD / "tests/e2e/embed"
SOURCE = ROOT / "tests/e2e/target.c"
SANITIZER = re.compile(r"ERROR: \w+Sanitizer|WARNING: ThreadSanitizer|runtime error:")

Stack = collections.namedtuple("Stack", "pid value comm event unit frames")


class Profile:
    def __init__(self, seq, samples, header):
        self.seq, self.samples, self.header = int(seq), int(samples), json.loads(header)
        self.stacks = []

    def of(self, pid, event="cpu-time", comm=None):
        """{frames: value} of one process; comm: only while it had this name."""
        found = {}
        for s in self.stacks:
            if s.pid == pid and s.event == event and comm in (None, s.comm):
                assert s.frames not in found, "a stack appears twice"
                found[s.frames] = s.value
        return found

    def total(self, pid):
        return sum(self.of(pid).values())

    def reports(self, pid):
        return [(r["status"], r["detail"], r["count"])
                for r in self.header["gprofiler_core"]["reports"] if r["pid"] == pid]


class Run:
    """A core that runs a number of windows. With expected, [(collector, pid)], there is one
    window, which ends a while after all of these were looked at."""

    def __init__(self, windows, options, trace, expected=None):
        self.trace_path = trace
        self.expected = expected
        # The thread sanitizer cannot place its shadow under much address randomization.
        self.process = subprocess.Popen(
            ["setarch", "-R", str(WINDOWS), str(windows), *options, f"plugin-dir={PLUGINS}",
             "plugins=testrt", f"testrt-trace={trace}"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.profiles, self.log, self.left = [], "", None

    def is_looked_at(self, collector, pid):
        return self.calls("attach", pid, collector) or self.calls("claim", pid, collector)

    def finish(self, timeout=120):
        command = None
        if self.expected is not None:
            wait_until(lambda: self.process.poll() is not None or
                       all(self.is_looked_at(*e) for e in self.expected), 60)
            time.sleep(1.5)
            command = "end\n"
        out, self.log = self.process.communicate(command, timeout=timeout)
        return self.read(out)

    def read(self, out):
        """What it printed, and whether all was well."""
        assert not SANITIZER.search(self.log), self.log
        assert self.process.returncode == 0, self.log
        for line in out.splitlines():
            kind, *rest = line.split("\t")
            if kind == "profile":
                self.profiles.append(Profile(*rest))
            elif kind == "stack":
                pid, value, comm, event, unit, frames = rest
                self.profiles[-1].stacks.append(
                    Stack(int(pid), int(value), comm, event, unit, frames))
            elif kind == "left":
                self.left = [int(n) for n in rest]
        assert self.left == [0, 0, 0], f"left: descriptors, threads, children: {self.left}"
        return self.profiles

    def trace(self):
        """[collector, what, ...] of each callback."""
        if not self.trace_path.exists():
            return []
        return [line.split(" ") for line in self.trace_path.read_text().splitlines()]

    def calls(self, what, pid, collector="testrt"):
        return [t[2:] for t in self.trace()
                if t[0] == collector and t[1] == what and t[2] == str(pid)]

    def started(self):
        wait_until(lambda: any(t[1] == "start" for t in self.trace()), 60)

    def wait_for(self, what, pid, n=1, collector="testrt", seconds=60):
        wait_until(lambda: len(self.calls(what, pid, collector)) >= n, seconds)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()


def namespace_pid(pid):
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"^NSpid:.*?(\d+)$", text, re.M)[1])


def children(pid):
    text = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(word) for word in text.split()]


class Target:
    """A process with a /tmp of its own, which is folder, and maybe a pid namespace or a
    root of its own. Its scripts are there before it is."""

    def __init__(self, folder, argv, scripts, pid_namespace=False, chroot=None):
        self.folder = folder
        setup = "".join(f'cp "/tmp/script-{name}" "/tmp/{name}-$$.txt"; ' for name in scripts)
        for name, text in scripts.items():
            (folder / f"script-{name}").write_text(text)
        command = ["unshare", "--mount"]
        if pid_namespace:
            command += ["--pid", "--fork", "--kill-child"]
        if chroot:
            for name, text in scripts.items():
                (chroot / f"tmp/{name}-1.txt").write_text(text)
            command += ["chroot", str(chroot), *argv]
        else:
            command += ["/bin/sh", "-c", f'mount --bind "$0" /tmp && cd /tmp; {setup} exec "$@"',
                        str(folder), *argv]
        self.outer = subprocess.Popen(command, stdin=subprocess.DEVNULL,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.pid = self.outer.pid
        if pid_namespace:
            wait_until(lambda: children(self.outer.pid))
            self.pid = children(self.outer.pid)[0]
        name = pathlib.Path(argv[0]).name[:15]
        wait_until(lambda: self.outer.poll() is not None or self.comm() == name)
        assert self.outer.poll() is None, "the target did not come up"
        self.root = chroot or None

    def comm(self):
        return pathlib.Path(f"/proc/{self.pid}/comm").read_text().strip()

    def script(self, text, name="testrt"):
        """Another script from now on."""
        path = (self.root / "tmp" if self.root else self.folder) / \
            f"{name}-{namespace_pid(self.pid)}.txt"
        path.with_suffix(".new").write_text(text)
        path.with_suffix(".new").rename(path)

    def become_next(self):
        os.kill(self.pid, signal.SIGUSR1)

    def end(self):
        if self.outer.poll() is None:
            os.kill(self.pid, signal.SIGKILL)
        self.outer.wait(10)


class Stage:
    """Builds programs, starts targets and cores, and ends what is left of them."""

    def __init__(self, folder):
        self.folder = folder
        self.built, self.targets, self.runs = folder / "built", [], []
        self.built.mkdir()

    def build(self, name, *flags):
        path = self.built / name
        subprocess.run(["cc", "-O1", "-g", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls",
                        "-o", str(path), str(SOURCE), *flags], check=True)
        return path

    def target(self, name="testrt-a", mode="busy", seconds=0, script=None, sock_script=None,
               more=(), binaries=(), **how):
        folder = self.folder / f"target{len(self.targets)}"
        folder.mkdir()
        if not (self.built / "plain").exists():
            self.build("plain")
        for binary in {name, *binaries}:
            own = self.built / binary
            shutil.copy(own if own.exists() else self.built / "plain", folder / binary)
        for library in self.built.glob("*.so"):
            shutil.copy(library, folder)
        scripts = {"testrt": script, "testsock": sock_script}
        target = Target(folder, [f"/tmp/{name}", mode, str(seconds), *more],
                        {k: v for k, v in scripts.items() if v is not None}, **how)
        target.expected = [("testrt", target.pid)] * name.startswith("testrt-") + \
            [("testsock", target.pid)] * ("+socket" in mode)
        self.targets.append(target)
        return target

    def run(self, *options, windows=1, seconds=None, frequency=49):
        """Without seconds one window ends when the targets that exist by now were seen."""
        expected = None
        if windows == 1 and seconds is None:
            expected = [e for t in self.targets for e in t.expected]
        seconds = seconds or (2 if windows > 1 else 300)
        run = Run(windows, [f"profiling-duration={seconds}", f"profiling-frequency={frequency}",
                            *options], self.folder / f"trace{len(self.runs)}", expected)
        self.runs.append(run)
        return run

    def end(self):
        for run in self.runs:
            run.kill()
        for target in self.targets:
            target.end()


@pytest.fixture(name="stage")
def stage(tmp_path):
    scene = Stage(tmp_path)
    yield scene
    scene.end()


def pass_time(run, seconds):
    """Lets a part of a window pass; the run must outlive it."""
    time.sleep(seconds)
    assert run.process.poll() is None, "the run has ended: " + run.process.stderr.read()

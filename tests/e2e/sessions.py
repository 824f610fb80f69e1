# SPDX-License-Identifier: Apache-2.0
"""Sessions of the profiler over workloads that report what they really did.

The embedding example is used, not the program: it prints pids, and several may
run beside another profiler."""
import collections
import json
import math
import os
import pathlib
import re
import signal
import subprocess
import time

from conftest import ROOT

RELEASE = pathlib.Path(os.environ.get("GPC_BUILD_RELEASE", ROOT / "build-release"))
SOURCES = ROOT / "tests/workloads"
CFLAGS = ["-O2", "-fno-omit-frame-pointer", "-Wall", "-Werror", "-D_GNU_SOURCE"]
LINE = re.compile(r"stack (-?\d+) (\d+) (.*?) cpu-time(?:;(.*))?")
READS = (["0", "0x0"], ["63", "0x0"])
LONGEST = 900  # seconds that the work may take on a machine with other work

Row = collections.namedtuple("Row", "pid count comm frames")


class Tools:
    """Builds workloads, each once, into a folder of this run."""

    def __init__(self, folder):
        self.folder = folder
        self.built = {}

    def run(self, *args, env=None):
        done = subprocess.run([str(a) for a in args], capture_output=True, text=True, env=env)
        assert done.returncode == 0, f"{args}: {done.stderr}"
        return done.stdout

    def build(self, name, source, *flags):
        """The path of a program; flags beginning with -l go behind the source."""
        path = self.folder / name
        assert self.built.setdefault(name, (source, flags)) == (source, flags)
        if path.exists():
            return path
        if source.endswith(".go"):
            env = {**os.environ, "HOME": str(self.folder), "GOFLAGS": "", "GO111MODULE": "off"}
            self.run("/usr/bin/go", "build", *flags, "-o", path, SOURCES / source, env=env)
        elif source.endswith(".rs"):
            self.run("/usr/bin/rustc", "-C", "force-frame-pointers=yes", "-C", "opt-level=2",
                     *flags, "-o", path, SOURCES / source)
        else:
            compiler = "g++" if source.endswith(".cpp") else "gcc"
            self.run(compiler, *CFLAGS, *flags, "-o", path, SOURCES / source)
        return path

    def embed(self):
        path = self.folder / "embed"
        if not path.exists():
            core = RELEASE / "core"
            self.run("gcc", "-O1", f"-I{ROOT}/sdk/include", "-o", path,
                     ROOT / "sdk/examples/embed/embed.c", f"-L{core}", "-lgpc",
                     f"-Wl,-rpath,{core}")
        return path


def libraries(program):
    """The files that a dynamic program needs."""
    out = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=True).stdout
    return re.findall(r"(/\S+) \(0x", out)


class Workload:
    """A program whose work begins at go(). What it reports is in .reports, the pids of
    its processes are in .pids."""

    def __init__(self, name, command, folder, env=None):
        self.name = name
        self.out = folder / f"{name}.json"
        with open(self.out, "w", encoding="utf-8") as out:
            self.process = subprocess.Popen([str(c) for c in command], stdin=subprocess.PIPE,
                                            stdout=out, text=True, env=env)
        self.reports = []

    @property
    def pid(self):
        """The process as the host knows it: behind unshare it is the last child."""
        pid = self.process.pid
        while True:
            children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
            if not children:
                return pid
            pid = int(children[0])

    def wait(self):
        """Until it waits for its line: only then is its start, and that of the commands
        before it, over. Its pid."""
        until = time.monotonic() + 30
        while time.monotonic() < until:
            pid = self.pid
            # read(0, ...) on x86-64 and arm64
            if pathlib.Path(f"/proc/{pid}/syscall").read_text().split()[:2] in READS:
                return pid
            time.sleep(0.02)
        raise AssertionError(f"{self.name} does not wait for its line")

    def go(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def end(self, until):
        status = self.process.wait(max(1, until - time.monotonic()))
        self.process.stdin.close()
        assert status == 0, f"{self.name} ended with {status}"
        self.reports = [json.loads(line) for line in self.out.read_text().splitlines()]
        assert self.reports, f"{self.name} reported nothing"

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        if not self.process.stdin.closed:
            self.process.stdin.close()

    def total(self, key):
        return sum(r[key] for r in self.reports)

    def share(self):
        """The true share of the heavy function in all that the program used."""
        return self.total("heavy_ns") / self.total("cpu_ns")


def parse(text):
    """Windows, each a list of rows, of what the embedding example printed."""
    windows = []
    for line in text.split("\n"):
        if line.startswith("profile "):
            windows.append([])
        elif line.startswith("stack "):
            pid, count, comm, frames = LINE.fullmatch(line).groups()
            windows[-1].append(Row(int(pid), int(count), comm,
                                   frames.split(";") if frames else []))
        else:
            assert line in ("", "profiling"), line
    return windows


class Session:
    """The profiler at work, until end()."""

    def __init__(self, tools, *options):
        self.out = tools.folder / "profile"
        self.log = tools.folder / "profile.log"
        with open(self.out, "w", encoding="utf-8") as out, \
                open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen([tools.embed(), *options], stdout=out, stderr=log)
        until = time.monotonic() + 30
        while "profiling" not in self.out.read_text(errors="replace"):
            assert self.process.poll() is None and time.monotonic() < until, self.log.read_text()
            time.sleep(0.02)

    def end(self):
        """Ends it now; its windows."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(300)
        assert status == 0, self.log.read_text()
        return parse(self.out.read_text(encoding="utf-8"))

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def total(rows):
    return sum(r.count for r in rows)


def with_frame(rows, name):
    return [r for r in rows if name in r.frames]


def check_share(found, n, true, what):
    """Design section 8: three points, or what chance may do with n samples."""
    assert n >= 1000, f"{what}: only {n} samples"
    bound = max(0.03, 3.3 * math.sqrt(true * (1 - true) / n))
    share = found / n
    print(f"{what}: {share:.2%} found, {true:.2%} true, {n} samples")
    assert abs(share - true) <= bound, f"{what}: {share:.2%} found, {true:.2%} true, {n} samples"

# SPDX-License-Identifier: Apache-2.0
"""JVMs that came up in other ways than by the JDK's java, and that no JVM notices us: by
strace, beside a tool that does what we do not."""
import os
import pathlib
import platform
import re
import shutil
import subprocess
import time

import pytest

from java_play import SOURCES, Program, Verdict, java_home
from sessions import Session, Tools, check_share

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="reading other processes needs root"),
    pytest.mark.skipif(platform.machine() != "x86_64", reason="JVMs are read on x86-64 only"),
    pytest.mark.skipif(not java_home(), reason="needs openjdk-17-jdk-headless"),
]
HZ, WINDOW = 439, 5
NEEDED, LONGEST = 7, 70  # seconds of CPU of each; of waiting for that


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def shadow_of(home, place):
    """A JDK of links, but with a launcher of another name and a libjvm.so of its own."""
    (place / "bin").mkdir(parents=True)
    shutil.copy(home / "bin/java", place / "bin/service")
    shutil.copytree(home / "lib", place / "lib", copy_function=os.symlink)
    library = place / "lib/server/libjvm.so"
    library.unlink()
    shutil.copy(home / "lib/server/libjvm.so", library)
    for name in ("conf", "release"):
        if (home / name).exists():
            os.symlink((home / name).resolve(), place / name)
    return place / "bin/service", library


def settled(windows, pid):
    """The rows of a process from the first window on in which its stacks are whole: until
    there are tables for all its files they end earlier."""
    rows = [[r for r in window if r.pid == pid] for window in windows]
    verdicts = [Verdict(r) for r in rows]
    begin = next((i for i, v in enumerate(verdicts) if v.whole >= 0.99 * v.java > 0), len(rows))
    return [r for window in rows[begin:] for r in window]


class Around:
    """One session over an embedded JVM and two of which the library is gone."""

    def __init__(self, folder):
        self.program = Program(folder, java_home())
        self.processes = {}
        try:
            self.start(folder)
            self.measure(Tools(folder))
        finally:
            self.end()

    def start(self, folder):
        home = java_home()
        host = folder / "host"
        subprocess.run(["gcc", "-O2", f"-I{home}/include", f"-I{home}/include/linux", "-o", host,
                        SOURCES / "host.c"], check=True)
        self.processes["embedded"] = subprocess.Popen([host, home / "lib/server/libjvm.so", folder])
        for name in ("deleted", "replaced"):
            java, library = shadow_of(home, folder / name)
            self.processes[name] = self.program.start(200, ["pair"], java=java)
            time.sleep(2)  # it has begun
            library.unlink()
            if name == "replaced":
                library.write_bytes(b"\x7fELF, but not what is running")

    def measure(self, tools):
        session = Session(tools, "plugins=java", f"profiling-frequency={HZ}",
                          f"profiling-duration={WINDOW}", "continuous=true")
        first = {n: cpu_seconds(p.pid) for n, p in self.processes.items()}
        until = time.monotonic() + LONGEST
        while time.monotonic() < until and any(
                cpu_seconds(p.pid) - first[n] < NEEDED for n, p in self.processes.items()):
            time.sleep(0.2)
        self.maps = {n: pathlib.Path(f"/proc/{p.pid}/maps").read_text()
                     for n, p in self.processes.items()}
        windows = session.end()
        self.rows = {n: settled(windows, p.pid) for n, p in self.processes.items()}

    def end(self):
        self.program.end()
        for process in self.processes.values():
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def around(tmp_path_factory):
    return Around(tmp_path_factory.mktemp("java-around"))


@pytest.mark.parametrize("name", ["embedded", "deleted", "replaced"])
def test_shares_of_jvms_however_they_came_up(around, name):
    v = Verdict(around.rows[name])
    print(v)
    check_share(v.hot.total(), v.split.total(), 0.7, name)
    assert v.whole >= 0.99 * v.java > 0 and v.wrong == 0, v


@pytest.mark.parametrize("name", ["deleted", "replaced"])
def test_their_library_is_really_gone(around, name):
    assert "libjvm.so (deleted)" in around.maps[name]


def test_an_embedded_jvm_is_one_stack_with_its_host(around):
    found = whole = 0
    for r in around.rows["embedded"]:
        names = [f.split("(")[0] for f in r.frames]
        if "Split.pair" in names:
            at = [names.index(n) for n in ("main", "host_round", "call_stub", "Split.pair")
                  if n in names]
            assert at == sorted(at), r
            found += r.count
            whole += r.count if len(at) == 4 else 0
    assert whole >= 0.99 * found >= 500


# ---- nobody notices -------------------------------------------------------------------

CALL = re.compile(r"^\d+ +(\w+)\(", re.M)
SIGNAL = re.compile(r"^\d+ +--- (SIG\w+) ", re.M)


class Watched:
    """A JVM under strace, in a /tmp and a folder of its own, that computes and calls the
    kernel for nothing."""

    SECONDS = 5

    def __init__(self, folder):
        self.folder = folder
        self.program = Program(folder, java_home())
        self.out, self.home = folder / "out", folder / "cwd"
        self.home.mkdir()
        with open(self.out, "wb") as out:
            self.jvm = subprocess.Popen(
                ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /tmp && exec "$@"', "sh",
                 java_home() / "bin/java", "-Xint", "-Xmx64m", "-XX:+DisableAttachMechanism",
                 "-XX:-EnableDynamicAgentLoading", "-cp", self.classes(), "Split", "200", "pair"],
                stdin=subprocess.DEVNULL, stdout=out, stderr=out, cwd=self.home)
        time.sleep(3)

    def classes(self):
        """Not below /tmp, where the JVM has its own."""
        place = pathlib.Path("/var/tmp") / f"gpc-java-{os.getpid()}"
        shutil.copytree(self.folder, place, ignore=lambda d, names: [
            n for n in names if not n.endswith(".class")], dirs_exist_ok=True)
        self.copy = place
        return place

    def trace(self, during=lambda: None):
        """What the JVM calls meanwhile: names of system calls, signals."""
        log = self.folder / "strace"
        tracer = subprocess.Popen(["strace", "-f", "-o", log, "-p", str(self.jvm.pid)],
                                  stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            assert "attached" in tracer.stderr.readline()
            begin = time.monotonic()
            during()
            time.sleep(max(0, self.SECONDS - (time.monotonic() - begin)))
        finally:
            tracer.terminate()
            tracer.communicate()
        text = log.read_text()
        return set(CALL.findall(text)), set(SIGNAL.findall(text))

    def profile(self):
        session = Session(Tools(self.folder), "plugins=java", f"profiling-frequency={HZ}",
                          "profiling-duration=60")
        time.sleep(self.SECONDS)
        self.rows = [r for window in session.end() for r in window if r.pid == self.jvm.pid]

    def traces(self):
        """Everything the JVM may find of somebody: its /tmp, its folder, what it said."""
        root = pathlib.Path(f"/proc/{self.jvm.pid}/root/tmp")
        return sorted(str(p.relative_to(root)) for p in root.rglob("*")), \
            sorted(os.listdir(self.home)), self.out.read_bytes()

    def end(self):
        self.jvm.kill()
        self.jvm.wait()
        shutil.rmtree(self.copy, ignore_errors=True)


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    w = Watched(tmp_path_factory.mktemp("java-watched"))
    yield w
    w.end()


@pytest.mark.skipif(not shutil.which("strace"), reason="needs strace")
def test_strace_shows_nothing_of_us(watched):
    calls, signals = watched.trace()
    before = watched.traces()
    with_us, signals_with_us = watched.trace(watched.profile)
    again, signals_again = watched.trace()
    v = Verdict(watched.rows)
    print(v, calls | again, with_us)
    # It was looked at, and its options change nothing.
    assert v.java >= 100 and v.whole >= 0.99 * v.java, v
    assert with_us <= calls | again
    assert signals_with_us <= signals | signals_again
    assert watched.traces() == before
    assert before[1] == [] and before[2] == b""


@pytest.mark.skipif(not shutil.which("strace"), reason="needs strace")
def test_strace_would_show_it(watched):
    """What others do: they ask the JVM by a signal."""
    calls, signals = watched.trace()
    with_jcmd, signals_with_jcmd = watched.trace(lambda: watched.jvm.send_signal(3))
    assert "SIGQUIT" in signals_with_jcmd - signals
    assert with_jcmd - calls

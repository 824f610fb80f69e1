# SPDX-License-Identifier: Apache-2.0
"""What a profile says of Java programs whose shares and call graph are known, in one
session over several JVMs, and that the JVMs are not touched."""
import collections
import json
import os
import pathlib
import platform
import re
import subprocess
import time

import pytest

from conftest import run_agent
from java_play import CUT, FRAME, Program, Verdict, java_home, tier_of
from sessions import Session, Tools, check_share

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="reading other processes needs root"),
    pytest.mark.skipif(platform.machine() != "x86_64", reason="JVMs are read on x86-64 only"),
    pytest.mark.skipif(not java_home(), reason="needs openjdk-17-jdk-headless"),
]

HZ, WARM = 499, 3
NEEDED, LONGEST = 4.5, 90  # seconds of CPU that each JVM is to use; of waiting for that
REFUSED = 12  # seconds until what has no tables is known to be no HotSpot
SETTLED, LATE = 4, 8  # seconds until unwind tables are there; that the late JVM lives
SPLIT = ["pair", "pair", "pair", "recurse", "lambda"]
TIERS = {"default": [], "interpreter": ["-Xint"], "c1": ["-XX:TieredStopAtLevel=1"],
         "no-fp": ["-XX:-PreserveFramePointer"]}
DEEP = {"deep": [], "deep-int": ["-Xint"]}
UNTOUCHABLE = ["-XX:+DisableAttachMechanism"]


# Libraries that are no HotSpot, and what is said of whoever maps them.
PRETENDERS = {"libj9vm29.so": "profiling this JVM is not supported: OpenJ9",
              "libjvm.so": "profiling this JVM is not supported: it has no tables of structures"}
PRETEND = """
#include <unistd.h>
int library(void);
int main(void)
{
	for (volatile long i = library();; i++)
		if (i % 10000000 == 0)
			usleep(50000);
}
"""


def pretend(folder, library):
    """A program that maps a file of this name."""
    place = folder / f"of-{library}"
    place.mkdir()
    (place / "library.c").write_text("int library(void) { return 1; }")
    (place / "main.c").write_text(PRETEND)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", place / library, place / "library.c"],
                   check=True)
    subprocess.run(["gcc", "-O1", "-o", place / "main", place / "main.c", place / library,
                    f"-Wl,-rpath,{place}"], check=True)
    return subprocess.Popen([place / "main"])


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Seen:
    """One session, and what there was before and after it."""

    def __init__(self, folder):
        self.program = Program(folder, java_home())
        self.home = folder / "home"
        self.home.mkdir()
        self.pretenders = {name: pretend(folder, name) for name in PRETENDERS}
        try:
            self.measure(Tools(folder))
        except BaseException:
            self.end()
            raise

    def end(self):
        self.program.end()
        for process in self.pretenders.values():
            process.kill()
            process.wait()

    def measure(self, tools):
        self.jvms = {name: self.start(SPLIT, options) for name, options in TIERS.items()}
        self.jvms |= {n: self.start(["deep", "abyss"], options) for n, options in DEEP.items()}
        self.jvms["serial"] = self.start(["garbage"], ["-XX:+UseSerialGC"])
        self.jvms["native"] = self.start(["files", "jni", "garbage"], UNTOUCHABLE)
        time.sleep(WARM)
        self.signals = self.caught()
        self.traces = self.files()
        session = Session(tools, "plugins=java", f"profiling-frequency={HZ}",
                          f"profiling-duration={LONGEST + 60}")
        try:
            begin = {n: cpu_seconds(j.pid) for n, j in self.jvms.items()}
            time.sleep(SETTLED)
            # Begins while it is looked at, and ends by itself.
            late = self.program.start(LATE, ["pair", "lambda"], cwd=self.home)
            time.sleep(REFUSED - SETTLED)
            self.wait(begin)
            late.wait(LONGEST)
            self.alive = {n: j.poll() is None for n, j in self.jvms.items()}
            self.rows = [r for window in session.end() for r in window]
            self.late = [r for r in self.rows if r.pid == late.pid]
        finally:
            session.kill()

    def start(self, modes, options):
        return self.program.start(2 * LONGEST, modes, *options, cwd=self.home)

    def wait(self, begin):
        """Until each has got enough of the machine for its shares to be told."""
        until = time.monotonic() + LONGEST
        while time.monotonic() < until and any(
                cpu_seconds(self.jvms[n].pid) - begin[n] < NEEDED for n in TIERS):
            time.sleep(0.2)

    def caught(self):
        """Signals that each JVM has got and not handled, and its count of threads."""
        return {n: pathlib.Path(f"/proc/{j.pid}/status").read_text().split("SigPnd")[1]
                for n, j in self.jvms.items()}

    def files(self):
        """What is in their folder, and in /tmp with one of their numbers in its name: others
        write there too."""
        pids = {str(j.pid) for j in self.jvms.values()}
        return sorted(os.listdir(self.home)), sorted(
            f for f in os.listdir("/tmp") if pids & set(re.findall(r"\d+", f)))

    def of(self, name):
        return [r for r in self.rows if r.pid == self.jvms[name].pid]


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    s = Seen(tmp_path_factory.mktemp("java"))
    yield s
    s.end()


def frames_of(rows):
    return {f for r in rows for f in r.frames}


@pytest.mark.parametrize("tier", TIERS)
def test_share_of_two_methods_behind_an_interface(seen, tier):
    v = Verdict(seen.of(tier))
    print(v)
    check_share(v.hot.total(), v.split.total(), 0.7, tier)


@pytest.mark.parametrize("tier", [*TIERS, "native"])
def test_stacks_reach_the_threads_entry(seen, tier):
    v = Verdict(seen.of(tier))
    assert v.whole >= 0.99 * v.java > 0, v


@pytest.mark.parametrize("tier", [*TIERS, "native"])
def test_no_edges_that_the_program_has_not(seen, tier):
    v = Verdict(seen.of(tier))
    assert v.edges >= 500 and v.wrong < 0.001 * v.edges, v


def test_recursion_three_hundred_deep(seen):
    for tier in TIERS:
        rows = [r for r in seen.of(tier) if r.frames[-1].startswith("Split.spin")]
        depths = {d: sum(r.count for r in rows if deep(r) == d) for d in map(deep, rows)}
        whole = depths.get(301, 0)
        recursing = sum(n for d, n in depths.items() if d)
        # Up to a tenth of the time goes into the calls themselves.
        assert whole >= 0.9 * recursing > 0, (tier, depths)
        assert max(depths) == 301, (tier, depths)


@pytest.mark.parametrize("name", DEEP)
def test_recursion_deeper_than_what_is_copied(seen, name):
    """1500 calls are shown, 3000 are more than is followed: that is marked at the root."""
    depths = collections.Counter()
    for r in seen.of(name):
        if r.frames[-1].startswith("Split.spin"):
            depths[deep(r), CUT in r.frames] += r.count
            assert CUT not in r.frames[1:]
    uncut = {d: n for (d, is_cut), n in depths.items() if d and not is_cut}
    cut = {d: n for (d, is_cut), n in depths.items() if is_cut}
    assert uncut.get(1501, 0) >= 0.9 * sum(uncut.values()) > 0, depths
    assert cut and all(1024 <= d < 3001 for d in cut), depths


def deep(row):
    return sum(f.startswith("Split.recurse(I)J_[") for f in row.frames)


def test_suffixes_tell_who_compiled(seen):
    by = {tier: {tier_of(f) for f in frames_of(seen.of(tier)) if FRAME.fullmatch(f)}
          for tier in TIERS}
    assert by["interpreter"] == {"0"}
    assert {"1", "i", "0"} <= by["c1"]
    assert not [f for f in frames_of(seen.of("c1")) if f.startswith("Split") and f.endswith("_[j]")]
    assert {"j", "i", "0"} <= by["default"] and {"j", "i"} <= by["no-fp"]


def test_inlined_methods_have_frames(seen):
    for tier in ("default", "c1", "no-fp"):
        rows = seen.of(tier)
        spin = [r for r in rows if r.frames[-1].startswith("Split.spin(J)J")]
        inlined = sum(r.count for r in spin if r.frames[-1].endswith("_[i]"))
        assert inlined >= 0.5 * sum(r.count for r in spin) > 0, tier


def test_lambdas_have_stable_names(seen):
    names = frames_of(seen.of("default"))
    assert any(f.startswith("Split$$Lambda.applyAsLong(J)J_[") for f in names)
    assert any(f.startswith("Split.lambda$lambda$0(IJ)J_[") for f in names)
    assert not [f for f in names if "$$Lambda" in f and ("0x" in f or "$$Lambda$" in f)]


def test_a_system_call_from_java(seen):
    """Java, native and kernel frames in one stack, in this order."""
    rows = [r for r in seen.of("native") if r.frames[-1].endswith("_[k]")]
    found = 0
    for r in rows:
        java = [i for i, f in enumerate(r.frames) if f.startswith("java/io/RandomAccessFile.readBytes")]
        kernel = [i for i, f in enumerate(r.frames) if f.endswith("_[k]")]
        native = [i for i, f in enumerate(r.frames) if not f.endswith("]")]
        if java and any(java[-1] < i < kernel[0] for i in native):
            found += r.count
    assert found >= 50


def test_native_code_that_calls_back(seen):
    rows = [r for r in seen.of("native") if r.frames[-1].startswith("Split.spin")]
    wanted = ["Split.up(I)J", "Split.down(I)J", "Java_Split_down"]
    whole = recursing = 0
    for r in rows:
        names = [f.split("_[")[0] for f in r.frames]
        names = [n for n in names if n in wanted]
        recursing += r.count * ("Split.up(I)J" in names)
        whole += r.count * (names == wanted * 6 + ["Split.up(I)J"])
    assert whole >= 0.99 * recursing > 0


def seen_by_the_program(place, pid, seconds):
    """What a session of some seconds says of one JVM: about it, and stacks with Java frames."""
    done = run_agent([*place, "-d", str(seconds), "-f", "99", "--plugins=java", "--pids", str(pid),
                      "--app-id-args-filter", "^-Xmx", "--java-collect-thread-names"],
                     timeout=60 + seconds)
    assert done.returncode == 0, done.stderr
    header, *lines = (place.out / "last_profile.col").read_text().split("\n")
    about = [m for m in json.loads(header[1:])["application_metadata"] if m]
    return about, [line.split(";") for line in lines if "call_stub" in line]


def test_application_and_metadata(seen, place):
    """Of seconds of the program itself, over one of the JVMs. On a busy machine it may take
    longer than two until it is attached to and has run since."""
    for seconds in (2, 10, 30):
        about, java = seen_by_the_program(place, seen.jvms["default"].pid, seconds)
        # The name of a thread is not known at its first sample.
        named = [f for f in java if re.fullmatch(r"\[(pair|recurse|lambda) tid=\d+\]", f[4])]
        if about and named:
            break
    assert len(about) == 1, about
    assert re.search(r"OpenJDK 64-Bit Server VM \(17\.", about[0]["java_version"])
    assert re.fullmatch("buildid:[0-9a-f]{40}", about[0]["libjvm_elfid"])
    flags = {f["name"]: f for f in about[0]["jvm_flags"]}
    assert flags["MaxHeapSize"] == {"name": "MaxHeapSize", "type": "size_t", "value": "134217728",
                                    "origin": "command line", "kind": ["product"]}
    assert java and all("appid: java: Split (-Xmx128m)" in frames for frames in java)
    assert named, java[:3]


@pytest.mark.parametrize("library", PRETENDERS)
def test_what_is_no_hotspot_says_so(seen, library):
    rows = [r for r in seen.rows if r.pid == seen.pretenders[library].pid]
    assert rows and all(r.frames[0] == f"[Profiling skipped: {PRETENDERS[library]}]" for r in rows)
    assert any(r.frames[-1] == "main" for r in rows)


def test_a_jvm_that_starts_and_ends_meanwhile(seen):
    v = Verdict(seen.late)
    print(v)
    assert v.java > 10 and v.whole >= 0.99 * v.java and v.wrong < 0.001 * v.java + 1, v


def test_the_jvms_own_threads_show_their_role(seen):
    assert "[GC thread]" in frames_of(seen.of("native"))
    assert "[compiler thread]" in frames_of(seen.rows)
    assert "[VM thread]" in frames_of(seen.of("serial"))  # which collects by itself
    roles = {"[GC thread]", "[compiler thread]", "[VM thread]"}
    for r in seen.rows:
        if roles & set(r.frames):
            assert r.frames[0] in roles or r.frames[1] in roles, r
            assert not any(map(FRAME.fullmatch, r.frames)), r


def test_jvms_are_not_touched(seen):
    assert all(seen.alive.values())
    assert seen.files() == seen.traces
    for name, jvm in seen.jvms.items():
        text = pathlib.Path(f"/proc/{jvm.pid}/status").read_text()
        assert "TracerPid:\t0\n" in text, name
        assert text.split("SigPnd")[1].split("voluntary")[0] == \
            seen.signals[name].split("voluntary")[0], name
        maps = pathlib.Path(f"/proc/{jvm.pid}/maps").read_text()
        assert "gprofiler" not in maps and "async" not in maps

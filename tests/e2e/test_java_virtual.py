# SPDX-License-Identifier: Apache-2.0
"""Virtual threads: of one that goes on, some frames lie in the heap still."""
import os
import pathlib
import platform
import re
import time

import pytest

from java_play import Program, Verdict, java_home
from sessions import Session, Tools

# GPC_TEST_VIRTUAL_JDK: another place of a JDK 21 or later.
HOMES = sorted(h for h in pathlib.Path("/usr/lib/jvm").glob("*")
               if not h.is_symlink() and re.search(r"\D(2[1-9])\D", h.name + " "))
HOME = os.environ.get("GPC_TEST_VIRTUAL_JDK") or (str(HOMES[-1]) if HOMES else None)
pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="reading other processes needs root"),
    pytest.mark.skipif(platform.machine() != "x86_64", reason="JVMs are read on x86-64 only"),
    pytest.mark.skipif(not java_home(), reason="needs openjdk-17-jdk-headless"),
    pytest.mark.skipif(not HOME, reason="needs a JDK 21 or later in /usr/lib/jvm"),
]
wide = pytest.mark.wide
HEAPS = ["-XX:+UseG1GC", *(pytest.param(o, marks=wide) for o in (
    "-XX:+UseSerialGC", "-XX:+UseParallelGC", "-XX:+UseZGC", "-XX:+UseShenandoahGC",
    "-XX:-UseCompressedOops", "-XX:+UseCompactObjectHeaders", "-Xint"))]


@pytest.mark.parametrize("option", HEAPS)
def test_stacks_are_whole_up_to_the_threads_begin(tmp_path, option):
    program = Program(tmp_path, java_home())
    jvm = program.start(60, ["yield"], option, java=HOME + "/bin/java")
    try:
        time.sleep(4)
        session = Session(Tools(tmp_path), "plugins=java", "profiling-frequency=439",
                          "profiling-duration=100")
        time.sleep(8)
        rows = [r for window in session.end() for r in window if r.pid == jvm.pid]
        assert jvm.poll() is None
    finally:
        program.end()
    v = Verdict(rows)
    print(v)
    aside = [r for r in rows if any(f.startswith("Split.aside(") for f in r.frames)]
    n = sum(r.count for r in aside)
    marked = sum(r.count for r in aside if "[frames in the heap]" in r.frames)
    whole = sum(r.count for r in aside if is_whole(r))
    assert n >= 100 and marked <= 0.01 * n and whole >= 0.99 * n, (n, marked, whole, v)
    assert v.wrong < 0.001 * v.java + 1, v


def is_whole(row):
    """The carrier's frames, the virtual thread's begin, the program's, in this order."""
    text = ";".join(row.frames)
    return re.search(r"call_stub;.*VirtualThread\.runContinuation\(.*Continuation\.enterSpecial\(.*"
                     r"Continuation\.enter\(.*VirtualThread\.run\(.*Split\.run\(\S*Split\.aside\(",
                     text) is not None

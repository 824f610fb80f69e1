# SPDX-License-Identifier: Apache-2.0
"""One set of samples of programs built as distributions build them, unwound in every way:
each frame as libunwind finds it, through accessors over the same registers, copies of the
stack and files; and `smart` never worse than either of its sources."""
import os
import pathlib
import platform
import subprocess
import sys

import pytest

import sessions

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "bench"))
from figures import native, oracle  # noqa: E402
from figures.tool import Bench  # noqa: E402

pytestmark = [pytest.mark.skipif(os.geteuid() != 0, reason="needs root"),
              pytest.mark.skipif(platform.machine() != "x86_64",
                                 reason="libunwind is asked for frames of x86-64")]

SECONDS = 2
LEFT_OUT = {"stripped, with debug file", "stripped, without"}  # unwound as "C, glibc" is


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    if subprocess.run(["cc", "-E", "-"], input="#include <libunwind.h>", text=True,
                      capture_output=True).returncode:
        pytest.skip("libunwind-dev is not installed")
    with Bench(sessions.RELEASE, tmp_path_factory.mktemp("oracle") / "bench", True) as bench:
        tool = native.compile_tool(bench)
        programs = [native.build(bench.folder, name) for name in native.PROGRAMS
                    if name not in LEFT_OUT]
        running = [native.start(p, SECONDS + 5) for p in programs if p]
        try:
            done = subprocess.run([tool, str(SECONDS), str(native.HZ), str(native.BYTES),
                                   "figures", *(str(p.pid) for p in running)], check=True,
                                  capture_output=True, text=True, timeout=120)
        finally:
            for process in running:
                process.kill()
                process.wait()
    return oracle.values(done.stdout)


def test_every_frame_is_where_libunwind_finds_it(found):
    assert found["oracle_samples"] > 500
    assert found["oracle_frames"] > 10 * found["oracle_samples"]
    assert found["oracle_same"] == found["oracle_frames"]
    # Where one of the two ended earlier it is libunwind: of code without information.
    assert found["oracle_mine_shallower"] <= 0.005 * found["oracle_samples"]


def test_smart_is_never_worse(found):
    assert found["samples"] > 500
    assert found["smart_worse"] == 0
    assert found["smart_complete"] >= 0.99 * found["samples"]
    assert found["smart_complete"] >= found["dwarf_complete"] > found["fp_complete"]

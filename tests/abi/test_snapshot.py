# SPDX-License-Identifier: Apache-2.0
"""The layout snapshot notices every break of the contract and lets appends pass."""
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
INCLUDE = ROOT / "sdk/include"
HEADER = INCLUDE / "gpc/plugin.h"
TOOL = ROOT / "sdk/abi/snapshot.py"

pytestmark = pytest.mark.skipif(not all(map(shutil.which, ("gcc", "pahole", "readelf"))),
                                reason="needs gcc, pahole and readelf")


def promised():
    """The snapshot of the version that the header says it is."""
    words = HEADER.read_text().split()
    version = [words[words.index(f"GPC_ABI_{part}") + 1] for part in ("MAJOR", "MINOR")]
    return ROOT / "sdk/abi" / f"abi-{'.'.join(version)}.txt"


def check(snapshot, header, **env):
    return subprocess.run([sys.executable, TOOL, "check", snapshot, "--header", header],
                          capture_output=True, text=True, env=os.environ | env)


@pytest.fixture
def edited(tmp_path):
    """Checks a copy of the headers, with texts replaced, against the present ones."""
    snapshot = tmp_path / "abi.txt"
    subprocess.run([sys.executable, TOOL, "write", snapshot], check=True)

    def checked(*edits):
        copy = shutil.copytree(INCLUDE, tmp_path / "include")
        for old, new in edits:
            parts = [p for p in copy.rglob("*.h") if old in p.read_text()]
            assert parts, f"the headers have no longer {old!r}"
            parts[0].write_text(parts[0].read_text().replace(old, new, 1))
        return check(snapshot, copy / "gpc/plugin.h")

    return checked


STATS_END = "	uint32_t no_kernel; /* 1: the kernel's part could not be had */\n"
APPEND = (STATS_END, STATS_END + "	uint64_t later;\n")

BREAKS = {
    "insert in the middle": [
        ("	uint64_t samples, lost, throttled;\n",
         "	uint64_t early;\n	uint64_t samples, lost, throttled;\n"), APPEND],
    "remove the last member": [
        ("	gpc_status (*flush)(void *self, uint64_t deadline_ns);\n", "")],
    "swap two of one size": [
        ("uint64_t begin_ns, end_ns; /* [begin, end) */",
         "uint64_t end_ns, begin_ns; /* [begin, end) */")],
    "change a callback's signature": [
        ("int32_t (*should_stop)(const struct gpc_host *h);",
         "int32_t (*should_stop)(struct gpc_host *h);")],
    "append and change a signature": [
        APPEND,
        ("int32_t (*should_stop)(const struct gpc_host *h);",
         "int32_t (*should_stop)(const struct gpc_host *h, int32_t why);")],
    "renumber a constant": [("GPC_E_BUSY = -4,", "GPC_E_BUSY = -44,")],
    "rename a member": [("uint64_t interval; ", "uint64_t gap;      ")],
    "retype a member, same size": [("uint64_t max_bytes;", "int64_t max_bytes; ")],
    "retype a scalar": [("typedef int32_t gpc_level;", "typedef uint32_t gpc_level;")],
    "grow a struct of fixed size": [
        ("	const char *const *at;\n	uint32_t n, reserved;\n",
         "	const char *const *at;\n	uint32_t n, reserved;\n	uint64_t more;\n")],
    "change a macro": [("UINT64_C(0xE000000000000000)", "UINT64_C(0xF000000000000000)")],
}


@pytest.mark.parametrize("edits", BREAKS.values(), ids=BREAKS.keys())
def test_notices_a_break(edited, edits):
    result = edited(*edits)
    assert result.returncode == 1, result.stdout + result.stderr
    assert "broken:" in result.stdout


@pytest.mark.parametrize("edits", [
    [APPEND],
    [("	GPC_E_SKIPPED = -13 ", "	GPC_E_LATER = -14, GPC_E_SKIPPED = -13 ")],
    [("#define GPC_ABI_MINOR 1", "#define GPC_ABI_MINOR 2")],
], ids=["member", "constant", "minor"])
def test_lets_an_append_pass(edited, edits):
    result = edited(*edits)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "broken:" not in result.stdout


def test_says_what_was_added(edited):
    assert "added:  struct gpc_source_stats +40 8 bytes: uint64_t later" in edited(APPEND).stdout


def test_the_present_header_keeps_its_promise():
    result = check(promised(), HEADER)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.skipif(not shutil.which("aarch64-linux-gnu-gcc"), reason="needs a cross compiler")
def test_layout_is_the_same_on_arm64():
    result = check(promised(), HEADER, CC="aarch64-linux-gnu-gcc")
    assert result.returncode == 0, result.stdout + result.stderr

# SPDX-License-Identifier: Apache-2.0
"""Runs the program that was built, and reads what it wrote."""
import json
import os
import pathlib
import subprocess
import time

import pytest

ROOT = pathlib.Path(os.environ.get("GPC_ROOT", pathlib.Path(__file__).resolve().parents[2]))
BUILD = pathlib.Path(os.environ.get("GPC_BUILD", ROOT / "build-asan"))
PROGRAM = os.environ.get("GPC_PROGRAM", str(BUILD / "core/program/gprofiler-core"))
LOCK = "@@gprofiler_lock"


def wait_for_lock(seconds=60):
    """Another profiler on this machine may be about to end."""
    until = time.monotonic() + seconds
    while LOCK in pathlib.Path("/proc/2/net/unix").read_text() and time.monotonic() < until:
        time.sleep(0.2)


def run_agent(args, timeout=60, before=(), **more):
    """Runs the program to its end; before: a command that starts it."""
    wait_for_lock()
    return subprocess.run([*before, PROGRAM, *args], timeout=timeout, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, **more)


def start_agent(args, **more):
    wait_for_lock()
    return subprocess.Popen([PROGRAM, *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, **more)


def parse_col(path):
    """The header, and (stack from the root, count) of each line."""
    first, *lines = pathlib.Path(path).read_text(encoding="utf-8").split("\n")
    assert first.startswith("# ")
    split = (line.rsplit(" ", 1) for line in lines if line)
    return json.loads(first[2:]), [(stack.split(";"), int(count)) for stack, count in split]


def wait_until(condition, seconds=20):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.05)


@pytest.fixture(scope="session", autouse=True)
def built():
    if not os.access(PROGRAM, os.X_OK):
        pytest.fail(f"{PROGRAM} is not there: build it, or set GPC_PROGRAM")


@pytest.fixture
def place(tmp_path):
    """Options that keep a run's files in a folder of the test; .path is it."""
    class Place(list):
        path = tmp_path
        out = tmp_path / "out"
        log = tmp_path / "log"
        pid = tmp_path / "pid"
    place = Place()
    place += ["-o", str(place.out), "--log-file", str(place.log), "--pid-file", str(place.pid)]
    return place

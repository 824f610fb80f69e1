# SPDX-License-Identifier: Apache-2.0
"""Which collectors run, and with which options."""
import json
import os
import shutil
import tempfile

import pytest

from conftest import BUILD, parse_col, run_agent
from runtime_play import PLUGINS, stage  # noqa: F401

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


def options_of(run):
    """{name: [value, ...]} as the collector was given them."""
    found = {}
    for line in run.trace():
        if line[:2] == ["testrt", "option"]:
            found.setdefault(line[2], []).append(" ".join(line[3:]))
    return found


def test_options_of_every_kind(stage):
    run = stage.run("trt-count=17", "testrt-flag=true", "testrt-bytes=2mb", "testrt-wait=3s",
                    "testrt-level=5", "testrt-label=a label", "testrt-words=one,two",
                    "testrt-words=three", "testrt-patterns=a{1,2}", "testrt-token=geheim",
                    "testrt-mode=other", seconds=1)
    profile = run.finish()[0]
    assert options_of(run) == {
        "mode": ["1"], "flag": ["1"], "count": ["17"], "bytes": [str(2 << 20)],
        "wait": [str(3 * 10**9)], "level": ["5"], "label": ["a label"],
        "words": ["one", "two", "three"], "patterns": ["a{1,2}"], "token": ["6 letters"]}
    assert "geheim" not in run.log + json.dumps(profile.header)


def test_options_that_are_not_given(stage):
    run = stage.run(seconds=1)
    run.finish()
    assert options_of(run) == {
        "mode": ["0"], "flag": ["0"], "count": ["3"], "bytes": ["65536"], "wait": ["10000000"],
        "level": ["0"], "label": ["-"], "token": ["0 letters"]}


def agent(place, *args):
    return run_agent([*place, f"--plugin-dir={PLUGINS}", f"--testrt-trace={place.path}/trace",
                      *args])


def started(place):
    trace = place.path / "trace"
    return trace.exists() and "testrt start" in trace.read_text()


def test_options_of_the_command_line(place):
    done = agent(place, "-d", "1", "--testrt-mode", "on", "--testrt-level", "--testrt-flag",
                 "--trt-n=9")
    assert done.returncode == 0, done.stdout + done.stderr
    trace = (place.path / "trace").read_text()
    for line in "level 7", "flag 1", "count 9":
        assert f"testrt option {line}\n" in trace


@pytest.mark.parametrize("args", [["--testrt-count=101"], ["--testrt-count=x"],
                                  ["--testrt-mode=purple"], ["--testrt-bytes=2parsecs"]])
def test_options_that_are_wrong(place, args):
    done = agent(place, "-d", "1", *args)
    assert done.returncode == 2
    assert args[0].split("=")[0] in done.stdout + done.stderr


def test_the_help_shows_what_may_be_seen(place):
    text = agent(place, "--help").stdout
    assert "--testrt-count" in text and "--no-testrt" in text
    assert "--testrt-trace" not in text


def test_off_by_default(place):
    assert agent(place, "-d", "1").returncode == 0
    assert not started(place)


@pytest.mark.parametrize("args", [["--plugins=testrt"], ["--testrt-mode=on"]])
def test_switched_on(place, args):
    assert agent(place, "-d", "1", *args).returncode == 0
    assert started(place)


@pytest.mark.parametrize("args", [["--no-testrt"], ["--testrt-mode=disabled"]])
def test_named_and_switched_off(place, args):
    assert agent(place, "-d", "1", "--plugins=testrt", *args).returncode == 0
    assert not started(place)


def test_an_unknown_plugin(place):
    done = agent(place, "-d", "1", "--plugins=testrt,cobol")
    assert done.returncode == 2
    text = done.stdout + done.stderr
    assert "there is no plugin cobol" in text and "testrt" in text.split("there are: ")[1]


@pytest.fixture
def refused():
    """A folder in safe hands with a plugin that works and one of another ABI."""
    with tempfile.TemporaryDirectory(dir=BUILD, prefix="refused-") as folder:
        shutil.copy(BUILD / "tests/plugins/other_major.so", folder)
        yield folder


def header_of(place):
    return parse_col(place.out / "last_profile.col")[0]["gprofiler_core"]


def test_a_refused_plugin_costs_only_itself(place, refused):
    done = agent(place, "-d", "1", f"--plugin-dir={refused}", "--plugins=testrt,other_major")
    assert done.returncode == 0
    assert started(place)
    assert [line for line in done.stdout.splitlines() if "other_major.so" in line]
    told = header_of(place)["plugins_not_running"]
    assert len(told) == 1 and "other_major.so" in told[0]


def test_a_refused_plugin_may_be_fatal(place, refused):
    done = agent(place, "-d", "1", f"--plugin-dir={refused}", "--strict-plugins",
                 "--testrt-mode=on")
    assert done.returncode not in (0, -6)
    assert "other_major.so" in done.stdout + done.stderr
    assert not started(place)
    assert not list(place.out.glob("*.col"))

# SPDX-License-Identifier: Apache-2.0
"""The flame graph page in a browser; the checks are in tests/e2e/page/*.mjs.

The page comes from the program; most checks put a known profile into it.
"""
import collections
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys

import pytest

from conftest import parse_col, run_agent

CHECKS = pathlib.Path(__file__).with_name("page")
sys.path.insert(0, str(CHECKS))
import known  # noqa: E402

NAMES = [name for path in sorted(CHECKS.glob("*.mjs"))
         for name in re.findall(r'^ *check\(\s*["`](.*?)["`],', path.read_text(), re.M)]
EACH = {"${width}": ("390", "2560"),  # checks that are run for each of some
        "${damage}": ("depth", "names", "processes", "endless")}
JAVA = re.compile(r"_\[[ji01]\]$")


def all_names():
    for name in NAMES:
        values = [(mark, value) for mark in EACH if mark in name for value in EACH[mark]]
        yield from [name.replace(mark, value) for mark, value in values] or [name]


def real_profile(folder):
    """A profile of a machine that has something to do."""
    commands = [["sh", "-c", "while :; do ls -lR /usr/include; done"],
                [sys.executable, "-c", "while True: sorted(range(99999))"]]
    busy = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                             start_new_session=True) for command in commands]
    try:
        done = run_agent(["-d", "3", "-f", "199", "-o", str(folder / "out"), "--pid-file",
                          str(folder / "pid"), "--log-file", str(folder / "log")])
    finally:
        for process in busy:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "out/last_flamegraph.html", folder / "out/last_profile.col"


def function_totals(stacks):
    """name -> [self, total], from the lines of a .col file."""
    sums = collections.defaultdict(lambda: [0, 0])
    for fields, count in stacks:
        frames = fields[3:]
        if frames and frames[0].startswith("appid: "):
            frames = frames[1:]
        frames = [f.replace("|", ";") if JAVA.search(f) else f for f in frames]
        for name in set(frames):
            sums[name][1] += count
        if frames:
            sums[frames[-1]][0] += count
    return sums


def make_files(folder):
    html, col = real_profile(folder)
    page = html.read_text(encoding="utf-8")
    first, turns = known.data(known.KNOWN, "known"), known.data(known.TURNS, "turns")
    _, stacks = parse_col(col)
    texts = {
        "real.html": page,
        "known.html": known.put_data(page, first),
        "turns.html": known.put_data(page, turns),
        "two.html": known.put_data(page, first, turns),
        "pids.html": known.put_data(page, known.data(known.PIDS, "pids")),
        "large.html": known.put_data(page, known.data(known.large(), "large")),
        "empty.html": known.put_data(page, known.data([], "")),
        "real.col": col.read_text(encoding="utf-8"),
        "changed.col": known.col(known.CHANGED, "other"),
        "folded.txt": known.folded(known.KNOWN),
        "v1.col": '# {"application_metadata_enabled": true, "metadata": {}, "gprofiler_core": '
                  '{"profile_api_version": "v1"}}\n' + known.folded(known.KNOWN),
        "bad.col": "this is no profile\n",
        "expected.json": json.dumps(function_totals(stacks)),
        "facts.json": json.dumps({"samples": sum(count for _, count in stacks)}),
    }
    texts |= {f"{name}.htm": known.put_data(page, data) for name, data in known.damaged().items()}
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    paths = [folder / name for name in texts]
    return ({p.stem: str(p) for p in paths if p.suffix == ".html"},
            {p.stem: str(p) for p in paths if p.suffix != ".html"} |
            {"turns": str(folder / "turns.html")})


def find_tools(folder):
    """Node, Chromium and playwright-core, which comes from npm."""
    tools = {name: shutil.which(name) for name in ("node", "npm", "chromium")}
    for name, path in tools.items():
        if not path:
            pytest.skip(f"there is no {name}")
    if os.geteuid() != 0:
        pytest.skip("profiling the machine needs root")
    env = {**os.environ, "npm_config_cache": str(folder / "npm")}
    done = subprocess.run([tools["npm"], "install", "--no-audit", "--no-fund", "--ignore-scripts",
                           "--prefix", str(folder), "playwright-core"], env=env, cwd=folder,
                          capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        pytest.fail("npm install playwright-core: " + done.stderr[-500:])
    tools["playwright"] = str(folder / "node_modules/playwright-core/index.mjs")
    return tools


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """name -> what the check said; all run in one browser."""
    folder = tmp_path_factory.mktemp("page")
    tools = find_tools(folder)
    pages, files = make_files(folder)
    config = folder / "config.json"
    config.write_text(json.dumps({"playwright": tools["playwright"], "pages": pages,
                                  "files": files, "chromium": tools["chromium"]}))
    env = {**os.environ, "HOME": str(folder)}
    done = subprocess.run([tools["node"], str(CHECKS / "run.mjs"), str(config)], env=env,
                          capture_output=True, text=True, timeout=900)
    found = {}
    for line in done.stdout.splitlines():
        result = json.loads(line)
        assert result["name"] not in found, "two checks of one name"
        found[result["name"]] = result
    assert done.returncode == 0, done.stderr[-2000:]
    return found


@pytest.mark.parametrize("name", all_names())
def test_page(results, name):
    result = results[name]
    for note in result["notes"]:
        print(note)
    assert result["error"] is None, result["error"]


def test_no_check_is_forgotten(results):
    assert sorted(results) == sorted(all_names())

# SPDX-License-Identifier: Apache-2.0
"""Profiles as pprof, speedscope and Firefox Profiler files, and back."""
import collections
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import time

import pytest

import firefox_check
from conftest import PROGRAM, parse_col, run_agent

FORMATS = {"col": ".col", "html": ".html", "pprof": ".pb.gz", "speedscope": ".speedscope.json",
           "firefox": ".firefox.json"}
SPEEDSCOPE = "speedscope@1.25.0"
TOP = re.compile(r"\s*(\d+)\s+\S+%\s+\S+%\s+(\d+)\s+\S+%  (.*)")
RELEASE = pathlib.Path(os.environ.get("GPC_BUILD_RELEASE", "/nowhere"),
                       "core/program/gprofiler-core")

# A child's peak begins with that of who started it: somebody small.
MEASURE = """import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"""

WORK = r"""
#include <pthread.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>
static volatile uint64_t sink;
__attribute__((noinline)) void spin_one(void) { for (;;) sink = sink * 3 + 1; }
__attribute__((noinline)) void spin_two(void) { for (;;) sink = sink * 5 + 1; }
static void *one(void *arg) { pthread_setname_np(pthread_self(), "first;<b>"); spin_one(); return arg; }
static void *two(void *arg) { pthread_setname_np(pthread_self(), "second"); spin_two(); return arg; }
int main(void) {
	pthread_t a, b;
	pthread_create(&a, NULL, one, NULL);
	pthread_create(&b, NULL, two, NULL);
	pause();
}
"""

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


# ---- tools ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pprof(tmp_path_factory):
    """Runs the official pprof on a file; returns what it prints."""
    folder = tmp_path_factory.mktemp("pprof")
    tool = os.environ.get("GPC_PPROF")
    if not tool:
        if not shutil.which("go"):
            pytest.skip("needs go, for the pprof tool")
        env = {**os.environ, "HOME": str(folder), "GOFLAGS": "-modcacherw"}
        done = subprocess.run(["go", "tool", "-n", "pprof"], env=env, capture_output=True,
                              text=True, timeout=900, cwd=folder)
        if done.returncode:
            pytest.skip(f"the pprof tool cannot be had: {done.stderr.strip()[-200:]}")
        tool = done.stdout.strip()

    def run(*args):
        env = {**os.environ, "PPROF_TMPDIR": str(folder), "HOME": str(folder)}
        done = subprocess.run([tool, "-symbolize=none", *args], capture_output=True, text=True,
                              timeout=300, env=env)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture(scope="module")
def schema(tmp_path_factory):
    """Checks a document against speedscope's published schema."""
    jsonschema = pytest.importorskip("jsonschema", reason="needs python3-jsonschema")
    if not shutil.which("npm"):
        pytest.skip("needs npm, for speedscope's schema")
    folder = tmp_path_factory.mktemp("speedscope")
    done = subprocess.run(["npm", "pack", "--silent", "--cache", folder / "cache", SPEEDSCOPE],
                          cwd=folder, capture_output=True, text=True, timeout=300)
    if done.returncode:
        pytest.skip(f"speedscope's schema cannot be had: {done.stderr.strip()[-200:]}")
    subprocess.run(["tar", "xzf", done.stdout.split()[-1]], cwd=folder, check=True)
    text = next(folder.glob("package/dist/release/file-format-schema*.json")).read_text()
    return jsonschema.Draft7Validator(json.loads(text)).validate


def convert(source, target, *options, program=PROGRAM):
    return subprocess.run([program, "convert", str(source), str(target), *options],
                          capture_output=True, text=True, timeout=600)


def converted(source, target, *options):
    done = convert(source, target, *options)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return pathlib.Path(target)


# ---- what a .col file says ---------------------------------------------------------------


def rows(path):
    """(container, comm, appid, frames), count of each line."""
    header, lines = parse_col(path)
    for fields, count in lines:
        if header.get("application_metadata_enabled"):
            fields = fields[1:]
        container, comm, *frames = fields
        appid = frames.pop(0) if frames and frames[0].startswith("appid: ") else ""
        yield (container.strip(), comm, appid, tuple(frames)), count


def flat_and_cum(path):
    """Of each function, over all processes."""
    found = collections.defaultdict(lambda: [0, 0])
    for (_, _, _, frames), count in rows(path):
        found[frames[-1]][0] += count
        for name in set(frames):
            found[name][1] += count
    return {name: tuple(values) for name, values in found.items()}


def top(pprof, path, *options):
    text = pprof("-top", "-nodecount=0", "-nodefraction=0", "-edgefraction=0", "-trim=false",
                 "-sample_index=samples", *options, str(path))
    lines = [TOP.fullmatch(line) for line in text.split("\n")]
    return {m[3]: (int(m[1]), int(m[2])) for m in lines if m}


def speedscope_rows(document, event=0):
    names = [f["name"] for f in document["shared"]["frames"]]
    profile = document["profiles"][event]
    found = collections.Counter()
    for sample, weight in zip(profile["samples"], profile["weights"]):
        found[tuple(names[f] for f in sample)] += weight
    assert profile["endValue"] == sum(profile["weights"])
    return found


def check_speedscope(path, col, schema):
    document = json.loads(path.read_text())
    schema(document)
    wanted = collections.Counter()
    for (_, comm, appid, frames), count in rows(col):
        wanted[(comm, *([appid] if appid else []), *frames)] += count
    assert speedscope_rows(document) == wanted


def check_firefox(path, col):
    document = json.loads(path.read_text())
    firefox_check.check(document)
    wanted = collections.Counter()
    for (container, comm, _, frames), count in rows(col):
        wanted[f"{comm} ({container})" if container else comm, frames] += count
    assert firefox_check.stacks(document) == wanted
    return document


# ---- a real profile -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    """One session over the whole machine that wrote all formats, with two busy
    threads among the rest."""
    if os.geteuid() != 0:
        pytest.skip("needs root")
    folder = tmp_path_factory.mktemp("session")
    (folder / "work.c").write_text(WORK)
    subprocess.run(["gcc", "-O1", "-g0", "-fno-omit-frame-pointer", "-pthread",
                    "-Wl,--build-id=sha1", "-D_GNU_SOURCE", "-o", folder / "work",
                    folder / "work.c"], check=True)
    work = subprocess.Popen([folder / "work"])
    try:
        done = run_agent(["-d", "4", "-f", "199", "-o", str(folder / "out"), "--format",
                          "col,pprof,speedscope,firefox", "--log-file", str(folder / "log"),
                          "--pid-file", str(folder / "pid")], timeout=120)
    finally:
        work.kill()
        work.wait()
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def last(session, name):
    return session / "out" / f"last_profile{FORMATS[name]}"


@needs_root
def test_all_formats_of_one_session_are_there(session):
    out = session / "out"
    files = sorted(p.name for p in out.iterdir() if not p.is_symlink())
    stem = last(session, "col").resolve().stem
    assert files == sorted(stem + suffix for suffix in FORMATS.values())
    for name in ("col", "pprof", "speedscope", "firefox"):
        assert os.readlink(last(session, name)) == stem + FORMATS[name]


@needs_root
def test_details_leave_no_trace_in_col(session):
    """Threads and addresses make rows of their own; .col has the rows added up."""
    _, lines = parse_col(last(session, "col"))
    work = [fields for fields, _ in lines if "work" in fields]
    assert work and not any("second" in field or "first" in field
                            for fields in work for field in fields)
    spins = [tuple(fields) for fields in work if "spin_two" in fields]
    assert len(spins) == len(set(spins))


@needs_root
def test_pprof_agrees_with_col(session, pprof):
    assert top(pprof, last(session, "pprof")) == flat_and_cum(last(session, "col"))


@needs_root
def test_pprof_labels_threads(session, pprof):
    path = last(session, "pprof")
    by_thread = {name: top(pprof, path, f"-tagfocus=thread={name}")
                 for name in ("first.<b>", "second")}
    assert by_thread["first.<b>"]["spin_one"][0] > 20
    assert by_thread["second"]["spin_two"][0] > 20
    assert "spin_two" not in by_thread["first.<b>"] and "spin_one" not in by_thread["second"]
    total = sum(count for (_, comm, _, _), count in rows(last(session, "col")) if comm == "work")
    of_work = top(pprof, path, "-tagfocus=comm=^work$")
    assert sum(flat for flat, _ in of_work.values()) == total


@needs_root
def test_pprof_has_addresses_and_build_ids(session, pprof):
    raw = pprof("-raw", str(last(session, "pprof")))
    notes = subprocess.run(["readelf", "-n", session / "work"], capture_output=True, text=True,
                           check=True).stdout
    build_id = re.search(r"Build ID: (\w+)", notes)[1]
    symbols = subprocess.run(["nm", session / "work"], capture_output=True, text=True,
                             check=True).stdout
    address = int(re.search(r"(\w+) T spin_two", symbols)[1], 16)
    mapping = re.search(rf"^(\d+): \S+ .*/work {build_id}", raw, re.M)[1]
    assert re.search(rf"^ +\d+: 0x{address:x} M={mapping} spin_two\b", raw, re.M)
    # Where the kernel lies in memory is no one's business.
    assert not re.search(r"0xffff\w{12}", raw)


@needs_root
def test_pprof_counts_time(session, pprof):
    header, lines = parse_col(last(session, "col"))
    period = round(1e9 / header["sampling_frequency"])
    text = pprof("-top", "-sample_index=cpu", "-unit=ns", str(last(session, "pprof")))
    total = int(re.search(r"Total samples = (\d+)ns", text)[1])
    assert total == period * sum(count for _, count in lines)
    assert "Type: cpu" in pprof("-top", str(last(session, "pprof")))


@needs_root
def test_speedscope_agrees_with_col(session, schema):
    check_speedscope(last(session, "speedscope"), last(session, "col"), schema)


@needs_root
def test_firefox_agrees_with_col(session):
    document = check_firefox(last(session, "firefox"), last(session, "col"))
    names = {t["name"] for t in document["threads"] if t["processName"] == "work"}
    assert {"first;<b>", "second"} <= names
    work = next(lib for lib in document["libs"] if lib["name"] == "work")
    assert re.fullmatch(r"[0-9A-F]{32}0", work["breakpadId"]) and len(work["codeId"]) == 40


@needs_root
@pytest.mark.parametrize("source", ["col", "pprof", "speedscope"])
def test_a_real_profile_comes_back(session, tmp_path, source):
    back = converted(last(session, source), tmp_path / "back.col")
    header, lines = parse_col(last(session, "col"))
    assert parse_col(back)[0] == header
    if source == "col":
        assert back.read_bytes() == last(session, "col").read_bytes()
    assert sorted(parse_col(back)[1]) == sorted(lines)


# ---- a large one -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """100,000 distinct stacks in 300 processes, some of the same name."""
    rng = random.Random(7)
    names = [f"f{i}" + rng.choice(["", "", "_[k]", "_[p]", "_[j]", "(int, char const*)"])
             for i in range(5000)]
    header = {"application_metadata_enabled": True, "sampling_event": "cpu-time",
              "sampling_mode": "frequency", "sampling_frequency": 99,
              "metadata": {"current_time": "2026-02-03T04:05:06", "hostname": "ä"},
              "gprofiler_core": {"seconds": 60.0}}
    lines, seen = [], set()
    while len(seen) < 100_000:
        process = len(seen) * 300 // 100_000
        frames = ["main"] + [rng.choice(names) for _ in range(rng.randint(5, 40))]
        if (process, tuple(frames)) in seen:
            continue
        seen.add((process, tuple(frames)))
        appid = ";appid: python: a b.py" if process % 3 == 0 else ""
        lines.append(f"{process % 2};shop_{process % 9};app{process % 250}{appid};"
                     f"{';'.join(frames)} {rng.randint(1, 999)}")
    path = tmp_path_factory.mktemp("large") / "large.col"
    path.write_text("\n".join(["# " + json.dumps(header), *lines]))
    return path


@pytest.mark.parametrize("name", FORMATS)
def test_time_and_memory(large, tmp_path, name, capsys):
    """Figures for a person to look at: of the optimised program, where it is built."""
    program = RELEASE if os.access(RELEASE, os.X_OK) else PROGRAM
    begin = time.monotonic()
    done = subprocess.run([sys.executable, "-S", "-c", MEASURE, program, "convert", large,
                           tmp_path / f"x{FORMATS[name]}"], capture_output=True, text=True,
                          timeout=600)
    assert done.returncode == 0, done.stderr
    size = (tmp_path / f"x{FORMATS[name]}").stat().st_size
    with capsys.disabled():
        print(f"\n{name}: {time.monotonic() - begin:.2f} s, {int(done.stdout) / 1024:.0f} MB, "
              f"{size / 1e6:.1f} MB written")


@pytest.mark.parametrize("through", ["col", "pprof", "speedscope"])
def test_a_large_profile_comes_back(large, tmp_path, through):
    middle = converted(large, tmp_path / f"x{FORMATS[through]}")
    back = converted(middle, tmp_path / "back.col")
    if through == "speedscope":  # its header is written anew, with the same content
        assert parse_col(back) == parse_col(large)
    else:
        assert back.read_bytes() == large.read_bytes()


@pytest.mark.wide
def test_a_large_profile_in_pprof(large, tmp_path, pprof):
    path = converted(large, tmp_path / "x.pb.gz")
    assert top(pprof, path) == flat_and_cum(large)
    assert "Total samples" in pprof("-top", "-nodecount=1", str(path))


@pytest.mark.wide
def test_a_large_profile_in_speedscope(large, tmp_path, schema):
    check_speedscope(converted(large, tmp_path / "x.speedscope.json"), large, schema)


@pytest.mark.wide
def test_a_large_profile_in_firefox(large, tmp_path):
    check_firefox(converted(large, tmp_path / "x.firefox.json"), large)


# ---- convert on the command line ----------------------------------------------------------------


def test_pprof_of_go_itself(tmp_path, pprof, large):
    """pprof writes profiles too: what it makes of ours reads the same."""
    ours = converted(large, tmp_path / "x.pb.gz")
    theirs = tmp_path / "theirs.pb.gz"
    pprof("-proto", f"-output={theirs}", str(ours))
    assert flat_and_cum(converted(theirs, tmp_path / "back.col")) == flat_and_cum(large)


@pytest.mark.parametrize("text,name,error", [
    ("# {}\n;a;main 5\n;a;main x\n", "x.col", "line 3: expected a count after the last space"),
    ("# {}\n;a;main 5\nmain 5\n", "x.col", "line 3: expected 'container;process;frames count'"),
    ("# {oops}\n;a;main 5", "x.col", "line 1: byte 5: expected the header, a JSON object"),
    ('{"profiles": [}', "x.json", "line 1, column 15: expected JSON"),
    ('{"profiles": [], "shared": {}}', "x.json", "expected an array at shared.frames"),
    ("\x1f\x8b\x08\0", "x.pb.gz", "gzip: byte 4: expected more: the file is cut short"),
])
def test_errors_name_file_and_place(tmp_path, text, name, error):
    path = tmp_path / name
    path.write_bytes(text.encode("latin-1"))
    done = convert(path, tmp_path / "out.col")
    assert done.returncode == 1
    assert done.stderr.startswith(f"{path}: {error}"), done.stderr
    assert not (tmp_path / "out.col").exists()


@pytest.mark.parametrize("args,status,error", [
    (["x.col"], 2, "say 'convert IN OUT'"),
    (["x.col", "out.txt"], 2, "tells no format: expected .col"),
    (["x.col", "out.col", "--to", "svg"], 2, "--to is svg: expected col, html"),
    (["x.col", "out.col", "--from", "html"], 2, "html cannot be read; col, pprof and speedscope"),
    (["none.col", "out.col"], 1, "open none.col: No such file or directory"),
    (["x.col", "no/folder/out.col"], 1, "no/folder/out.col"),
])
def test_wrong_words(tmp_path, args, status, error):
    (tmp_path / "x.col").write_text("# {}\n;a;main 5")
    done = subprocess.run([PROGRAM, "convert", *args], cwd=tmp_path, capture_output=True,
                          text=True, timeout=60)
    assert done.returncode == status and error in done.stderr, done.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["x.col"]


def test_pipes(tmp_path):
    text = "# {}\n;a;main 5"
    done = subprocess.run([PROGRAM, "convert", "-", "-", "--to", "speedscope"], input=text,
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and json.loads(done.stdout)["profiles"][0]["weights"] == [5]
    (tmp_path / "in").write_text(done.stdout)
    assert converted(tmp_path / "in", tmp_path / "out", "--to", "col").read_text() == text

# SPDX-License-Identifier: Apache-2.0
"""Names of functions, whatever was done to the program: stripped with a debug file
somewhere, with symbols within itself, without any; Go; inlined functions and lines;
code made at run time. One session over all of them."""
import collections
import gzip
import os
import platform
import re
import shutil
import signal
import subprocess
import time

import pytest

import sessions
from conftest import parse_col, start_agent, wait_until
from sessions import SOURCES, Tools

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")

SECONDS = "1.2"  # of CPU: some 120 samples at 99 Hz
UNSHARE = ["unshare", "--mount", "--pid", "--fork", "--kill-child"]
WITH_DSO = re.compile(r"(.*) \((\S+)\)")


def objcopy(*args):
    subprocess.run(["objcopy", *map(str, args)], check=True)


def stripped(tools, name, *flags):
    """A program without .symtab, and the file with what was taken."""
    full = tools.build(f"{name}_full", "spin.c", "-g", *flags)
    debug, path = tools.folder / f"{name}.debug", tools.folder / name
    objcopy("--only-keep-debug", full, debug)
    objcopy("--strip-all", full, path)
    return path, debug


def build_id(path):
    notes = subprocess.run(["readelf", "-n", str(path)], capture_output=True, text=True).stdout
    return re.search(r"Build ID: (\w+)", notes)[1]


def by_build_id(tools):
    """In a root of its own, with the debug file where packages put it."""
    path, debug = stripped(tools, "by_id")
    root = tools.folder / "by_id_root"
    for file in sessions.libraries(path):
        (root / file[1:]).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, root / file[1:])
    number = build_id(path)
    place = root / f"usr/lib/debug/.build-id/{number[:2]}/{number[2:]}.debug"
    place.parent.mkdir(parents=True)
    debug.rename(place)
    shutil.copy(path, root / "by_id")
    return [*UNSHARE, "chroot", root, "/by_id", SECONDS]


def by_link(tools, name, folder, *flags):
    path, debug = stripped(tools, name, *flags)
    objcopy(f"--add-gnu-debuglink={debug}", path)
    (tools.folder / folder).mkdir(exist_ok=True)
    debug.rename(tools.folder / folder / debug.name)
    return [path, SECONDS]


def mini(tools):
    """As Fedora does: a small ELF file with .symtab, packed by xz, in a section."""
    path, _ = stripped(tools, "mini")
    part = tools.folder / "mini.part"
    objcopy("--only-keep-debug", tools.folder / "mini_full", part)
    objcopy("--strip-debug", "-R", ".comment", part)
    subprocess.run(["xz", "--force", str(part)], check=True)
    objcopy(f"--add-section=.gnu_debugdata={part}.xz", path)
    return [path, SECONDS]


def damaged_link(tools):
    """The debug file is another one than the link says, and there is no build-id."""
    command = by_link(tools, "damaged", ".", "-Wl,--build-id=none")
    with open(tools.folder / "damaged.debug", "ab") as debug:
        debug.write(b"more")
    return command


def packed(tools, kind):
    """Debug information packed anew; None where objcopy does not know the kind."""
    path = tools.folder / f"inlined_{kind}"
    done = subprocess.run(["objcopy", f"--compress-debug-sections={kind}",
                           tools.build("inlined", "inlined.cpp", "-g"), path],
                          capture_output=True, text=True)
    return [path, SECONDS] if done.returncode == 0 else None


def shared(tools):
    """dwz puts what two programs' debug information has in common into a third file."""
    paths = [tools.build(name, "inlined.cpp", "-g", "-gdwarf-4") for name in ("dwz", "dwz_2")]
    if not shutil.which("dwz"):
        return None
    common = tools.folder / "common.dwz"
    subprocess.run(["dwz", "-m", common, "-M", common, *paths], check=True)
    assert common.exists()
    names = subprocess.run(["readelf", "--debug-dump=info", common], capture_output=True, text=True)
    assert "turn_often" in names.stdout
    return [paths[0], SECONDS]


def go(tools, name, mode):
    tool = shutil.which("go", path="/usr/bin:/usr/local/go/bin")
    if not tool:
        return None
    env = {**os.environ, "HOME": str(tools.folder), "GO111MODULE": "off", "GOTOOLCHAIN": "local",
           "GOCACHE": str(tools.folder / "gocache"), "GOFLAGS": ""}
    subprocess.run([tool, "build", f"-buildmode={mode}", "-ldflags=-s -w", "-o",
                    tools.folder / name, SOURCES / "spin.go"], env=env, check=True, timeout=300)
    return [tools.folder / name, SECONDS]


def commands(tools):
    found = {
        "by_id": by_build_id(tools),
        "by_link": by_link(tools, "by_link", "."),
        "by_crc": by_link(tools, "by_crc", ".debug", "-Wl,--build-id=none"),
        "damaged": damaged_link(tools),
        "mini": mini(tools),
        "dynsym": [tools.build("dynsym", "spin.c", "-rdynamic", "-s"), SECONDS],
        "inlined": [tools.build("inlined", "inlined.cpp", "-g"), SECONDS],
        "inlined_z": [tools.build("inlined_z", "inlined.cpp", "-gdwarf-4", "-gz"), SECONDS],
        "inlined_zstd": packed(tools, "zstd"),
        "inlined_zlib-gnu": packed(tools, "zlib-gnu"),
        "split": [tools.build("split", "inlined.cpp", "-g", "-gsplit-dwarf"), SECONDS],
        "dwz": shared(tools),
        "rust_legacy": [tools.build("rust_legacy", "generic.rs", "-g"), SECONDS],
        "rust_v0": [tools.build("rust_v0", "generic.rs", "-g", "-C",
                                "symbol-mangling-version=v0"), SECONDS],
        "go_exe": go(tools, "go_exe", "exe"),
        "go_pie": go(tools, "go_pie", "pie"),
    }
    if platform.machine() == "x86_64":
        found["jitdump"] = [tools.build("jitdump", "jitdump.c"), tools.folder, SECONDS]
    return {name: command for name, command in found.items() if command}


def frames_of(path):
    """comm -> frame without its file -> (samples, files)."""
    found = collections.defaultdict(dict)
    header, rows = parse_col(path)
    for fields, count in rows:
        fields = fields[1:] if header.get("application_metadata_enabled") else fields
        for frame in set(fields[2:]):
            m = WITH_DSO.fullmatch(frame)
            name, file = (m[1], m[2]) if m else (frame, "")
            n, files = found[fields[1]].get(name, (0, frozenset()))
            found[fields[1]][name] = n + count, files | {file}
    return found


def profile(folder, commands, *options):
    """The folder of the profiles of a session over these programs."""
    out = folder / "out"
    running = []
    agent = start_agent(["-o", str(out), "--log-file", str(folder / "log"), "--pid-file",
                         str(folder / "pid"), "-f", "99", "-d", "3600", *options])
    try:
        wait_until((folder / "pid").exists)
        time.sleep(1)
        running = [subprocess.Popen([str(c) for c in command], stdout=subprocess.DEVNULL)
                   for command in commands]
        until = time.monotonic() + 100
        for p in running:
            assert p.wait(until - time.monotonic()) == 0, p.args
        agent.send_signal(signal.SIGINT)
        _, errors = agent.communicate(timeout=60)
    finally:
        for p in [*running, agent]:
            p.kill()
            p.wait()
    assert agent.returncode == 0, errors
    return out


class Stage:
    def __init__(self, folder):
        self.folder = folder
        self.commands = commands(Tools(folder))
        out = profile(folder, self.commands.values(), "--format", "col,pprof",
                      "--insert-dso-name")
        self.col = next(out.glob("profile_*.col"))
        self.pprof = next(out.glob("profile_*.pb.gz"))
        self.found = frames_of(self.col)

    def of(self, name):
        if name not in self.commands:
            pytest.skip(f"{name} cannot be built here")
        comm = name[:15]  # all that the kernel keeps
        assert self.found[comm], sorted(self.found)
        return self.found[comm]


@pytest.fixture(scope="module")
def stage(tmp_path_factory):
    return Stage(tmp_path_factory.mktemp("symbols"))


def samples(frames, name):
    return frames.get(name, (0,))[0]


def check_most(frames, *names):
    """The functions are there, each in nearly all of the samples."""
    most = max(n for n, _ in frames.values())
    for name in names:
        assert samples(frames, name) > 0.8 * most > 20, (name, frames)


@pytest.mark.parametrize("name", ["by_id", "by_link", "by_crc", "mini"])
def test_stripped_with_symbols_elsewhere(stage, name):
    check_most(stage.of(name), "hidden_work", "visible_caller", "main")


def test_debug_file_of_another_program(stage):
    frames = stage.of("damaged")
    assert "hidden_work" not in frames and "visible_caller" not in frames
    check_most(frames, f"({stage.folder}/damaged)")


def test_dynsym_and_names_of_files(stage):
    frames = stage.of("dynsym")
    check_most(frames, "visible_caller", "main")
    assert "hidden_work" not in frames
    assert frames["visible_caller"][1] == {f"{stage.folder}/dynsym"}
    assert frames["main"][1] == {f"{stage.folder}/dynsym"}


@pytest.mark.parametrize("name", ["inlined", "inlined_z", "inlined_zstd", "inlined_zlib-gnu",
                                  "dwz"])
def test_inlined_functions(stage, name):
    frames = stage.of(name)
    check_most(frames, "app::outer(unsigned long)",
               "void app::turn_often<unsigned long>(app::Ring<unsigned long>&, unsigned long)")
    assert samples(frames, "app::Ring<unsigned long>::turn(unsigned long)") > 0


def test_split_debug_information(stage):
    """The inlined functions are in a .dwo file, which is not read: names are those of
    .symtab."""
    frames = stage.of("split")
    check_most(frames, "app::outer(unsigned long)", "main")
    assert not any("turn_often" in f for f in frames), frames


@pytest.mark.parametrize("name", ["rust_legacy", "rust_v0"])
def test_rust(stage, name):
    frames = stage.of(name)
    steps = [f for f in frames if f.endswith("::step")]
    assert any(re.search(r"\bheavy\b", f) for f in frames), sorted(frames)
    assert steps and all("Lcg" in f for f in steps), sorted(frames)
    assert not any(f.startswith(("_ZN", "_R")) for f in frames)


@pytest.mark.parametrize("name", ["go_exe", "go_pie"])
def test_go(stage, name):
    frames = stage.of(name)
    check_most(frames, "runtime.main")
    # A function without a frame hides its caller from frame pointers.
    assert samples(frames, "main.main") > 0.3 * samples(frames, "runtime.main")
    assert samples(frames, "main.(*ring[...]).turn") > 0, sorted(frames)
    assert samples(frames, "main.main.func1") > 0, sorted(frames)
    assert 0 < samples(frames, "main.step") <= samples(frames, "main.main.func1")


@pytest.mark.parametrize("with_dso", [False, True])
def test_names_as_the_linker_has_them(stage, tmp_path, with_dso):
    """--no-demangle, with and without --insert-dso-name."""
    names = ["inlined", "rust_v0"]
    out = profile(tmp_path, [stage.commands[name] for name in names], "--no-demangle",
                  *["--insert-dso-name"] * with_dso)
    found = frames_of(next(out.glob("profile_*.col")))
    check_most(found["inlined"], "_ZN3app5outerEm", "main")
    file = f"{stage.folder}/inlined" if with_dso else ""
    assert found["inlined"]["_ZN3app5outerEm"][1] == {file}
    heavy = [f for f in found["rust_v0"] if re.fullmatch(r"_R\w*5heavy\w*", f)]
    assert heavy, sorted(found["rust_v0"])


def test_jitdump(stage):
    frames = stage.of("jitdump")
    first, second = samples(frames, "jitted::first"), samples(frames, "jitted::second")
    assert second > 20 and 1.3 < first / second < 3, frames
    assert samples(frames, "[unknown]") < 10, frames


# ---- lines ------------------------------------------------------------------------------


def fields_of(data):
    """(number, value) of a protobuf message."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        else:
            assert key & 7 == 2, key
            n = varint()
            yield key >> 3, data[at:at + n]
            at += n


@pytest.fixture(scope="module")
def lines(stage):
    """function -> {(file, line)} of the pprof file."""
    strings, functions, found = [], {}, collections.defaultdict(set)
    locations = []
    with gzip.open(stage.pprof) as f:
        for number, value in fields_of(f.read()):
            if number == 6:
                strings.append(value.decode())
            elif number == 5:
                m = dict(fields_of(value))
                functions[m[1]] = (m.get(2, 0), m.get(4, 0))
            elif number == 4:
                locations += [dict(fields_of(v)) for n, v in fields_of(value) if n == 4]
    for line in locations:
        name, file = functions[line[1]]
        m = WITH_DSO.fullmatch(strings[name])
        found[m[1] if m else strings[name]].add((strings[file], line.get(2, 0)))
    return found


def line_of(source, text):
    for number, line in enumerate((SOURCES / source).read_text().split("\n"), 1):
        if text in line:
            return number
    raise AssertionError(text)


def test_lines_of_inlined_functions(lines):
    file = str(SOURCES / "inlined.cpp")
    assert lines["app::Ring<unsigned long>::turn(unsigned long)"] == {
        (file, line_of("inlined.cpp", "the line of the innermost"))}
    assert (file, line_of("inlined.cpp", "turn_often(ring, n);")) in lines[
        "app::outer(unsigned long)"]


def test_lines_of_a_separate_debug_file(lines):
    file = str(SOURCES / "spin.c")
    assert (file, line_of("spin.c", "return hidden_work(x) + 1")) in lines["visible_caller"]


def test_lines_of_go(stage, lines):
    stage.of("go_exe")
    turn = lines["main.(*ring[...]).turn"]
    assert {file for file, _ in turn} == {str(SOURCES / "spin.go")}
    assert {n for _, n in turn} <= {line_of("spin.go", "turn(n int) {"),
                                    line_of("spin.go", "for i := 0; i < n; i++ {"),
                                    line_of("spin.go", "r.sum*31 + T(i)")}


def test_lines_of_jitdump(stage, lines):
    stage.of("jitdump")
    assert ("script.jit", 70) in lines["jitted::first"]

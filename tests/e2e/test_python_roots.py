# SPDX-License-Identifier: Apache-2.0
"""Python in containers' stead: two roots with different libpythons at the same path, each
with mount and pid namespaces of its own and a user that is not root. Both interpreters are
in a program of another name, which has loaded them."""
import os
import pathlib
import re
import shutil

import pytest

from conftest import ROOT
from sessions import Session, Tools, Workload, total

PYENV = pathlib.Path(os.environ.get("PYENV_ROOT", pathlib.Path.home() / ".pyenv")) / "versions"
SOURCES = ROOT / "tests/workloads/python"
SECONDS = 1.5  # of CPU
USER = "12345"
PLACE = "opt/python"
# name: (minor version, C functions that sort)
ROOTS = {"red": ("3.8", "list_sort_impl"), "blue": ("3.12", "list_sort_impl")}
FRAME = re.compile(r"(\S+) \((.+?)(?::(\d+))?(?: \[(.*)\])?\)_\[p\]")


def installed(minor):
    """An installation with --enable-shared."""
    found = sorted(PYENV.glob(f"{minor}.*/lib/libpython{minor}*.so.1.0"))
    return found[-1].parents[1] if found else None


pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root"),
    pytest.mark.skipif(not all(installed(minor) for minor, _ in ROOTS.values()),
                       reason="there are no pyenv builds of Python 3.8 and 3.12 to copy")]


def make_root(folder, name, tools):
    """A root, and the command that runs the workload in it."""
    minor, _ = ROOTS[name]
    version = installed(minor)
    root = folder / name
    for sub in ("usr", "lib", "lib64", "proc", "tmp", f"{PLACE}/lib/python{minor}", "srv"):
        (root / sub).mkdir(parents=True)
    # The same path in both, and the same name, whatever is in it.
    library = next(version.glob(f"lib/libpython{minor}*.so.1.0"))
    shutil.copy(library, root / PLACE / "lib/libpython3.so.1.0")
    shutil.copy(tools.build("host", "python/host.c", "-ldl"), root / "srv/host")
    shutil.copy(SOURCES / "rooted.py", root / "srv/rooted.py")
    for path in (root, *root.glob("srv/*"), root / PLACE / "lib/libpython3.so.1.0"):
        path.chmod(0o755)
    script = " && ".join([
        *(f"mount --bind -o ro /{sub} {root}/{sub}" for sub in ("usr", "lib", "lib64")),
        f"mount --bind {version}/lib/python{minor} {root}/{PLACE}/lib/python{minor}",
        f"mount -t proc proc {root}/proc",
        f"exec chroot --userspec={USER}:{USER} {root} /usr/bin/env PYTHONHOME=/{PLACE} "
        f"/srv/host /{PLACE}/lib/libpython3.so.1.0 /srv/rooted.py {name} {SECONDS}"])
    return ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", script]


def facts_of(pid):
    """What makes a container of a process."""
    proc = pathlib.Path(f"/proc/{pid}")
    status = dict(line.split(":\t", 1) for line in (proc / "status").read_text().splitlines()
                  if ":\t" in line)
    library = (proc / f"root/{PLACE}/lib/libpython3.so.1.0").stat()
    return {"pid": pid, "library": (library.st_dev, library.st_ino, library.st_size),
            "uid": status["Uid"].split()[0], "ns_pid": int(status["NSpid"].split()[-1]),
            "ns": os.readlink(proc / "ns/mnt")}


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """name -> (facts, rows)"""
    folder = tmp_path_factory.mktemp("roots")
    for path in (folder, *folder.parents[:3]):
        path.chmod(path.stat().st_mode | 0o055)
    tools, works = Tools(folder), {}
    try:
        for name in ROOTS:
            works[name] = Workload(name, make_root(folder, name, tools), folder)
        facts = {name: facts_of(w.wait()) for name, w in works.items()}
        session = Session(tools, "plugins=python,perf", "profiling-frequency=99",
                          "profiling-duration=3600")
        try:
            for w in works.values():
                w.go()
            for w in works.values():
                assert w.process.wait(120) == 0
            rows = session.end()[0]
        finally:
            session.kill()
        yield {name: (f, [r for r in rows if r.pid == f["pid"]]) for name, f in facts.items()}
    finally:
        for w in works.values():
            w.kill()


@pytest.mark.parametrize("name", ROOTS)
def test_each_has_its_own(seen, name):
    _, rows = seen[name]
    mine = [r for r in rows if any(f.startswith(f"sorts_{name} (/srv/{name}.py") for f in r.frames)]
    assert total(rows) >= 50, rows
    assert total(mine) >= 0.8 * total(rows), rows[:5]
    for other in set(ROOTS) - {name}:
        assert not any(f"sorts_{other}" in f for r in rows for f in r.frames)


@pytest.mark.parametrize("name", ROOTS)
def test_rooted_and_whole(seen, name):
    _, rows = seen[name]
    works = [r for r in rows if any(f.startswith("sorts_") for f in r.frames)]
    want = ["<module>", f"{name}_begins", f"sorts_{name}"]
    found = [([m[1] for m in map(FRAME.fullmatch, r.frames) if m], r.count) for r in works]
    assert sum(n for names, n in found if names == want) >= 0.99 * total(works), found[:5]


@pytest.mark.parametrize("name", ROOTS)
def test_symbols_are_of_its_own_library(seen, name):
    """Native functions below Python's: those of the other file would be elsewhere."""
    _, rows = seen[name]
    below = [r for r in rows if r.frames and any(f.startswith(f"sorts_{name} (") for f in r.frames)
             and ROOTS[name][1] in r.frames]
    assert total(below) >= 0.7 * total(rows), rows[:5]
    wrong = [r for r in below if r.frames.index(ROOTS[name][1]) <
             max(i for i, f in enumerate(r.frames) if f.startswith("sorts_"))]
    assert not wrong


def test_they_are_containers_in_all_but_name(seen):
    """Else nothing was tested."""
    facts = [facts for facts, _ in seen.values()]
    assert len({f["library"] for f in facts}) == len(ROOTS), facts
    assert all(f["uid"] == USER and f["ns_pid"] != f["pid"] for f in facts), facts
    assert len({f["ns"] for f in facts} | {os.readlink("/proc/self/ns/mnt")}) == len(ROOTS) + 1

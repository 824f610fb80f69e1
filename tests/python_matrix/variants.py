#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ways to have a Python in a process, all under one session of the profiler, by hand:

    tests/python_matrix/variants.py SECONDS FOLDER [NAME=COMMAND...]

Builds what it can in FOLDER and tells what was missing: C programs with Python in them, static
and shared, stripped of symbols and of all names; virtual environments; PyInstaller; uWSGI; the
layout of conda's environments; greenlets and gevent; interpreters beside the main one. FOLDER
may hold virtual environments called env-VERSION with greenlet, gevent, pyinstaller and uwsgi in
them. NAME=COMMAND: more interpreters, as for record.py, each of which runs all that it has the
modules for. Prints a table of SECONDS of CPU of each; exits with 1 where a figure is wrong."""
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/e2e"))
from sessions import Session, Tools, Workload, total  # noqa: E402

SOURCES = ROOT / "tests/workloads/python"
PYENV = pathlib.Path(os.environ.get("PYENV_ROOT", pathlib.Path.home() / ".pyenv")) / "versions"
FRAME = re.compile(r"(.+?) \((.+?)(?::(\d+))?(?: \[(.*)\])?\)_\[p\]")
NOT_JOINED = "[runtime stack, not joined]"
# Where stacks begin: the script, a thread's, a greenlet's first function.
ROOTS = {"<module>", "_bootstrap", "<lambda>", "_run_code", "heavy", "light", "run"}
LOOP = "_PyEval_EvalFrameDefault"


def run(*command, **more):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **more)
    if done.returncode:
        raise RuntimeError(f"{command[0]}: {(done.stderr or done.stdout).strip()[-300:]}")
    return done.stdout


class Variants:
    def __init__(self, seconds, folder):
        self.seconds, self.folder, self.list = str(seconds), folder, []
        self.tools = Tools(folder)

    def add(self, name, make):
        """make: gives a command, or fails."""
        try:
            command, env = make(), None
            if isinstance(command, tuple):
                command, env = command
            self.list.append((name, [str(c) for c in command],
                              {**os.environ, **env} if env else None))
        except (RuntimeError, StopIteration, OSError) as e:
            print(f"{name}: left out: {e or type(e).__name__}")

    def script(self, name="split.py"):
        return [SOURCES / name, self.seconds]

    # ---- programs with Python in them ------------------------------------------------------

    def library(self, minor):
        return next(iter(sorted(PYENV.glob(f"{minor}.*/lib/libpython{minor}*.so.1.0"))))

    def in_host(self, minor, *strip):
        library = self.library(minor)
        copy = self.folder / f"{minor}{''.join(strip)}" / library.name
        copy.parent.mkdir(exist_ok=True)
        shutil.copy(library, copy)
        copy.chmod(0o755)
        if strip:
            run("strip", *strip, copy)
        host = self.tools.build("host", "python/host.c", "-ldl")
        return [host, copy, *self.script()], {"PYTHONHOME": str(library.parents[1])}

    def linked(self, name, *flags):
        """Debian's static library in a program."""
        config = next(pathlib.Path("/usr/lib").glob("python3.*/config-*/libpython3.*.a"))
        minor = config.name[len("libpython"):-len(".a")]
        path = self.folder / name
        run("gcc", "-O1", "-DLINKED", "-o", path, SOURCES / "host.c", config, "-lm", "-lz",
            "-lexpat", "-ldl", *flags)
        return [path, *self.script()], {"PYTHONHOME": "/usr", "PYTHONPATH": f"/usr/lib/python{minor}"}

    # ---- ways to install ----------------------------------------------------------------------

    def conda(self):
        """bin/python3.x is static, and a library that nobody loads is beside it."""
        prefix = self.folder / "conda/envs/shop"
        python = pathlib.Path("/usr/bin/python3").resolve()
        for sub in ("bin", "lib", "conda-meta"):
            (prefix / sub).mkdir(parents=True, exist_ok=True)
        shutil.copy(python, prefix / "bin" / python.name)
        for name, of in (("bin/python", python.name), (f"lib/{python.name}", f"/usr/lib/{python.name}"),
                         (f"lib/lib{python.name}.so.1.0",
                          f"/usr/lib/x86_64-linux-gnu/lib{python.name}.so.1.0")):
            if not os.path.lexists(prefix / name):
                (prefix / name).symlink_to(of)
        return [prefix / "bin/python", *self.script()]

    def venv(self, minor):
        path = self.folder / f"venv-{minor}"
        if not path.exists():
            run(sorted(PYENV.glob(f"{minor}.*/bin/python{minor}"))[-1], "-m", "venv",
                "--without-pip", path)
        return [path / "bin/python", *self.script()]

    def env(self, minor, tool):
        path = self.folder / f"env-{minor}/bin" / tool
        if not path.exists():
            raise RuntimeError(f"{path} is not there")
        return path

    def pyinstaller(self, minor, kind):
        dist = self.folder / f"dist-{minor}{kind}"
        if not dist.exists():
            run(self.env(minor, "pyinstaller"), kind, "--distpath", dist, "--workpath",
                self.folder / f"work-{minor}{kind}", "--specpath", self.folder, "-y",
                SOURCES / "split.py", cwd=self.folder)
        place = dist / "split"
        return [place / "split" if place.is_dir() else place, self.seconds]

    def uwsgi(self, minor):
        return [self.env(minor, "uwsgi"), "--need-app=0", "--honour-stdin", "--pyargv",
                self.seconds, "--pyrun", SOURCES / "split.py"]

    # ---- one interpreter -----------------------------------------------------------------------

    def modules(self, command, *names):
        for name in names:
            run(*command, "-c", f"import {name}")

    def interpreter(self, name, command):
        root = pathlib.Path(command[1]) if command[0] == "chroot" else pathlib.Path("/")
        inside = SOURCES
        if root != pathlib.Path("/"):
            inside = pathlib.Path(tempfile.mkdtemp(dir=root / "tmp"))
            for source in SOURCES.glob("*.py"):
                shutil.copy(source, inside)
            inside = pathlib.Path("/") / inside.relative_to(root)
        self.add(f"{name} threads", lambda: [*command, inside / "two_threads.py", self.seconds])

        def with_module(module, *script):
            self.modules(command, module)
            return [*command, inside / script[0], self.seconds, *script[1:]]
        self.add(f"{name} greenlet", lambda: with_module("greenlet", "greenlets.py"))
        self.add(f"{name} gevent", lambda: with_module("gevent", "greenlets.py", "gevent"))
        of = "_interpreters" if "3.13" in name or "3.14" in name or "3.15" in name \
            else "_xxsubinterpreters"
        self.add(f"{name} interpreters", lambda: with_module(of, "interpreters.py"))
        if of == "_interpreters" or "3.12" in name:
            self.add(f"{name} interpreters, one GIL",
                     lambda: with_module(of, "interpreters.py", "legacy"))

    def all(self, more):
        for minor in ("2.7", "3.8", "3.10", "3.12"):
            self.add(f"{minor} in a C program", lambda m=minor: self.in_host(m))
            self.add(f"{minor}, .dynsym only", lambda m=minor: self.in_host(m, "--strip-all"))
        self.add("static in a C program", lambda: self.linked("linked", "-rdynamic"))
        self.add("static, stripped, .dynsym", lambda: self.linked("stripped", "-rdynamic", "-s"))
        self.add("static, stripped, no names", lambda: self.linked("nameless", "-s"))
        self.add("as conda lays it out", self.conda)
        self.add("virtual environment", lambda: self.venv("3.12"))
        for minor in ("3.8", "3.12"):
            self.add(f"{minor} PyInstaller folder", lambda m=minor: self.pyinstaller(m, "--onedir"))
            self.add(f"{minor} PyInstaller file", lambda m=minor: self.pyinstaller(m, "--onefile"))
        self.add("3.12 uWSGI", lambda: self.uwsgi("3.12"))
        for env in sorted(self.folder.glob("env-*")):
            self.interpreter(env.name[4:], [str(env / "bin/python")])
        for what in more:
            name, _, command = what.partition("=")
            self.add(name, lambda c=command.split(): self.plain(c))
            self.interpreter(name, command.split())

    def plain(self, command):
        if command[0] == "chroot":
            folder = pathlib.Path(tempfile.mkdtemp(dir=pathlib.Path(command[1]) / "tmp"))
            shutil.copy(SOURCES / "split.py", folder)
            return [*command, f"/tmp/{folder.name}/split.py", self.seconds]
        return [*command, *self.script()]


def functions(row):
    return [m[1].rsplit(".", 1)[-1] for m in map(FRAME.fullmatch, row.frames) if m]


def line_of(name, workload, rows):
    python = [r for r in rows if functions(r)]
    heavy, light = (total(r for r in python if f in functions(r)) for f in ("heavy", "light"))
    works, seen = heavy + light, total(python)
    true = workload.total("heavy_ns") / max(1, workload.total("heavy_ns") + workload.total("light_ns"))
    share = heavy / max(1, works)
    bound = max(0.03, 3.3 * math.sqrt(true * (1 - true) / max(1, works)))
    rooted = total(r for r in python if functions(r)[0] in ROOTS) / max(1, seen)
    alone = total(r for r in python if NOT_JOINED in r.frames) / max(1, seen)
    whole = total(r for r in python if not FRAME.fullmatch(r.frames[0])
                  and NOT_JOINED not in r.frames) / max(1, seen)
    loops = total(r for r in python if LOOP in r.frames and NOT_JOINED not in r.frames)
    is_good = abs(share - true) <= bound and rooted >= 0.99 and works >= 0.8 * total(rows) > 0
    print(f"| {name} | {total(rows)} | {share:.1%} | {true:.1%} | {rooted:.1%} | "
          f"{seen / max(1, total(rows)):.1%} | {1 - alone:.1%} | {whole:.1%} | "
          f"{loops / max(1, seen):.1%} |"
          + ("" if is_good else " <--"))
    return is_good


def main():
    folder = pathlib.Path(sys.argv[2]).resolve()
    v = Variants(sys.argv[1], folder)
    v.all(sys.argv[3:])
    works, session = [], None
    try:
        for i, (name, command, env) in enumerate(v.list):
            try:
                works.append((name, Workload(f"variant{i}", command, folder, env)))
            except OSError as e:
                print(f"{name}: left out: {e}")
        time.sleep(5)
        for name, w in works[:]:
            try:
                w.pid_at_work = w.wait()
            except (AssertionError, OSError) as e:
                print(f"{name}: left out: it does not wait: {e}")
                w.kill()
                works.remove((name, w))
        session = Session(v.tools, "plugins=python,perf", "profiling-frequency=99",
                          "profiling-duration=3600")
        for _, w in works:
            w.go()
        until = time.monotonic() + 900
        for name, w in works[:]:
            try:
                w.end(until)
            except AssertionError as e:
                print(f"{name}: left out: {e}")
                works.remove((name, w))
        rows = session.end()[0]
    finally:
        if session:
            session.kill()
        for _, w in works:
            w.kill()
    print("| what | samples | heavy found | heavy true | rooted | with Python | joined "
          "| whole | loops left |\n|---|---|---|---|---|---|---|---|---|")
    good = [line_of(name, w, [r for r in rows if r.pid == w.pid_at_work]) for name, w in works]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())

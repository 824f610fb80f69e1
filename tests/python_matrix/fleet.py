# SPDX-License-Identifier: Apache-2.0
"""What a host of services does: gunicorn with 16 forked workers under a little load, pools of
processes that come and go, a program that becomes another by exec, and programs that live
300 ms. For soak.py and tests/e2e/test_python_fleet.py."""
import http.client
import os
import pathlib
import shutil
import socket
import subprocess
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = ROOT / "tests/workloads/python"
PYTHON = "/usr/bin/python3"
WORKERS = 16


def gunicorn():
    """The command; GUNICORN in the environment names another. None: it is not there."""
    given = os.environ.get("GUNICORN")
    if given:
        return given.split()
    have = subprocess.run([PYTHON, "-c", "import gunicorn"], capture_output=True, check=False)
    return [PYTHON, "-m", "gunicorn"] if have.returncode == 0 else None


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Shop:
    """gunicorn on 127.0.0.1, with a client that sends rate requests of ms each a second."""

    def __init__(self, folder, rate, ms):
        self.port, self.rate, self.ms = free_port(), rate, ms
        self.served, self.failed, self.is_over = 0, 0, False
        with open(folder / "gunicorn.log", "wb") as log:
            self.process = subprocess.Popen(
                [*gunicorn(), "--workers", str(WORKERS), "--bind", f"127.0.0.1:{self.port}",
                 "--chdir", str(SOURCES), "shop:application"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
        self.thread = threading.Thread(target=self.load)

    def ask(self):
        try:
            client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
            client.request("GET", f"/{self.ms}")
            self.served += client.getresponse().status == 200
            client.close()
        except OSError:
            self.failed += 1

    def wait(self):
        until = time.monotonic() + 30
        while not self.served:
            assert self.process.poll() is None and time.monotonic() < until, "gunicorn"
            self.ask()
            time.sleep(0.1)
        self.failed = 0

    def load(self):
        while not self.is_over:
            self.ask()
            time.sleep(1 / self.rate)

    def end(self):
        self.is_over = True
        if self.thread.is_alive():
            self.thread.join()
        self.process.terminate()
        self.process.wait(30)


class Repeat:
    """A command again and again, every seconds, as a program called name."""

    def __init__(self, folder, name, command, every):
        self.link = folder / name
        if not self.link.exists():
            self.link.symlink_to(shutil.which(PYTHON))
        self.command, self.every = [str(c) for c in command], every
        self.runs, self.failed, self.is_over = 0, 0, threading.Event()
        self.thread = threading.Thread(target=self.loop)
        self.thread.start()

    def once(self):
        done = subprocess.run([self.link, *self.command], input=b"\n", check=False,
                              stdout=subprocess.DEVNULL)
        self.runs += 1
        self.failed += done.returncode != 0

    def loop(self):
        while not self.is_over.is_set():
            self.once()
            self.is_over.wait(self.every)

    def end(self):
        self.is_over.set()
        self.thread.join()

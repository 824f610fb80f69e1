# SPDX-License-Identifier: Apache-2.0
"""Containers without an engine: a Docker daemon that answers as Docker does, the
folders of containerd and CRI-O, and real processes in real control groups."""
import http.server
import json
import os
import pathlib
import re
import shutil
import signal
import socketserver
import subprocess
import threading
import time

import pytest


def hex_id(seed):
    return f"{seed:064x}"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def address_string(self):
        return "unix"

    def send(self, status, body):
        """Lists come in chunks, the rest whole: as Docker does it."""
        data = json.dumps(body).encode() + b"\n"
        self.send_response(status)
        self.send_header("Api-Version", "1.43")
        self.send_header("Content-Type", "application/json")
        if isinstance(body, list):
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for at in range(0, len(data), 100):
                piece = data[at:at + 100]
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.wfile.write(b"0\r\n\r\n")
        else:
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    def do_GET(self):
        docker = self.server.docker
        docker.requests.append(self.path)
        docker.gate.wait(60)
        if docker.mode == "broken":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n[{\"Id\":")
            self.close_connection = True
            return
        if self.path == "/containers/json":
            self.send(200, [docker.summary(i) for i in docker.containers])
            return
        match = re.fullmatch(r"/containers/([0-9a-f]{64})/json", self.path)
        if match and match[1] in docker.containers:
            self.send(200, docker.details(match[1]))
        else:
            self.send(404, {"message": "No such container"})


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass  # the client went away


class Docker:
    """mode: "well", "hangs", "broken"."""

    def __init__(self, root, mode="well"):
        self.containers = {}  # id: (name, labels)
        self.requests = []
        self.mode = mode
        self.gate = threading.Event()
        if mode != "hangs":
            self.gate.set()
        path = root / "run/docker.sock"
        path.parent.mkdir(parents=True, exist_ok=True)
        self.server = Server(str(path), Handler)
        self.server.docker = self
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,))
        self.thread.start()

    def summary(self, ident):
        name, labels = self.containers[ident]
        return {"Id": ident, "Names": [f"/other/{name}", f"/{name}"], "Image": "nginx",
                "Command": "nginx", "Labels": labels, "State": "running", "Mounts": []}

    def details(self, ident):
        name, labels = self.containers[ident]
        return {"Id": ident, "Name": f"/{name}", "State": {"Running": True},
                "Config": {"Hostname": ident[:12], "Labels": labels}}

    def stop(self):
        self.gate.set()
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


def write_bundle(root, ident, annotations, crio=False):
    folder = (root / "run/containers/storage/overlay-containers" / ident / "userdata" if crio else
              root / "run/containerd/io.containerd.runtime.v2.task/k8s.io" / ident)
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(
        {"ociVersion": "1.1.0", "process": {"args": ["/app"]}, "annotations": annotations}))
    return folder


def hierarchy(kind):
    """Where a hierarchy of control groups is mounted: "cgroup2", or a v1 controller."""
    for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines():
        left, right = line.split(" - ")
        fs, _, options = right.split(" ", 2)
        if fs == kind or (fs == "cgroup" and kind in options.split(",")):
            return pathlib.Path(left.split()[4])
    return None


class Group:
    """A control group with processes that are kept busy."""

    def __init__(self, program, kind, path):
        mount = hierarchy(kind)
        if not mount:
            pytest.skip(f"no hierarchy {kind} of control groups is mounted")
        self.program = program
        self.top = mount / f"gpc-test-{os.getpid()}-{time.monotonic_ns()}"
        self.path = self.top / path
        self.processes = []
        try:
            self.path.mkdir(parents=True)
        except OSError as why:
            pytest.skip(f"control groups cannot be made: {why}")

    def start(self, script="while :; do :; done"):
        procs = self.path / "cgroup.procs"
        process = subprocess.Popen(
            ["/bin/sh", "-c", f'echo $$ > "{procs}" && exec "$0" -c "$1"', self.program, script],
            stdin=subprocess.DEVNULL, start_new_session=True)
        self.processes.append(process)
        return process

    def kill(self):
        for process in self.processes:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
        self.processes = []

    def remove(self):
        self.kill()
        folders = [self.top, *(p for p in self.top.rglob("*") if p.is_dir())]
        for folder in reversed(folders):
            for _ in range(100):  # the kernel takes a moment after the last process
                try:
                    folder.rmdir()
                    break
                except FileNotFoundError:
                    break
                except OSError:
                    time.sleep(0.05)


class Machine:
    """A root for the runtimes, and what a test started."""

    def __init__(self, folder):
        self.root = folder
        self.program = str(folder / "gpcbusy")
        shutil.copy("/bin/sh", self.program)
        self.options = ["--container-root", str(folder)]
        self.things = []

    def docker(self, **more):
        docker = Docker(self.root, **more)
        self.things.append(docker.stop)
        return docker

    def group(self, path, kind="cgroup2"):
        group = Group(self.program, kind, path)
        self.things.append(group.remove)
        return group

    def end(self):
        for stop in reversed(self.things):
            stop()

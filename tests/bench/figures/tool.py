# SPDX-License-Identifier: Apache-2.0
"""What the benchmarks share: workloads, the agent, and reading what they used."""
import ctypes
import json
import os
import pathlib
import signal
import statistics
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
LOAD = ROOT / "tests/bench/load"
LOCK = "@@gprofiler_lock"
CFLAGS = ["-std=gnu11", "-D_GNU_SOURCE", "-O2", "-g", "-Wall", "-Wextra", "-Werror",
          "-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer",
          "-fno-optimize-sibling-calls", "-fno-inline"]
if os.uname().machine not in ("x86_64", "aarch64"):
    CFLAGS.remove("-mno-omit-leaf-frame-pointer")
PR_SET_PDEATHSIG = 1


class Figures:
    """A table, and whether all targets in it were met."""

    def __init__(self, name):
        self.name, self.rows, self.notes, self.ok = name, [], [], True

    def add(self, what, value, target="", met=None):
        """met None: a figure without a target."""
        verdict = "" if met is None else "ok" if met else "MISSED"
        self.ok = self.ok and met is not False
        self.rows.append((what, value, target, verdict))

    def note(self, text):
        self.notes.append(text)

    def show(self):
        print(f"\n== {self.name}")
        width = [max([len(row[i]) for row in self.rows] + [0]) for i in range(3)]
        for what, value, target, verdict in self.rows:
            print(f"{what:<{width[0]}}  {value:>{width[1]}}  {target:<{width[2]}}  "
                  f"{verdict}".rstrip())
        for text in self.notes:
            print(f"   {text}")
        print(end="", flush=True)


def end_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def go_first():
    """Other work on the machine has to wait, and so does not count."""
    end_with_parent()
    os.nice(-20)
    os.setsid()
    # Where sessions share the CPUs evenly a process's own priority does little.
    if os.path.exists("/proc/self/autogroup"):
        pathlib.Path("/proc/self/autogroup").write_text("-20")


def beside_hz(hz):
    """The rate of a loop that is measured at the same time. At one rate the same of the two
    would always come when the other has just warmed the caches, or always the other."""
    return max(1, hz * 97 // 99)


def cpu_ns(pid):
    """CPU time of a process, all its threads, those that have ended too."""
    return time.clock_gettime_ns((~pid << 3) | 2)


def rusage_s(usage):
    return usage.ru_utime + usage.ru_stime


def status_kb(pid):
    """The sizes in /proc/PID/status, in KiB."""
    ret = {}
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        name, value = line.split(":", 1)
        if value.endswith(" kB"):
            ret[name] = int(value.split()[0])
        elif name == "Threads":
            ret[name] = int(value)
    return ret


def ring_kb(pid):
    """Bytes of perf rings that a process maps, in KiB."""
    total = 0
    for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
        if line.endswith("anon_inode:[perf_event]"):
            begin, end = line.split()[0].split("-")
            total += (int(end, 16) - int(begin, 16)) // 1024
    return total


def descriptors(pid):
    """How many descriptors a process has: all, and those of regular files."""
    links = []
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            links.append(os.readlink(f"/proc/{pid}/fd/{fd}"))
        except FileNotFoundError:
            pass
    return len(links), sum(link.startswith("/") for link in links)


def ms(seconds):
    return f"{seconds * 1e3:.1f} ms"


def ratio_row(figures, what, theirs, ours, target):
    figures.add(what, f"{theirs / ours:.1f} x", f"at least {target} x", theirs >= target * ours)


def median(values):
    return statistics.median(values)


class Agent:
    """The program, running; its files lie in a folder of its own."""

    def __init__(self, bench, folder, options, before):
        self.folder = folder
        self.out = folder / "out"
        folder.mkdir(parents=True)
        self.log = folder / "log"
        wait_for_lock()
        command = [str(bench.program), "-o", str(self.out), "--log-file", str(self.log),
                   "--pid-file", str(folder / "pid"), *options]
        with open(folder / "err", "wb") as err:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL,
                                            stdout=err, stderr=err, preexec_fn=before)
        self.pid = self.process.pid

    def profiles(self):
        """In the order in which they were written."""
        found = self.out.glob("profile_*.col") if self.out.exists() else []
        return sorted(found, key=lambda path: path.stat().st_mtime_ns)

    def wait_profiles(self, n, seconds):
        """Waits until n windows have been written in all."""
        until = time.monotonic() + seconds
        while len(self.profiles()) < n:
            if self.process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"the agent wrote {len(self.profiles())} of {n} profiles:\n"
                                   + self.said())
            time.sleep(0.02)

    def said(self):
        return (self.folder / "err").read_text(errors="replace")[-2000:]

    def end(self):
        """Ends it; returns what it used over its life."""
        self.process.send_signal(signal.SIGTERM)
        return self.wait()

    def wait(self):
        _, status, usage = os.wait4(self.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        if self.process.returncode not in (0, -signal.SIGTERM, 143):
            raise RuntimeError(f"the agent ended with {self.process.returncode}:\n" + self.said())
        return usage


def wait_for_lock(seconds=600):
    """Another profiler on this machine may be about to end."""
    until = time.monotonic() + seconds
    while LOCK in pathlib.Path("/proc/2/net/unix").read_text() and time.monotonic() < until:
        time.sleep(0.2)


def read_col(path):
    """The header of a profile, its samples and its distinct stacks."""
    first, *lines = path.read_text(encoding="utf-8").splitlines()
    counts = [int(line.rsplit(" ", 1)[1]) for line in lines if line]
    return json.loads(first[2:]), sum(counts), len(counts)


class Bench:
    """A folder, the programs built in it, and the processes running from it."""

    def __init__(self, tree, folder, quick):
        self.tree, self.folder, self.quick = tree, folder, quick
        self.program = tree / "core/program/gprofiler-core"
        self.running = []
        self.agents = 0

    def __enter__(self):
        self.folder.mkdir(parents=True)
        return self

    def __exit__(self, *unused):
        for process in reversed(self.running):
            if process.poll() is None:
                process.kill() if process.stdin is None else process.stdin.close()
                process.wait()

    def compile(self, name, *arguments, source=None):
        out = self.folder / name
        subprocess.run(["cc", *CFLAGS, str(LOAD / (source or name + ".c")), "-o", str(out),
                        *arguments], check=True)
        return out

    def deep(self):
        """The two libraries, and what links a program to them."""
        here = f"-L{self.folder}", f"-Wl,-rpath,{self.folder}"
        for one, other in (("a", "b"), ("b", "a")):
            self.compile(f"libdeep{one}.so", "-shared", "-fPIC", f"-DHERE=deep_{one}",
                         f"-DTHERE=deep_{other}", source="deep.c")
        return [*here, "-Wl,--no-as-needed", "-ldeepa", "-ldeepb", "-lm"]

    def start(self, *command, before=end_with_parent, out=subprocess.DEVNULL):
        """Runs until the end of the bench."""
        process = subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL,
                                   stdout=out, preexec_fn=before)
        self.running.append(process)
        return process

    def spawn(self, count, *command, before=end_with_parent):
        """Many processes of one program; stop() ends them."""
        process = subprocess.Popen([str(self.folder / "spawn"), str(count), *map(str, command)],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   preexec_fn=before)
        self.running.append(process)
        if process.stdout.readline() != b"ready\n":
            raise RuntimeError(f"spawn {count} {command}")
        return process

    def stop(self, process):
        self.running.remove(process)
        if process.stdin:
            process.stdin.close()
        else:
            process.kill()
        process.wait()

    def agent(self, *options, before=end_with_parent):
        self.agents += 1
        agent = Agent(self, self.folder / f"agent-{self.agents}", options, before)
        self.running.append(agent.process)
        return agent

    def start_perf(self, seconds, frequency=11):
        """-B, in perf's favour: no build-ids at the end, no files in ~/.debug."""
        data = self.folder / "perf.data"
        return self.start("perf", "record", "-q", "-B", "-F", frequency, "-a", "-g", "-o", data,
                          "--", "sleep", seconds)

    def finish_perf(self, record):
        """What perf used: record, script, script --no-inline; seconds of CPU. None: perf
        crashed, as some versions do over files with odd build-ids."""
        used = [self.reap(record)]
        for more in ([], ["--no-inline"]):
            script = subprocess.Popen(["perf", "script", *more, "-i",
                                       str(self.folder / "perf.data")],
                                      stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL, preexec_fn=end_with_parent)
            used.append(self.reap(script))
        (self.folder / "perf.data").unlink(missing_ok=True)
        return None if None in used else used

    def reap(self, process):
        """CPU that it used; None when a signal ended it."""
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode > 0:
            raise RuntimeError(f"{process.args} ended with {process.returncode}")
        return rusage_s(usage) if process.returncode == 0 else None

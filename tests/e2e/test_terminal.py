# SPDX-License-Identifier: Apache-2.0
"""Profiles on a terminal: once, top, diff. What is drawn is looked at through tmux."""
import math
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time

import pytest

from conftest import LOCK, PROGRAM, parse_col, run_agent, start_agent, wait_for_lock, wait_until
from sessions import Tools, Workload

ROW = re.compile(r" *([\d.]+)% +(\d+) +([\d.]+)% +(\d+)  (.*)")

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


def section(text, title):
    """The lines below a title, without the heads of columns."""
    lines = text.split("\n")
    begin = lines.index(title) + 2
    return lines[begin:lines.index("", begin) if "" in lines[begin:] else None]


def rows(text, title):
    """(self share, self count, total share, total count, name) of each row."""
    found = [ROW.fullmatch(line) for line in section(text, title)]
    assert all(found), section(text, title)
    return [(float(m[1]), int(m[2]), float(m[3]), int(m[4]), m[5]) for m in found]


def samples(text):
    return int(re.search(r": (\d+) samples", text)[1])


@pytest.fixture(scope="module")
def tools(tmp_path_factory):
    return Tools(tmp_path_factory.mktemp("tools"))


@pytest.fixture
def busy(tools, tmp_path):
    """main;middle;heavy for 70 % of its time, main;middle;light for the rest."""
    program = tools.build("plain", "plain.c")
    work = Workload("plain", [program, "600"], tmp_path)
    wait_until(lambda: b"plain" in pathlib.Path(f"/proc/{work.pid}/comm").read_bytes())
    yield work
    work.kill()


# ---- once ------------------------------------------------------------------------


def test_once_knows_what_is_hot(busy):
    done = run_agent(["once", "-d", "8", "-f", "499", "--pids", str(busy.pid)], timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    n = samples(done.stdout)
    assert n >= 1000, done.stdout
    by_self, by_total = rows(done.stdout, "Functions by self"), rows(done.stdout,
                                                                     "Functions by total")
    share, count, _, _, name = by_self[0]
    assert name == "heavy", done.stdout
    assert abs(share / 100 - 0.7) <= max(0.03, 3.3 * math.sqrt(0.7 * 0.3 / n)), done.stdout
    assert abs(share - 100 * count / n) <= 0.051
    assert by_self[1][4] == "light"
    assert all(a[1] >= b[1] for a, b in zip(by_self, by_self[1:]))
    assert all(a[3] >= b[3] for a, b in zip(by_total, by_total[1:]))
    names = [row[4] for row in by_total]
    assert {"main", "middle"} <= set(names[:6]), done.stdout
    assert names.index("main") < names.index("heavy")
    languages = rows(done.stdout, "Languages by self")
    assert languages[0][4] == "native" and languages[0][0] > 90
    assert section(done.stdout, "Processes") == [f"100.0% {n:>7}  plain ({busy.pid})"]
    assert section(done.stdout, "Containers") == [f"100.0% {n:>7}  (no container)"]
    assert "Lost: no samples." in done.stdout


@pytest.mark.usefixtures("busy")
def test_once_in_a_pipe():
    """Lines of 80 columns, nothing for terminals, and the whole machine."""
    done = run_agent(["once", "-d", "1"], env={**os.environ, "TERM": "xterm"})
    assert done.returncode == 0 and done.stderr == ""
    lines = done.stdout.split("\n")
    assert "\033" not in done.stdout and "INFO" not in done.stdout
    assert lines[0].startswith("1.0 s at 99 Hz: ")
    assert max(len(line) for line in lines) <= 80
    assert "swapper" not in done.stdout
    for title in ("Functions by self", "Functions by total", "Languages by self"):
        assert rows(done.stdout, title), title
    assert section(done.stdout, "Processes") and section(done.stdout, "Containers")


def test_once_takes_five_seconds():
    begin = time.monotonic()
    done = run_agent(["once"])
    assert done.stdout.startswith("5.0 s at 99 Hz: ")
    assert time.monotonic() - begin >= 5


@pytest.mark.skipif(not shutil.which("unshare"), reason="needs unshare")
@pytest.mark.usefixtures("busy")
def test_once_writes_no_files(tmp_path):
    """Not even where a fleet's configuration says so."""
    own = tmp_path / "own"
    own.mkdir()
    config = own / "config.ini"
    config.write_text(f"[DEFAULT]\ncontinuous = true\noutput-dir = {own}/out\n"
                      f"upload-results = true\ntoken = t\nservice-name = s\n"
                      f"heartbeat-file = {own}/heartbeat\n")
    script = ("mount -t tmpfs none /run && mount -t tmpfs none /var/log || exit 9; "
              "\"$@\"; code=$?; find /run /var/log -type f >&2; exit $code")
    done = run_agent(["once", "-d", "1", "--config", str(config)],
                     before=["unshare", "-m", "sh", "-c", script, "sh"], cwd=own)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "Functions by self" in done.stdout
    assert [p.name for p in own.iterdir()] == ["config.ini"]


def test_once_writes_what_is_asked_for(place):
    done = run_agent(["once", "-d", "1", *place])
    assert done.returncode == 0 and done.stderr == ""
    _, stacks = parse_col(place.out / "last_profile.col")
    idle = sum(n for stack, n in stacks if stack[2].startswith("swapper"))
    assert samples(done.stdout) == sum(n for _, n in stacks) - idle
    assert "Saved flamegraph" in place.log.read_text()
    assert not place.pid.exists()


@pytest.mark.usefixtures("busy")
def test_once_by_period():
    """A frequency that nobody gave does not stand in the way."""
    done = run_agent(["once", "-d", "1", "--perf-event", "cpu-clock",
                      "--perf-event-period", "2000000"])
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert samples(done.stdout) > 0 and " at 99 Hz" not in done.stdout
    done = run_agent(["once", "-d", "1", "--mode=allocation"])
    assert "--profiling-frequency" not in done.stderr
    done = run_agent(["once", "-f", "50", "--perf-event", "cpu-clock", "--perf-event-period", "9"])
    assert done.returncode == 2 and "exclude each other" in done.stderr


@pytest.mark.usefixtures("busy")
def test_once_ends_when_interrupted():
    agent = start_agent(["once", "-d", "60"])
    wait_until(lambda: LOCK in pathlib.Path("/proc/2/net/unix").read_text())
    time.sleep(2)
    agent.send_signal(signal.SIGINT)
    out, err = agent.communicate(timeout=30)
    assert agent.returncode == 0 and err == ""
    assert samples(out) > 0 and not out.startswith("60.0 s")


def test_once_is_alone():
    first = start_agent(["once", "-d", "3"])
    wait_until(lambda: LOCK in pathlib.Path("/proc/2/net/unix").read_text())
    second = subprocess.run([PROGRAM, "once", "-d", "1"], capture_output=True, text=True,
                            timeout=30)
    assert second.returncode == 1 and second.stdout == ""
    assert "Could not acquire gProfiler's lock" in second.stderr
    assert first.communicate(timeout=30)[0].startswith("3.0 s")


@pytest.mark.parametrize("args, text", [
    (["once", "now"], "'once' must be the first word, and alone"),
    (["-d", "5", "once"], "'once' must be the first word, and alone"),
    (["once", "--no-such"], "--no-such"),
    (["top"], "top needs a terminal: use 'gprofiler-core once' here"),
    (["diff", "a.col"], "diff: say 'diff BEFORE AFTER'"),
    (["--html", "x"], "--html goes with 'diff'"),
])
def test_usage(args, text):
    done = run_agent(args)
    assert done.returncode == 2 and done.stdout == ""
    assert text in done.stderr


# ---- diff ------------------------------------------------------------------------


@pytest.fixture
def two(tmp_path):
    """Two profiles: work went from 50 to 75 %, old went, fresh came."""
    before, after = tmp_path / "before.col", tmp_path / "after.col"
    before.write_text("# {}\nweb;app;main;work 50\nweb;app;main;old 30\nweb;app;main;same 20\n"
                      ";swapper;do_idle_[k] 1000")
    after.write_text("# {}\nweb;app;main;work 150\nweb;app;main;fresh 10\nweb;app;main;same 40")
    return before, after


CHANGES = ["  30.00%    0.00%   -30.00 gone  old",
           "  50.00%   75.00%   +25.00       work",
           "   0.00%    5.00%    +5.00 new   fresh"]


def test_diff(two):
    done = run_agent(["diff", *map(str, two)])
    assert done.returncode == 0 and done.stderr == ""
    assert section(done.stdout, "Functions by change of self") == CHANGES


@pytest.mark.parametrize("format, suffix", [("pprof", "pb.gz"), ("speedscope", "speedscope.json")])
def test_diff_of_other_formats(two, tmp_path, format, suffix):
    other = tmp_path / f"after.{suffix}"
    assert run_agent(["convert", str(two[1]), str(other)]).returncode == 0
    done = run_agent(["diff", str(two[0]), str(other)])
    assert done.returncode == 0, done.stderr
    assert section(done.stdout, "Functions by change of self") == CHANGES


def test_diff_as_a_page(two, tmp_path):
    page = tmp_path / "page.html"
    done = run_agent(["diff", *map(str, two), "--html", str(page)])
    assert done.returncode == 0 and done.stdout + done.stderr == ""
    assert "fresh" in page.read_text() and "old" in page.read_text()


def test_diff_without_a_file(two, tmp_path):
    done = run_agent(["diff", str(two[0]), str(tmp_path / "none.col")])
    assert done.returncode == 1 and done.stdout == ""
    assert "none.col" in done.stderr


# ---- on a terminal ---------------------------------------------------------------


class Terminal:
    """A shell in tmux, with a server of its own."""

    def __init__(self, columns, lines):
        self.folder = tempfile.mkdtemp(prefix="gpc-tmux-")
        self.do("new-session", "-d", "-x", columns, "-y", lines,
                "env PS1='$ ' TERM=screen-256color bash --norc --noprofile")
        self.wait("$")

    def do(self, *args):
        done = subprocess.run(["tmux", "-S", f"{self.folder}/s", "-f", "/dev/null",
                               *map(str, args)], capture_output=True, text=True,
                              env={**os.environ, "LC_ALL": "C.UTF-8"})
        assert done.returncode == 0, done.stderr
        return done.stdout

    def text(self, *more):
        return self.do("capture-pane", "-p", *more)

    def get(self, what):
        return self.do("display-message", "-p", f"#{{{what}}}").strip()

    def keys(self, *keys):
        self.do("send-keys", *keys)

    def wait(self, text):
        """Until it can be seen."""
        until = time.monotonic() + 40
        while text not in self.text():
            assert time.monotonic() < until, f"no {text!r}:\n{self.text()}"
            time.sleep(0.1)

    def run(self, command):
        """To its end; what it wrote."""
        self.keys("clear; tmux clear-history 2>/dev/null; " + command + "; echo status=$?",
                  "Enter")
        self.wait("status=")
        wait_until(lambda: re.search(r"^status=\d", self.text(), re.M), 60)
        return self.text("-S", "-", "-J")

    def children(self):
        pid = self.get("pane_pid")
        return pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()

    def end(self):
        for pid in self.children():
            os.kill(int(pid), signal.SIGKILL)
        self.do("kill-server")
        shutil.rmtree(self.folder)


@pytest.fixture
def terminal(busy):  # a machine at rest would show nothing
    if not shutil.which("tmux"):
        pytest.skip("needs tmux")
    made = []

    def make(columns, lines):
        made.append(Terminal(columns, lines))
        return made[-1]

    yield make
    for t in made:
        t.end()


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_once_fits_the_terminal(terminal, columns):
    t = terminal(columns, 100)
    wait_for_lock()
    text = t.run(f"{PROGRAM} once -d 1")
    shown = text[text.index("1.0 s at"):text.index("status=")].rstrip("\n").split("\n")
    assert "status=0" in text
    # A line that is too long goes on in the next one, and is joined here.
    assert max(len(line) for line in shown) <= columns, text
    assert "Functions by self" in shown
    if columns >= 80:
        assert rows("\n".join(shown), "Functions by total")
    assert "Sampling" not in text  # the line of progress is gone
    assert "\033[1m" in t.text("-e", "-S", "-")


def test_once_without_colours(terminal):
    t = terminal(80, 100)
    wait_for_lock()
    t.run(f"NO_COLOR=1 {PROGRAM} once -d 1")
    assert "\033" not in t.text("-e", "-S", "-").split("1.0 s at")[1]


class Top:
    """top in a terminal whose modes are written down before and after."""

    def __init__(self, terminal, *options):
        self.t = terminal
        self.folder = pathlib.Path(terminal.folder)
        wait_for_lock()
        f = self.folder
        self.t.keys(f"stty -a > {f}/before; {PROGRAM} top {' '.join(options)}; "
                    f"echo status=$?; stty -a > {f}/after", "Enter")
        self.t.wait("Functions by self")
        wait_until(lambda: re.search(r"^ *\d+\.\d% ", self.t.text(), re.M), 40)

    @property
    def pid(self):
        return int(self.t.children()[0])

    def check_end(self, status=0):
        self.t.wait(f"status={status}")
        wait_until(lambda: (self.folder / "after").exists() and
                   (self.folder / "after").read_text())
        before, after = (re.sub(r"rows \d+; columns \d+", "", (self.folder / name).read_text())
                         for name in ("before", "after"))
        assert before == after
        assert self.t.get("alternate_on") == "0"
        assert self.t.get("cursor_flag") == "1"
        assert self.t.get("wrap_flag") == "1"
        assert "Functions by" not in self.t.text()


def test_top(terminal):
    t = terminal(100, 30)
    top = Top(t, "-d", "1")
    assert t.get("alternate_on") == "1" and t.get("cursor_flag") == "0"
    assert t.text().startswith("1.0 s at 99 Hz: ")
    found = [ROW.fullmatch(line) for line in t.text().split("\n")]
    counts = [int(m[2]) for m in found if m]
    assert len(counts) >= 2 and counts == sorted(counts, reverse=True)
    t.keys("t")
    t.wait("Functions by total")
    counts = [int(m[4]) for m in map(ROW.fullmatch, t.text().split("\n")) if m]
    assert len(counts) > 3 and counts == sorted(counts, reverse=True)
    for key, title in (("p", "Processes"), ("c", "Containers"), ("l", "Languages by total"),
                       ("s", "Languages by self"), ("f", "Functions by self")):
        t.keys(key)
        t.wait(title)
    t.keys("Up", "x")  # keys that mean nothing
    t.keys("q")
    top.check_end()


def test_top_refreshes_until_paused(terminal):
    t = terminal(100, 30)
    top = Top(t, "-d", "1")
    first = t.text()
    wait_until(lambda: t.text() != first)
    t.keys("Space")
    t.wait("[paused]")
    paused = t.text()
    time.sleep(3)
    assert t.text() == paused
    t.keys("Space")
    wait_until(lambda: "[paused]" not in t.text() and
               t.text() != paused.replace("  [paused]", ""))
    t.keys("q")
    top.check_end()


def test_top_follows_the_size(terminal):
    t = terminal(100, 30)
    top = Top(t, "-d", "1")
    assert t.text().rstrip("\n").split("\n")[29].startswith("q quit")
    t.do("resize-window", "-x", "50", "-y", "14")
    wait_until(lambda: t.text().rstrip("\n").split("\n")[-1] == "q s t f p l c space")
    lines = t.text().rstrip("\n").split("\n")
    assert len(lines) == 14 and max(map(len, lines)) <= 50
    assert lines[4] == "Functions by self"
    t.do("resize-window", "-x", "150", "-y", "40")
    wait_until(lambda: t.text().rstrip("\n").split("\n")[-1].startswith("q quit"))
    assert len(t.text().rstrip("\n").split("\n")) == 40
    t.keys("q")
    top.check_end()


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGQUIT", "SIGHUP"])
def test_top_restores_the_terminal_when_ended(terminal, name):
    top = Top(terminal(100, 30), "-d", "1")
    os.kill(top.pid, getattr(signal, name))
    top.check_end()


def test_top_ends_at_control_c(terminal):
    t = terminal(100, 30)
    top = Top(t, "-d", "5")
    t.keys("C-c")
    # The shell takes the key too: it leaves the line.
    wait_until(lambda: not t.children())
    t.keys("echo status=0; stty -a > " + str(top.folder / "after"), "Enter")
    top.check_end()


@pytest.mark.parametrize("by", ["key", "signal"])
def test_top_is_suspended(terminal, by):
    t = terminal(100, 30)
    top = Top(t, "-d", "1")
    pid = top.pid
    if by == "key":
        t.keys("C-z")
        t.wait("Stopped")
        assert t.get("alternate_on") == "0" and t.get("cursor_flag") == "1"
    else:  # nobody can clean up before that
        os.kill(pid, signal.SIGSTOP)
        t.wait("Stopped")
    assert pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "T"
    t.keys("fg", "Enter")
    t.wait("Functions by self")
    assert t.get("alternate_on") == "1"
    t.keys("t")  # it hears again, and shows it
    t.wait("Functions by total")
    t.keys("q")
    t.wait("$ ")
    wait_until(lambda: not t.children())
    (top.folder / "after").unlink(missing_ok=True)
    t.keys(f"clear; echo status=0; stty -a > {top.folder}/after", "Enter")
    top.check_end()

# SPDX-License-Identifier: Apache-2.0
"""The program around the core: its command line, checks, log, signals, files."""
import json
import os
import pathlib
import pty
import re
import resource
import shutil
import signal
import stat
import subprocess
import tempfile
import time

import pytest

from conftest import BUILD, PROGRAM, ROOT, parse_col, run_agent, start_agent, wait_until

LINE = re.compile(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] "
                  r"(DEBUG|INFO|WARNING|ERROR): gprofiler(\.\w+)*: .*")
PLUGINS = BUILD / "tests/plugins/testrt"
NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


def only(folder, pattern):
    found = [p for p in folder.glob(pattern) if not p.is_symlink()]
    assert len(found) == 1, found
    return found[0]


def finish(agent, timeout=60):
    out, err = agent.communicate(timeout=timeout)
    return agent.returncode, out, err


@pytest.fixture
def agent(place):
    """Starts agents, and ends those that a failed test leaves."""
    started = []

    def start(*args, **more):
        started.append(start_agent([*place, *args], **more))
        return started[-1]

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
            process.communicate()


def wait_for_start(place):
    """The session runs once the core has begun: the pid file comes before it."""
    wait_until(place.pid.exists)
    time.sleep(1)


# ---- runs ------------------------------------------------------------------------


def test_single_run(place):
    begin = time.time()
    done = run_agent([*place, "-d", "2"])
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    col, html = only(place.out, "*.col"), only(place.out, "*.html")
    assert re.fullmatch(r"profile_\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.col", col.name)
    assert col.stem == html.stem
    end = time.mktime(time.strptime(col.stem, "profile_%Y-%m-%dT%H:%M:%S")) - time.timezone
    assert begin + 1 <= end <= time.time()
    assert os.readlink(place.out / "last_profile.col") == col.name
    assert os.readlink(place.out / "last_flamegraph.html") == html.name
    header, stacks = parse_col(col)
    assert header["profiling_mode"] == "cpu"
    assert sum(count for _, count in stacks) > 0
    assert not place.pid.exists()


def test_log_lines(place):
    done = run_agent([*place, "-d", "1"])
    lines = done.stdout.splitlines()
    assert all(LINE.fullmatch(line) for line in lines), done.stdout
    assert place.log.read_text() == done.stdout
    assert "INFO: gprofiler: Running gProfiler core " in lines[0]
    saved = [line.split(": ", 2)[2] for line in lines if ": Saved " in line]
    assert saved == [f"Saved collapsed stacks to {only(place.out, '*.col')}",
                     f"Saved flamegraph to {only(place.out, '*.html')}"]
    assert "INFO: gprofiler: Saved flamegraph to " in done.stdout


def test_no_debug_lines_unless_asked(place):
    assert "] DEBUG: " not in run_agent([*place, "-d", "1"]).stdout


@pytest.mark.threads
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("mode", [[], ["-c"]])
def test_a_signal_ends_the_session_and_keeps_it(place, agent, number, mode):
    process = agent("-d", "60", *mode)
    wait_for_start(place)
    process.send_signal(number)
    begin = time.monotonic()
    status, out, err = finish(process)
    assert status == 0 and err == "", out + err
    assert time.monotonic() - begin < 20
    _, stacks = parse_col(only(place.out, "*.col"))
    assert sum(count for _, count in stacks) > 0
    assert not place.pid.exists()


@pytest.mark.threads
def test_continuous_with_heartbeat(place, agent):
    heartbeat = place.path / "heartbeat"
    process = agent("-c", "-d", "1", "--heartbeat-file", str(heartbeat))
    wait_until(heartbeat.exists)
    assert stat.S_IMODE(heartbeat.stat().st_mode) == 0o644
    first = heartbeat.stat().st_mtime_ns
    wait_until(lambda: heartbeat.stat().st_mtime_ns > first + 2_000_000_000)
    process.terminate()
    status, out, err = finish(process)
    assert status == 0, out + err
    assert len(list(place.out.glob("profile_*.col"))) >= 3


def test_rotating_output(place, agent):
    process = agent("-c", "-d", "1", "--rotating-output")
    wait_until(lambda: place.log.exists() and place.log.read_text().count("Saved flame") >= 3)
    process.terminate()
    assert finish(process)[0] == 0
    col = only(place.out, "*.col")
    assert os.readlink(place.out / "last_profile.col") == col.name
    assert len(list(place.out.iterdir())) == 4


SLOW_SINK = """
#include <gpc/plugin.h>
#include <unistd.h>
static gpc_status create(const struct gpc_host *h, const void *o, void **self)
{
	(void)h, (void)o;
	*self = (void *)1;
	return 0;
}
static void destroy(void *self) { (void)self; }
static gpc_status take(void *self, const struct gpc_profile *p)
{
	(void)self, (void)p;
	sleep(100);
	return 0;
}
static const struct gpc_sink sink = {.struct_size = sizeof sink, .name = "slow", .summary = "slow",
	.create = create, .destroy = destroy, .write = take};
static const struct gpc_sink *const sinks[] = {&sink, 0};
static const struct gpc_module module = {.struct_size = sizeof module,
	.abi_major = GPC_ABI_MAJOR, .abi_minor = GPC_ABI_MINOR, .name = "slow", .version = "1",
	.summary = "slow", .sinks = sinks};
GPC_MODULE(slow, GPC_ABI_MINOR, module)
"""


@pytest.fixture
def slow_sink():
    """A plugin folder; not below /tmp, which the loader does not trust."""
    folder = pathlib.Path(tempfile.mkdtemp(dir="/run", prefix="gpc-test-"))
    folder.chmod(0o755)
    (folder / "slow.c").write_text(SLOW_SINK)
    subprocess.run(["cc", "-shared", "-fPIC", "-I", ROOT / "sdk/include", "-o", folder / "slow.so",
                    folder / "slow.c"], check=True)
    yield folder
    shutil.rmtree(folder)


@pytest.mark.threads
def test_a_second_signal_gives_up_slow_outputs(place, agent, slow_sink):
    process = agent("-d", "60", "--plugin-dir", str(slow_sink))
    wait_for_start(place)
    process.terminate()
    time.sleep(0.1)
    process.terminate()  # too soon to be meant
    wait_until(lambda: "Saved flamegraph to" in place.log.read_text())
    time.sleep(1)
    assert process.poll() is None
    process.terminate()
    status, out, err = finish(process, 5)
    assert status == 0, out + err
    assert "not waiting for slow outputs" in out
    assert not place.pid.exists()


# ---- the command line ------------------------------------------------------------


def test_version():
    done = run_agent(["--version"])
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(r"\d+\.\d+\.\d+\n", done.stdout)


def test_help():
    done = run_agent(["--help"])
    assert done.returncode == 0
    for text in ("usage: gprofiler-core", "plugins list", "--output-dir", "--profiling-frequency"):
        assert text in done.stdout


@pytest.mark.parametrize("args, text", [
    (["--no-such-option"], "--no-such-option"),
    (["-d", "x", "-o", "/tmp/x"], "profiling-duration"),
    (["frobnicate"], "frobnicate"),
    (["plugins"], "plugins list"),
    (["plugins", "list", "more"], "plugins list"),
    (["plugins", "show", "nonsense"], "nonsense"),
    (["--json", "-o", "/tmp/x"], "--json"),
    (["-d", "1", "--log-file", "/dev/null"], "--output-dir"),
    (["-cu", "--token", "t", "--service-name", "s", "--log-file", "/dev/null"],
     "cannot send profiles to a server yet"),
    (["-o", "/tmp/x", "--plugins=nonsense", "--log-file", "/dev/null"], "nonsense"),
])
def test_usage_errors(args, text):
    done = run_agent(args)
    assert done.returncode == 2, done.stdout + done.stderr
    assert text in done.stderr
    assert "--help" in done.stderr


def test_plugins():
    done = run_agent(["plugins", "list", "--json"], before=NOBODY)
    assert done.returncode == 0, done.stderr
    assert "file" in json.dumps(json.loads(done.stdout))
    assert "file" in run_agent(["plugins", "list"]).stdout
    shown = run_agent(["plugins", "show", "file", "--json"])
    assert "rotating-output" in json.dumps(json.loads(shown.stdout))
    assert "output-dir" in run_agent(["plugins", "show", "file"]).stdout


def test_the_token_is_not_shown(place, agent):
    process = agent("-d", "2", "--tok", "very-secret")
    wait_for_start(place)
    assert "secret" not in pathlib.Path(f"/proc/{process.pid}/cmdline").read_text()
    status, out, err = finish(process)
    assert status == 0, out + err
    files = [place.log, *place.out.glob("profile_*")]
    assert "secret" not in out + err + "".join(f.read_text() for f in files)
    assert "command line: " in out and "--tok" in out


def test_a_fleets_command_line(place):
    """What is not there yet is said once, and the rest is done."""
    busy = subprocess.Popen(["sh", "-c", "while :; do :; done"])
    done = run_agent([*place, "-d", "2", "-f", "99", "-u", "--token", "t", "--service-name", "s",
                      "--enable-heartbeat-server", "--profile-api-version", "v1"])
    busy.kill()
    busy.wait()
    assert done.returncode == 0, done.stderr
    warnings = [line for line in done.stdout.splitlines() if "] WARNING: " in line]
    assert len(warnings) == 2, done.stdout
    assert "--upload-results: this version sends nothing" in warnings[0]
    assert "--enable-heartbeat-server: this version does not ask" in warnings[1]
    header, stacks = parse_col(only(place.out, "*.col"))
    assert header["metadata"]["run_arguments"]["profile_api_version"] == "v1"
    assert all(stack[0] not in ("", "0") for stack, _ in stacks)
    assert any(stack[0] == "sh" for stack, _ in stacks)
    back = place.path / "back.col"
    assert run_agent(["convert", only(place.out, "*.col"), back]).returncode == 0
    assert back.read_bytes() == only(place.out, "*.col").read_bytes()


# ---- preconditions ---------------------------------------------------------------


def test_not_root(place):
    done = run_agent([*place, "-d", "1"], before=NOBODY)
    assert done.returncode == 1
    assert "Not running as root, rerun with --rootless or as root." in done.stderr
    assert "CAP_PERFMON and CAP_SYS_PTRACE" in done.stderr


def test_not_root_with_capabilities(place):
    place.path.chmod(0o777)
    for parent in place.path.parents[:2]:
        parent.chmod(parent.stat().st_mode | 0o055)
    caps = "+perfmon,+sys_ptrace"
    before = [*NOBODY, "--inh-caps", caps, "--ambient-caps", caps]
    done = run_agent([*place, "-d", "1"], before=before)
    assert done.returncode == 0, done.stdout + done.stderr
    only(place.out, "*.col")


def test_rootless_as_root(place):
    done = run_agent([*place, "--rootless", "-d", "1"])
    assert done.returncode == 1
    assert done.stderr.startswith("Conflict")


def test_not_in_the_first_pid_namespace(place):
    before = ["unshare", "--pid", "--fork", "--mount-proc"]
    done = run_agent([*place, "-d", "1"], before=before)
    assert done.returncode == 1
    assert done.stderr == (
        "Please run me in the init PID namespace! In Docker, make sure you pass '--pid=host'. In "
        "Kubernetes, add 'hostPID: true' in the Pod spec.\n"
        "You can disable this check with --disable-pidns-check.\n")
    done = run_agent([*place, "-d", "1", "--disable-pidns-check"], before=before)
    assert "init PID namespace" not in done.stderr


def test_in_fargate(place):
    """Perf is off, whatever the options say, and so is the check of the pid namespace."""
    before = ["unshare", "--pid", "--fork", "--mount-proc", "setpriv", "--bounding-set",
              "-perfmon,-sys_admin"]
    env = {**os.environ, "AWS_EXECUTION_ENV": "AWS_ECS_FARGATE"}
    done = run_agent([*place, "-d", "2", "--perf-mode=fp", "--plugins=testrt",
                      f"--plugin-dir={PLUGINS}"], before=before, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "AWS Fargate: perf is switched off" in done.stdout
    header, stacks = parse_col(only(place.out, "*.col"))
    assert header["metadata"]["run_arguments"]["perf_mode"] == "disabled"
    assert not stacks, "nobody but perf could have seen these"
    done = run_agent([*place, "-d", "1", "--no-java", "--no-python"], before=before, env=env)
    assert done.returncode == 1 and "all profilers are disabled" in done.stdout + done.stderr
    done = run_agent([*place, "-d", "1"], before=before,
                     env={**env, "AWS_EXECUTION_ENV": "AWS_ECS_EC2"})
    assert done.returncode == 1 and "Not running as root" in done.stderr


def test_one_instance(place, agent):
    first = agent("-c", "-d", "60")
    wait_until(place.pid.exists)
    assert place.pid.read_text() == str(first.pid)
    text = ("Could not acquire gProfiler's lock. Is it already running? Try 'sudo netstat -xp | "
            "grep gprofiler' to see which process holds the lock.\n")
    for before in ([], ["unshare", "--net"]):
        done = subprocess.run([*before, PROGRAM, *place, "-d", "1"], capture_output=True,
                              text=True, timeout=60)
        assert (done.returncode, done.stderr) == (1, text)
    assert place.pid.read_text() == str(first.pid)
    first.kill()
    first.communicate()
    assert run_agent([*place, "-d", "1"]).returncode == 0


def test_no_way_to_the_lock(place):
    caps = "+perfmon,+sys_ptrace"
    before = ["unshare", "--net", *NOBODY, "--inh-caps", caps, "--ambient-caps", caps]
    done = run_agent([*place, "-d", "1"], before=before)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        "Could not acquire gProfiler's lock due to an error. Are you running gProfiler in "
        "privileged mode?")


def test_log_usage(place):
    plain = {k: v for k, v in os.environ.items() if not k.startswith("GPROFILER_")}
    done = run_agent([*place, "-d", "1", "--log-usage"], env=plain)
    assert done.returncode == 1 and "--log-usage" in done.stderr
    done = run_agent([*place, "-d", "1", "--log-usage", "--diagnostics"],
                     env={**plain, "GPROFILER_IN_CONTAINER": "1"})
    assert done.returncode == 0
    assert "Usage of our control group" in done.stdout or "Cannot log usage" in done.stdout


# ---- the process -----------------------------------------------------------------


def test_controller(place, agent):
    with subprocess.Popen(["sleep", "60"]) as controller:
        process = agent("-d", "60", "--controller-pid", str(controller.pid))
        wait_for_start(place)
        controller.kill()  # a zombie until it is waited for
        status, out, err = finish(process)
    assert status == 0, out + err
    assert f"Controller process {controller.pid} has exited; gProfiler stopping..." in out
    only(place.out, "*.col")


def test_no_controller(place):
    with subprocess.Popen(["true"]) as gone:
        gone.wait()
    done = run_agent([*place, "-d", "5", "--controller-pid", str(gone.pid)])
    assert done.returncode == 1
    assert f"] ERROR: gprofiler: Controller process {gone.pid}" in done.stdout
    assert not place.pid.exists()


@pytest.mark.parametrize("args, want", [([], "0"), (["--dont-disable-core-files"], "4096")])
def test_core_files(place, agent, args, want):
    # The address sanitizer would forbid core files by itself.
    options = os.environ.get("ASAN_OPTIONS", "") + ":disable_coredump=0"
    process = agent("-d", "60", *args, env={**os.environ, "ASAN_OPTIONS": options},
                    preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (4096, 4096)))
    wait_for_start(place)
    limits = pathlib.Path(f"/proc/{process.pid}/limits").read_text()
    assert re.search(rf"Max core file size\s+{want}\s", limits)
    process.terminate()
    assert finish(process)[0] == 0


def test_umask(place):
    done = run_agent([*place, "-d", "1"], preexec_fn=lambda: os.umask(0))
    assert done.returncode == 0
    assert stat.S_IMODE(place.log.stat().st_mode) == 0o644
    assert stat.S_IMODE(place.out.stat().st_mode) == 0o755
    assert stat.S_IMODE(only(place.out, "*.col").stat().st_mode) == 0o644


def test_the_pid_file_of_another(place, agent):
    process = agent("-d", "60")
    wait_for_start(place)
    place.pid.write_text("1")
    process.terminate()
    assert finish(process)[0] == 0
    assert place.pid.read_text() == "1"


def test_nobody_reads_the_output(place, agent):
    process = agent("-d", "2")
    process.stdout.close()
    process.wait(60)
    assert process.returncode == 0
    process.stderr.close()
    assert "Saved flamegraph" in place.log.read_text()


# ---- the log file ----------------------------------------------------------------


def test_log_rotation(place, agent):
    process = agent("-c", "-d", "1", "--log-rotate-max-size", "400",
                    "--log-rotate-backup-count", "2")
    wait_until(lambda: (place.path / "log.2").exists())
    process.terminate()
    status, out, _ = finish(process)
    assert status == 0
    logs = sorted(p.name for p in place.path.glob("log*"))
    assert logs == ["log", "log.1", "log.2"]
    text = "".join((place.path / name).read_text() for name in reversed(logs))
    assert out.endswith(text)
    assert (place.path / "log.1").stat().st_size <= 400 + 200


@pytest.mark.threads
def test_log_file_moved_away(place, agent):
    process = agent("-d", "60")
    wait_for_start(place)
    place.log.rename(place.path / "old")
    process.send_signal(signal.SIGHUP)
    wait_until(place.log.exists)
    process.terminate()
    status, out, _ = finish(process)
    assert status == 0
    assert "Saved flamegraph" in place.log.read_text()
    assert out == (place.path / "old").read_text() + place.log.read_text()


def test_log_file_that_cannot_be(place):
    place.log.write_text("")
    args = ["-o", str(place.out), "--pid-file", str(place.log / "pid"), "-d", "1"]
    done = run_agent([*args, "--log-file", str(place.log / "x/y")])
    assert done.returncode == 0
    assert "] WARNING: gprofiler: No log file: " in done.stdout
    assert "] WARNING: gprofiler: No pid file: " in done.stdout
    only(place.out, "*.col")


# ---- output ----------------------------------------------------------------------


def test_a_file_where_the_folder_should_be(place):
    place.out.write_text("")
    done = run_agent([*place, "-d", "1", "-o", str(place.out / "a/b")])
    assert done.returncode == 1
    assert f"{place.out} is no directory" in done.stdout


@pytest.fixture
def small_disk(place):
    place.out.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", place.out], check=True)
    yield place.out
    subprocess.run(["umount", "-l", place.out], check=True)


def test_a_full_disk(place, agent, small_disk):
    filler = small_disk / "filler"
    filler.write_bytes(bytes(12 << 10))
    process = agent("-c", "-d", "1")
    wait_until(lambda: place.log.exists() and "No space left" in place.log.read_text())
    assert [p.name for p in small_disk.iterdir()] == ["filler"]
    subprocess.run(["mount", "-o", "remount,size=100m", small_disk], check=True)
    wait_until((small_disk / "last_flamegraph.html").exists)
    process.terminate()
    status, out, _ = finish(process)
    assert status == 0
    assert f"] ERROR: gprofiler: Cannot save collapsed stacks to {small_disk}/profile_" in out
    parse_col(small_disk / "last_profile.col")


def test_a_full_disk_fails_a_single_run(place, small_disk):
    (small_disk / "filler").write_bytes(bytes(12 << 10))
    done = run_agent([*place, "-d", "1"])
    assert done.returncode == 1
    assert "No space left" in done.stdout


# ---- the terminal ----------------------------------------------------------------


def test_progress_on_a_terminal(place):
    master, slave = pty.openpty()
    run = subprocess.Popen([PROGRAM, *place, "-d", "3", "-f", "11"], stdin=subprocess.DEVNULL,
                           stdout=slave, stderr=slave)
    os.close(slave)
    text = b""
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:
            break
        if not piece:
            break
        text += piece
    assert run.wait(60) == 0
    os.close(master)
    text = text.decode()
    assert re.search(r"Sampling CPU at 11 Hz, [123] s left, \d+ samples, \d+ process", text)
    assert "\n" not in re.findall(r"Sampling CPU[^\r]*", text)[0]
    # What stays is the log alone.
    shown = [line.rsplit("\x1b[K", 1)[-1] for line in text.replace("\r\n", "\n").split("\n")]
    assert all(LINE.fullmatch(line) for line in shown if line), shown

# SPDX-License-Identifier: Apache-2.0
"""The doctor, which says what would be seen of a process and why not more; captures."""
import os
import pathlib
import re
import shutil
import stat
import subprocess

import pytest

from conftest import run_agent, wait_until
from runtime_play import PLUGINS, SANITIZER, stage  # noqa: F401

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")

NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
IMAGE = b"\x28\xb5\x2f\xfd"  # how zstd begins


def ask(*args, **how):
    done = run_agent([str(a) for a in args], **how)
    assert not SANITIZER.search(done.stderr), done.stderr
    return done


def doctor(pid, *options, **how):
    done = ask("doctor", pid, *options, **how)
    assert done.returncode == 0, done.stderr
    return done.stdout


def with_collectors(pid):
    return doctor(pid, "--plugin-dir", PLUGINS, "--plugins", "testrt")


def names_of(text, path):
    """How many names of functions, and what is said of it."""
    found = re.search(rf"^  {re.escape(str(path))}: (\d+) names of functions(.*)$", text, re.M)
    assert found, text
    return int(found[1]), found[2]


def functions_in(path, *options):
    """What nm says: how many addresses have a function's name, and how many names there are."""
    out = subprocess.run(["nm", "--defined-only", *options, str(path)], check=True, text=True,
                         capture_output=True).stdout
    found = [line.split()[0] for line in out.splitlines() if line.split()[1] in "tTwWi"]
    return len(set(found)), len(found)


# ---- a process and its files --------------------------------------------------------


def test_process_and_its_files(stage):
    target = stage.target("plain", mode="idle")
    text = doctor(target.pid)
    assert text.startswith(f"process {target.pid} (plain), user 0, /tmp/plain\n")
    assert "  C library: glibc\n" in text
    assert "  its memory can be read\n" in text
    n, remark = names_of(text, "/tmp/plain")
    assert not remark
    functions, names = functions_in(stage.built / "plain")
    assert functions * 0.7 <= n <= names, (n, functions, names)  # nm has the linker's labels too
    libc = re.search(r"  (/\S+/libc\.so\.6):", text)[1]
    n, remark = names_of(text, libc)
    assert remark == " (stripped: exported ones only)"
    functions, names = functions_in(libc, "-D")
    assert functions <= n <= names, (n, functions, names)
    assert "runtime collectors:\n  java: not for this program\n  python: not for this program" in text


def test_stripped_executable(stage):
    stage.build("bare", "-s")
    target = stage.target("bare", mode="idle")
    n, remark = names_of(doctor(target.pid), "/tmp/bare")
    assert n < 5 and "stripped" in remark


def test_executable_that_was_deleted(stage):
    target = stage.target("plain", mode="idle")
    before = names_of(doctor(target.pid), "/tmp/plain")
    (target.folder / "plain").unlink()
    assert names_of(doctor(target.pid), "/tmp/plain") == before


def test_root_and_namespaces_of_its_own(stage, tmp_path):
    root = tmp_path / "root"
    (root / "tmp").mkdir(parents=True)
    shutil.copy(stage.build("inner", "-static"), root / "tmp")
    target = stage.target("inner", mode="idle", chroot=root, pid_namespace=True)
    text = doctor(target.pid)
    assert f"process {target.pid} (inner), user 0, " in text
    assert "  in a pid namespace of its own, as number 1\n" in text
    assert "  in a mount namespace of its own: files are opened inside its root\n" in text
    assert "  C library: none that is known (static?)\n" in text
    found = re.search(r"^  (\S*/tmp/inner): (\d+) names of functions$", text, re.M)
    assert found and int(found[2]) > 300, text


def test_namespaces_of_our_own_are_not_mentioned():
    text = doctor(os.getpid())
    assert "namespace" not in text


@pytest.mark.skipif(not shutil.which("musl-gcc"), reason="needs musl-gcc (musl-tools)")
def test_musl(tmp_path):
    source = tmp_path / "wait.c"
    source.write_text("#include <unistd.h>\nint main(void)\n{\n\tpause();\n\treturn 0;\n}\n")
    subprocess.run(["musl-gcc", "-o", tmp_path / "wait", source], check=True)
    process = subprocess.Popen([tmp_path / "wait"])
    try:
        wait_until(lambda: "libc.so" in pathlib.Path(f"/proc/{process.pid}/maps").read_text())
        assert "  C library: musl\n" in doctor(process.pid)
    finally:
        process.kill()
        process.wait()


@pytest.fixture(name="sleeper")
def start_sleeper():
    """A process of root's that nobody else may look into."""
    process = subprocess.Popen(["sleep", "1000"])
    wait_until(lambda: pathlib.Path(f"/proc/{process.pid}/comm").read_text() == "sleep\n")
    yield process
    process.kill()
    process.wait()


def test_kernel_thread():
    text = doctor(2)
    assert text.startswith("process 2 (kthreadd), a kernel thread: ")
    assert "memory" not in text and "C library" not in text and "run as root" not in text


def test_process_that_has_gone():
    process = subprocess.Popen(["true"])
    process.wait()
    done = ask("doctor", process.pid)
    assert done.returncode == 1 and not done.stdout
    assert f"process {process.pid}: No such" in done.stderr


def test_process_that_is_a_zombie():
    process = subprocess.Popen(["true"])
    state = pathlib.Path(f"/proc/{process.pid}/stat")
    wait_until(lambda: ") Z " in state.read_text())
    done = ask("doctor", process.pid)
    process.wait()
    assert done.returncode == 1 and "has ended" in done.stderr


@pytest.mark.parametrize("word", ["", "x", "-1", "0", "1x", "99999999999999999999"])
def test_what_is_no_process(word):
    done = ask("doctor", word)
    assert done.returncode != 0 and done.stderr and not done.stdout


def test_as_nobody_on_a_process_of_roots(sleeper):
    text = doctor(sleeper.pid, before=NOBODY)
    assert text.startswith(f"process {sleeper.pid} (sleep), not ours\n")
    assert "what it maps cannot be seen (" in text and "Permission denied" in text
    assert "CAP_SYS_PTRACE" in text


def test_as_nobody_on_a_process_of_nobodys(tmp_path):
    process = subprocess.Popen([*NOBODY, "sleep", "1000"])
    try:
        wait_until(lambda: pathlib.Path(f"/proc/{process.pid}/comm").read_text() == "sleep\n")
        text = doctor(process.pid, before=NOBODY)
    finally:
        process.kill()
        process.wait()
    assert f"process {process.pid} (sleep), user 65534, /" in text
    assert "names of functions" in text


# ---- collectors ----------------------------------------------------------------------


def test_collector_that_would_show_it(stage):
    target = stage.target(mode="idle", script="main 1\n")
    text = with_collectors(target.pid)
    assert "  testrt: would show its frames\n" in text
    assert "  testsock: not for this program\n" in text


def test_collector_for_other_programs(stage):
    text = with_collectors(stage.target("other", mode="idle").pid)
    assert "  testrt: not for this program\n" in text


def test_collector_that_does_not_claim(stage):
    text = with_collectors(stage.target(mode="idle", script="!claim 0\nmain 1\n").pid)
    assert "  testrt: looked closer and does not claim it\n" in text


def test_collector_that_cannot_attach(stage):
    target = stage.target(mode="idle", script="!attach-fail -3 version 9 is not known\nmain 1\n")
    text = with_collectors(target.pid)
    assert "  testrt: cannot be attached:\n" in text
    assert re.search(r"^    unsupported.*: version 9 is not known$", text, re.M), text


def test_nothing_is_left_behind(stage):
    """The doctor's collector has let go: the next one is answered the same."""
    target = stage.target(mode="idle", script="main 1\n")
    first = with_collectors(target.pid)
    assert with_collectors(target.pid) == first


# ---- captures --------------------------------------------------------------------------


def test_capture(sleeper, tmp_path):
    image, stacks = tmp_path / "image", tmp_path / "stacks"
    stacks.write_text("main\n")
    done = ask("capture", sleeper.pid, image, "--stacks", stacks)
    assert done.returncode == 0, done.stderr
    assert f"process {sleeper.pid} (sleep), " in done.stdout and "1 threads" in done.stdout
    assert "secrets" in done.stdout
    assert stat.S_IMODE(image.stat().st_mode) == 0o600
    assert image.read_bytes()[:4] == IMAGE
    unpacked = subprocess.run(["zstd", "-dc", image], capture_output=True).stdout \
        if shutil.which("zstd") else None
    if unpacked is not None:
        assert b"gpc-memory-image" in unpacked and b"main\n" in unpacked
        assert len(unpacked) > 1 << 20


def test_capture_touches_no_existing_file(sleeper, tmp_path):
    image = tmp_path / "image"
    image.write_text("mine")
    done = ask("capture", sleeper.pid, image)
    assert done.returncode == 1 and "File exists" in done.stderr
    assert image.read_text() == "mine"


def test_capture_as_nobody_is_refused(sleeper, tmp_path):
    tmp_path.chmod(0o777)
    done = ask("capture", sleeper.pid, tmp_path / "image", before=NOBODY)
    assert done.returncode == 1
    assert "run it as root" in done.stderr
    assert not (tmp_path / "image").exists()


def test_capture_of_what_has_no_memory(tmp_path):
    image = tmp_path / "image"
    done = ask("capture", 2, image)
    assert done.returncode == 1 and "kernel thread" in done.stderr
    process = subprocess.Popen(["true"])
    process.wait()
    done = ask("capture", process.pid, image)
    assert done.returncode == 1 and str(process.pid) in done.stderr
    done = ask("capture", os.getpid(), image, "--stacks", tmp_path / "none")
    assert done.returncode == 1 and "none" in done.stderr
    assert not image.exists()

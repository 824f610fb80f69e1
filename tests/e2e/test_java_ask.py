# SPDX-License-Identifier: Apache-2.0
"""What the Java collector does only when it is told to, and what it says of JVMs that die:
one run of the program over three JVMs, one of which is made to crash."""
import os
import pathlib
import platform
import re
import signal
import subprocess
import time

import pytest

from conftest import parse_col, run_agent, start_agent, wait_until
from java_play import SOURCES, Program, java_home

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="reading other processes needs root"),
    pytest.mark.skipif(platform.machine() != "x86_64", reason="JVMs are read on x86-64 only"),
    pytest.mark.skipif(not java_home(), reason="needs openjdk-17-jdk-headless"),
]

NOBODY = 65534
FILES = ["__spark_conf__.properties", "said"]
JVMS = {"asked": ["-Dwhat=org.apache.spark.executor.Main"], "refuses": ["-XX:+DisableAttachMechanism"],
        "crashes": ["-Xmx66m", "-XX:-CreateCoredumpOnCrash", "-XX:ErrorFile=logs/err-%p.txt"]}


class Jvm:
    """One that writes to a file, as another user, in a folder of its own."""

    def __init__(self, program, folder, name, options):
        self.home = folder / name
        (self.home / "logs").mkdir(parents=True)
        spark = self.home / "__spark_conf__/__spark_conf__.properties"
        spark.parent.mkdir()
        spark.write_text("spark.master=yarn\nspark.app.name=Word count\n")
        for path in (self.home, self.home / "logs"):
            os.chown(path, NOBODY, NOBODY)
        self.said = self.home / "said"
        with open(self.said, "w", encoding="utf-8") as out:
            self.process = subprocess.Popen(
                [program.home / "bin/java", "-Xmx64m", *options, "-cp", program.folder, "Split",
                 "300", "pair", "lambda"], stdin=subprocess.DEVNULL, stdout=out,
                stderr=subprocess.STDOUT, cwd=self.home, user=NOBODY, group=NOBODY,
                extra_groups=[])
        self.pid = self.process.pid

    def files(self):
        return sorted(p.name for p in self.home.rglob("*") if p.is_file())


def attach_files(pid):
    return [f for f in os.listdir("/tmp") if f in (f".java_pid{pid}", f".attach_pid{pid}")]


class Run:
    def __init__(self, folder):
        folder.chmod(0o755)
        self.program = Program(folder, java_home())
        self.jvms = {n: Jvm(self.program, folder, n, o) for n, o in JVMS.items()}
        self.log = folder / "log"
        try:
            time.sleep(2)
            self.run(folder)
        except BaseException:
            self.end()
            raise

    def run(self, folder):
        pids = ",".join(str(j.pid) for j in self.jvms.values())
        agent = start_agent(["-o", str(folder / "out"), "--log-file", str(self.log), "--pid-file",
                             str(folder / "pid"), "-v", "-d", "8", "-f", "199", "--plugins=java",
                             "--pids", pids, "--java-allow-attach",
                             "--java-include-method-modifiers", "--java-collect-thread-names",
                             "--java-line-numbers=line-of-function",
                             "--java-collect-spark-app-name-as-appid",
                             "--java-collect-jvm-flags=MaxHeapSize,DisableAttachMechanism,NoSuchFlag"])
        try:
            crashing = self.jvms["crashes"]
            wait_until(lambda: f"attached to process {crashing.pid} " in self.text(), 60)
            os.kill(crashing.pid, signal.SIGSEGV)
            crashing.process.wait(60)
            agent.communicate(timeout=90)
        finally:
            agent.kill()
            agent.wait()
        assert agent.returncode == 0, self.text()
        self.header, self.lines = parse_col(folder / "out/last_profile.col")
        self.sockets = attach_files(self.jvms["asked"].pid)

    def text(self):
        return self.log.read_text(encoding="utf-8") if self.log.exists() else ""

    def about(self, name):
        """Metadata of a JVM, by the flags that tell them apart."""
        wanted = {"DisableAttachMechanism": {"asked": "false", "refuses": "true"}[name],
                  "MaxHeapSize": str(64 << 20)}
        return next(m for m in self.header["application_metadata"]
                    if m and {f["name"]: f["value"] for f in m["jvm_flags"]} == wanted)

    def end(self):
        for jvm in self.jvms.values():
            jvm.process.kill()
            jvm.process.wait()
            for name in attach_files(jvm.pid):  # a JVM that was killed leaves its socket
                os.unlink(f"/tmp/{name}")


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ask")
    for parent in [folder, *folder.parents]:  # pytest's folders are its user's alone
        if parent.stat().st_uid == os.geteuid() and str(parent) not in ("/", "/tmp"):
            parent.chmod(parent.stat().st_mode | 0o011)
    r = Run(folder)
    yield r
    r.end()


def test_the_version_is_what_java_prints(ran):
    printed = subprocess.run([java_home() / "bin/java", "-version"], capture_output=True,
                             text=True, check=True).stderr.rstrip("\n")
    assert ran.about("asked")["java_version"] == printed


def test_nothing_is_left_beside_a_jvm_that_was_attached_to(ran):
    jvm = ran.jvms["asked"]
    assert ran.sockets == [f".java_pid{jvm.pid}"]  # the JVM's own, as long as it lives
    assert jvm.said.read_text() == "" and jvm.files() == FILES
    jvm.process.send_signal(signal.SIGTERM)
    jvm.process.wait(60)
    assert not attach_files(jvm.pid)


def test_a_jvm_that_refuses_gets_no_signal(ran):
    """It would print all its stacks."""
    jvm = ran.jvms["refuses"]
    assert jvm.process.poll() is None and jvm.said.read_text() == ""
    assert not attach_files(jvm.pid) and jvm.files() == FILES
    assert re.search(r"OpenJDK 64-Bit Server VM \(17\..*built on", ran.about("refuses")["java_version"])
    assert f"JVM {jvm.pid} was not attached to: -XX:+DisableAttachMechanism" in ran.text()


def test_a_crash_is_told_with_its_reason(ran):
    jvm = ran.jvms["crashes"]
    report = jvm.home / f"logs/err-{jvm.pid}.txt"
    assert report.exists()
    told = re.findall(rf"WARNING: gprofiler.java: (JVM {jvm.pid} .*)", ran.text())
    assert len(told) == 1, ran.text()
    assert re.match(rf"JVM {jvm.pid} \(Split\) died: SIGSEGV in (\S+\.so\S*|J |j |v ).*, "
                    rf"see {re.escape(str(report))}", told[0]), told


def test_names_as_options_want_them(ran):
    """Modifiers, lines and threads."""
    lines = (SOURCES / "Split.java").read_text().splitlines()
    begin = next(i for i, line in enumerate(lines, 1) if "long spin(long n)" in line)
    frames = {f for stack, _ in ran.lines for f in stack}
    spin = [re.fullmatch(r"public static Split\.spin:(\d+)\(J\)J_\[[ij01]\]", f)
            for f in frames if "Split.spin" in f]
    assert spin and all(spin), [f for f in frames if "Split.spin" in f]
    assert all(begin < int(m[1]) < begin + 7 for m in spin)
    assert any(re.fullmatch(r"static final Split\$Hot|Split\$Hot.*", f) or
               f.startswith("public Split$Hot.work:") for f in frames)
    assert any(f.startswith("private static Split.lambda$lambda$0:") for f in frames)
    named = [stack for stack, _ in ran.lines
             if any(re.fullmatch(r"\[(pair|lambda) tid=\d+\]", f) for f in stack)]
    assert named


def test_flags_by_name(ran):
    flags = ran.about("refuses")["jvm_flags"]
    assert [f["name"] for f in flags] == ["DisableAttachMechanism", "MaxHeapSize"]
    assert flags[1]["value"] == str(64 << 20)
    assert "Missing requested flags: NoSuchFlag" in ran.text()


def test_spark_executors_have_their_applications_name(ran):
    apps = {f for stack, _ in ran.lines for f in stack if f.startswith("appid: ")}
    assert apps == {"appid: java: Split, spark: Word count", "appid: java: Split"}


def test_max_touch_forbids_to_attach(ran, place):
    jvm = ran.jvms["refuses"]
    done = run_agent([*place, "-d", "2", "-f", "99", "--plugins=java", "--pids", str(jvm.pid),
                      "--java-allow-attach", "--max-touch=reads"])
    assert done.returncode == 0, done.stderr
    assert f"JVM {jvm.pid} was not attached to: --max-touch forbids it" in done.stderr + \
        pathlib.Path(place.log).read_text()

# SPDX-License-Identifier: Apache-2.0
"""Names of containers in profiles."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

import pytest

from conftest import BUILD, parse_col, run_agent, start_agent, wait_for_lock, wait_until
from containers import Machine, hex_id, write_bundle
from runtime_play import Run

UID = "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0"
POD_SLICE = f"kubepods.slice/kubepods-pod{UID.replace('-', '_')}.slice"
A, B = hex_id(0xabcdef), hex_id(0x123456)
SECONDS = 3

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


@pytest.fixture
def machine():
    # Paths of unix sockets are short.
    folder = pathlib.Path(tempfile.mkdtemp(prefix="gpc-c-"))
    made = Machine(folder)
    yield made
    made.end()
    shutil.rmtree(folder)


def args(place, machine, seconds=SECONDS):
    return [*place, *machine.options, "-d", str(seconds), "-f", "99", "--disable-metrics-collection"]


def profile(place):
    return parse_col(place.out / "last_profile.col")


def run(place, machine, *more):
    done = run_agent([*args(place, machine), *more])
    assert done.returncode == 0, done.stderr
    return profile(place)


def busy_lines(lines):
    """container -> samples, of the processes that the test started."""
    found = {}
    for stack, count in lines:
        if stack[2] == "gpcbusy":
            found[stack[1]] = found.get(stack[1], 0) + count
    return found


def expect_only(place, name, result=None):
    header, lines = result or profile(place)
    found = busy_lines(lines)
    assert list(found) == [name], found
    assert found[name] >= 20
    assert header["containers"] == ([name] if name else [])
    assert header["container_names_enabled"] is True


@pytest.mark.parametrize("path", [f"system.slice/docker-{A}.scope", f"docker/{A}",
                                  f"docker/{A}/init.scope"])
def test_docker(place, machine, path):
    machine.docker().containers[A] = ("shop_web_1", {})
    machine.group(path).start()
    expect_only(place, "shop_web_1", run(place, machine))


def test_docker_on_cgroup_v1(place, machine):
    machine.docker().containers[A] = ("old_style", {})
    machine.group(f"docker/{A}", kind="pids").start()
    expect_only(place, "old_style", run(place, machine))


def test_container_started_within_the_session(place, machine):
    machine.docker().containers[A] = ("late", {})
    agent = start_agent(args(place, machine, 5))
    time.sleep(1.5)
    machine.group(f"docker/{A}").start()
    _, err = agent.communicate(timeout=60)
    assert agent.returncode == 0, err
    expect_only(place, "late")


def containerd():
    return {"io.kubernetes.cri.container-name": "web",
            "io.kubernetes.cri.container-type": "container",
            "io.kubernetes.cri.sandbox-id": B, "io.kubernetes.cri.sandbox-name": "shop-7d9f",
            "io.kubernetes.cri.sandbox-namespace": "prod", "io.kubernetes.cri.sandbox-uid": UID}


def test_containerd(place, machine):
    write_bundle(machine.root, A, containerd())
    logs = machine.root / f"var/log/pods/prod_shop-7d9f_{UID}/web"
    logs.mkdir(parents=True)
    (logs / "2.log").touch()
    machine.group(f"{POD_SLICE}/cri-containerd-{A}.scope").start()
    expect_only(place, f"k8s_web_shop-7d9f_prod_{UID}_2", run(place, machine))


def test_crio(place, machine):
    write_bundle(machine.root, A, {
        "io.kubernetes.container.name": "db", "io.kubernetes.pod.name": "pg-0",
        "io.kubernetes.pod.namespace": "data", "io.kubernetes.pod.uid": UID,
        "io.kubernetes.container.restartCount": "1",
        "io.kubernetes.cri-o.ContainerType": "container"}, crio=True)
    machine.group(f"{POD_SLICE}/crio-{A}.scope").start()
    expect_only(place, f"k8s_db_pg-0_data_{UID}_1", run(place, machine))


def test_nested(place, machine):
    """Of a container in a container the host's runtime knows the outer one."""
    machine.docker().containers[A] = ("node", {})
    machine.group(f"docker/{A}/kubelet/pod{UID}/{B}").start()
    expect_only(place, "node", run(place, machine))


def test_several(place, machine):
    docker = machine.docker()
    names = {f"box_{i}" for i in range(7)}
    for i, name in enumerate(sorted(names)):
        docker.containers[hex_id(i + 1)] = (name, {})
        machine.group(f"docker/{hex_id(i + 1)}").start()
    header, lines = run(place, machine, "-d", "5")
    assert set(busy_lines(lines)) == names
    assert header["containers"] == sorted(names)


@pytest.mark.parametrize("kind", [
    "docker", *(pytest.param(k, marks=pytest.mark.wide) for k in ("containerd", "v1"))])
def test_container_stopped_within_the_session(place, machine, kind):
    name = "short"
    if kind == "containerd":
        folder = write_bundle(machine.root, A, containerd())
        name = f"k8s_web_shop-7d9f_prod_{UID}_0"
    else:
        docker = machine.docker()
        docker.containers[A] = (name, {})
    agent = start_agent(args(place, machine, 6))
    time.sleep(1)
    group = machine.group(f"docker/{A}", kind="pids" if kind == "v1" else "cgroup2")
    group.start()
    time.sleep(2)
    group.remove()
    if kind == "containerd":
        shutil.rmtree(folder)
    else:
        docker.containers.clear()
    _, err = agent.communicate(timeout=60)
    assert agent.returncode == 0, err
    expect_only(place, name)


def test_short_processes_of_an_old_container(place, machine):
    """They have gone when anybody looks at them, their group has not."""
    machine.docker().containers[A] = ("forks", {})
    loop = "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done"
    group = machine.group(f"docker/{A}")
    group.start(f"while :; do {machine.program} -c '{loop}'; done")
    time.sleep(1)
    header, lines = run(place, machine)
    found = busy_lines(lines)
    assert sum(found.values()) >= 20
    assert found.get("", 0) == 0, found
    assert header["containers"] == ["forks"]


@pytest.mark.parametrize("mode", ["hangs", "broken"])
def test_docker_that_does_not_answer(place, machine, mode):
    docker = machine.docker(mode=mode)
    docker.containers[A] = ("never", {})
    machine.group(f"docker/{A}").start()
    wait_for_lock()
    began = time.monotonic()
    result = run(place, machine)
    assert time.monotonic() - began < SECONDS + 6
    assert docker.requests
    expect_only(place, "", result)


def test_no_runtime_is_silent(place, machine):
    machine.group(f"docker/{A}").start()
    done = run_agent([*args(place, machine), "-v"])
    assert done.returncode == 0
    expect_only(place, "")
    for text in (done.stdout, done.stderr, place.log.read_text()):
        assert "docker" not in text.lower()


def test_names_disabled(place, machine):
    docker = machine.docker()
    docker.containers[A] = ("secret", {})
    machine.group(f"docker/{A}").start()
    header, lines = run(place, machine, "--disable-container-names")
    assert list(busy_lines(lines)) == [""]
    assert header["containers"] == []
    assert header["container_names_enabled"] is False
    assert not docker.requests


def test_every_window_lists_its_own(place, machine):
    docker = machine.docker()
    docker.containers.update({A: ("first", {}), B: ("second", {})})
    first, second = machine.group(f"docker/{A}"), machine.group(f"docker/{B}")
    first.start()
    agent = start_agent([*args(place, machine, 3), "-c"])
    seen = []

    def next_profile():
        found = sorted(place.out.glob("profile_*.col"))
        return len(found) > len(seen) and not seen.append(found[-1])

    wait_until(next_profile, 30)
    first.kill()
    second.start()
    wait_until(next_profile, 30)
    wait_until(next_profile, 30)
    agent.terminate()
    agent.communicate(timeout=60)
    lists = [parse_col(path)[0]["containers"] for path in seen]
    assert lists[0] == ["first"] and lists[2] == ["second"], lists
    assert set(lists[1]) <= {"first", "second"}


def test_labels(machine):
    """What sinks and embedders read: container, pod, namespace, id of each process."""
    machine.docker().containers[B] = ("plain", {})
    write_bundle(machine.root, A, containerd())
    in_pod, plain, unknown = (machine.group(path) for path in (
        f"{POD_SLICE}/cri-containerd-{A}.scope", f"docker/{B}", f"docker/{hex_id(7)}"))
    pids = [group.start().pid for group in (in_pod, plain, unknown)]
    done = subprocess.run([str(BUILD / "tests/e2e/labels"), f"container-root={machine.root}",
                           f"pids={','.join(map(str, pids))}", "profiling-duration=3"],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    found = {int(pid): rest for pid, *rest in
             (line.split("\t") for line in done.stdout.splitlines())}
    assert found == {
        pids[0]: [f"k8s_web_shop-7d9f_prod_{UID}_0", "shop-7d9f", "prod", A],
        pids[1]: ["plain", "", "", B],
        pids[2]: ["", "", "", hex_id(7)]}


def test_collectors_see_the_container(machine, tmp_path):
    machine.docker().containers[A] = ("seen", {})
    machine.program = str(machine.root / "testrt-busy")
    shutil.copy("/bin/sh", machine.program)
    process = machine.group(f"docker/{A}").start()
    run = Run(1, [f"container-root={machine.root}", "profiling-duration=3"], tmp_path / "trace")
    run.finish()
    names = run.calls("container", process.pid)
    assert names and all(name[-1] == "seen" for name in names), run.trace()

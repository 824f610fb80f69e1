# SPDX-License-Identifier: Apache-2.0
"""Native stacks beside `perf record --call-graph dwarf` and `perf script`: how many are
whole, what they cost, and whether libunwind finds the same frames."""
import os
import re
import shutil
import subprocess
import time

from figures.tool import ROOT, cpu_ns, read_col, ring_kb, rusage_s, status_kb

WORK = ROOT / "tests/workloads"
FLAGS = ["-O2", "-fomit-frame-pointer", "-D_GNU_SOURCE"]
LIBRARIES = ["-ljansson", "-lxxhash", "-liberty", "-lz", "-lunwind-x86_64", "-lunwind", "-ldl",
             "-lpthread", "-lm"]
HZ = 499
BYTES = 8192

# name: source, compiler and flags, frames of a whole stack from root to leaf.
PROGRAMS = {
    "gcc -O2, glibc": ("plain.c", ["gcc", *FLAGS], 6),
    "the same, stripped": ("plain.c", ["gcc", *FLAGS, "-s"], 6),
    "static glibc": ("plain.c", ["gcc", *FLAGS, "-static"], 6),
    "static musl": ("plain.c", ["musl-gcc", *FLAGS, "-static"], 4),
    "Rust": ("generic.rs", ["/usr/bin/rustc", "-Copt-level=2", "-Cforce-frame-pointers=no"], 7),
    "Go, -s -w": ("plain.go", ["/usr/bin/go", "build", "-ldflags=-s -w"], 4),
    "C++, 200 deep, exceptions": ("deep.cpp", ["g++", *FLAGS], 206),
    "in a signal handler": ("handler.c", ["gcc", *FLAGS], 10),
    "in a coroutine": ("coroutine.c", ["gcc", *FLAGS], 4),
}


def build(folder, name):
    source, command, _ = PROGRAMS[name]
    if not shutil.which(command[0]):
        return None
    out = folder / re.sub(r"\W+", "-", name)
    env = {**os.environ, "HOME": str(folder), "GO111MODULE": "off", "GOFLAGS": ""}
    subprocess.run([*command, "-o", str(out), str(WORK / source)], check=True, env=env)
    return out


def start(program, seconds):
    process = subprocess.Popen([program, str(seconds)], stdout=subprocess.DEVNULL)
    time.sleep(0.3)
    return process


def values(text):
    return {k: float(v) for k, v in (line.split() for line in text.splitlines()
                                     if len(line.split()) == 2)}


def depths(text):
    """Of the stacks that unwound printed for smart: (frames, ended at a root)."""
    ret = []
    for line in text.splitlines()[1:]:  # behind "ready"
        mode, end, *stack = line.split(" ", 2)
        if mode == "smart" and stack and stack[0]:
            ret.append((stack[0].count(";") + 1, end == "root"))
    return ret


def ours(tool, program, seconds):
    process = start(program, seconds + 3)
    out = subprocess.run([tool, str(seconds), str(HZ), str(BYTES), "stacks", str(process.pid)],
                         check=True, capture_output=True, text=True).stdout
    process.kill()
    process.wait()
    return depths(out)


def run_timed(*command):
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                               stdin=subprocess.DEVNULL, text=True)
    out = process.stdout.read()
    _, _, usage = os.wait4(process.pid, 0)
    process.returncode = 0
    return out, rusage_s(usage)


def perf(folder, program, seconds):
    """Depths of the user part, seconds of CPU for recording and for the script."""
    data = folder / "perf.data"
    process = start(program, seconds + 3)
    _, record = run_timed("perf", "record", "-B", "-e", "cpu-clock", "-F", str(HZ),
                          f"--call-graph=dwarf,{BYTES}", "-p", str(process.pid), "-o", str(data),
                          "--", "sleep", str(seconds))
    process.kill()
    process.wait()
    out, script = run_timed("perf", "script", "--no-inline", "--max-stack", "512", "-i",
                            str(data), "-F", "ip,sym")
    data.unlink()
    stacks = [block.splitlines() for block in out.split("\n\n") if block.strip()]
    user = [[f for f in stack if f.split() and not f.split()[0].startswith("ffffffff")]
            for stack in stacks]
    return [len(stack) for stack in user if stack], record, script


def whole(found, frames):
    return sum(n >= frames for n in found) / max(1, len(found))


def table(bench, figures, tool, seconds):
    for name, (_, _, frames) in PROGRAMS.items():
        program = build(bench.folder, name)
        if not program:
            figures.note(f"{name}: its compiler is not here")
            continue
        mine = ours(tool, program, seconds)
        theirs, record, script = perf(bench.folder, program, seconds)
        at_root = sum(root for _, root in mine) / max(1, len(mine))
        figures.add(name, f"{whole([n for n, _ in mine], frames):.1%} whole, {at_root:.1%} at "
                    f"a root of {len(mine)}; perf {whole(theirs, frames):.1%} of {len(theirs)}",
                    "99 % at a root", at_root >= 0.99)
        figures.note(f"{name}: perf record {record * 1e6 / max(1, len(theirs)):.0f} us, script "
                     f"{script * 1e6 / max(1, len(theirs)):.0f} us a sample")


def recorded(bench, figures, tool, seconds):
    """One sample set of several programs, unwound in every way."""
    running = [start(p, seconds + 5) for p in (build(bench.folder, n) for n in PROGRAMS) if p]
    out = subprocess.run([tool, str(seconds), str(HZ), str(BYTES), "figures",
                          *(str(p.pid) for p in running)],
                         check=True, capture_output=True, text=True).stdout
    for process in running:
        process.kill()
        process.wait()
    v = values(out)
    for mode in ("fp", "dwarf", "smart"):
        figures.add(f"{mode}: complete", f"{v[mode + '_complete'] / v['samples']:.2%}, "
                    f"{v[mode + '_frames'] / v['samples']:.1f} frames")
    figures.add("smart worse than one of them", f"{v['smart_worse']:.0f} of {v['samples']:.0f}",
                "0", v["smart_worse"] == 0)
    figures.add("a frame, tables there", f"{v['frame_ns']:.0f} ns", "at most 1 us",
                v["frame_ns"] <= 1000)
    figures.add("tables", f"{v['tables']:.0f}, {v['table_bytes'] / 1024:.0f} KB, "
                f"{v['table_rows']:.0f} rows, built in {v['table_build_us'] / 1e3:.1f} ms")
    figures.add("frames as libunwind finds them",
                f"{v['oracle_same'] / max(1, v['oracle_frames']):.3%} of {v['oracle_frames']:.0f}",
                "all", v["oracle_same"] == v["oracle_frames"])
    figures.add("  whole stacks the same",
                f"{v['oracle_whole']:.0f} of {v['oracle_samples']:.0f}; deeper here "
                f"{v['oracle_mine_deeper']:.0f}, there {v['oracle_mine_shallower']:.0f}")
    figures.add("  libunwind, a frame", f"{v['oracle_frame_ns']:.0f} ns")


def cost(bench, figures, seconds):
    """200 threads that together use about a CPU: the program, and perf over the same."""
    many = bench.compile("many", "-pthread", "-fomit-frame-pointer")
    process = subprocess.Popen([many, "200", str(4 * seconds + 20), "500"])
    agent = bench.agent("-c", "-d", str(seconds), "-f", "99", "--perf-mode=dwarf",
                        "--plugins=perf")
    agent.wait_profiles(1, seconds + 30)
    time.sleep(0.5)
    before = cpu_ns(agent.pid)
    _, record = run_timed("perf", "record", "-B", "-e", "cpu-clock", "-F", "99", "-a",
                          f"--call-graph=dwarf,{BYTES}", "-o", str(bench.folder / "perf.data"),
                          "--", "sleep", str(seconds))
    used = (cpu_ns(agent.pid) - before) / 1e9
    with open(f"/proc/{agent.pid}/status", encoding="utf-8") as status:
        text = status.read()
    rss = int(re.search(r"VmRSS:\s+(\d+)", text)[1]) / 1024
    agent.end()
    process.kill()
    process.wait()
    _, script = run_timed("perf", "script", "--no-inline", "-i", str(bench.folder / "perf.data"))
    figures.add("200 threads, dwarf, 99 Hz: CPU", f"{used / seconds:.2%} of a core", "below 3 %",
                used / seconds < 0.03)
    figures.add("  resident", f"{rss:.1f} MB", "below 80 MB", rss < 80)
    figures.add("  perf record, script", f"{record / seconds:.2%}, {script / seconds:.2%}")
    figures.add("  ratio", f"{(record + script) / used:.0f} x", "at least 10 x",
                record + script >= 10 * used)


def modes(bench, figures, seconds):
    """What the agent uses in each mode, over programs of this table, at two frequencies."""
    running = [start(p, 12 * seconds + 60) for p in (build(bench.folder, n) for n in PROGRAMS) if p]
    for hz in (11, 99):
        for mode in ("fp", "dwarf", "smart"):
            agent = bench.agent("-c", "-d", str(seconds), "-f", str(hz), f"--perf-mode={mode}",
                                "--plugins=perf")
            agent.wait_profiles(1, seconds + 30)
            time.sleep(0.5)
            before = cpu_ns(agent.pid)
            agent.wait_profiles(2, seconds + 30)
            time.sleep(0.5)
            used = (cpu_ns(agent.pid) - before) / 1e9
            kb = status_kb(agent.pid)
            rings = ring_kb(agent.pid)
            agent.end()
            _, samples, _ = read_col(agent.profiles()[1])
            figures.add(f"{mode}, {hz} Hz", f"{used / seconds:.3%} of a core, "
                        f"{used * 1e6 / samples:.1f} us a sample, {kb['RssAnon'] / 1024:.1f} + "
                        f"{kb['RssFile'] / 1024:.1f} MB, rings {rings} KB")
    for process in running:
        process.kill()
        process.wait()


def run(bench, figures):
    seconds = 2 if bench.quick else 6
    tool = bench.compile("unwound", str(ROOT / "tests/bench/load/oracle.c"), f"-I{ROOT}/core",
                         f"-I{ROOT}/sdk/include", str(bench.tree / "core/libgpc-core.a"),
                         *LIBRARIES)
    figures.note(f"samples at {HZ} Hz, {BYTES} bytes of stack, {seconds} s each; whole: as many "
                 "frames as the program's source has, to the leaf")
    table(bench, figures, tool, seconds)
    recorded(bench, figures, tool, seconds)
    cost(bench, figures, 10 if bench.quick else 60)
    modes(bench, figures, 10 if bench.quick else 30)

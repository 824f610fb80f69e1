# SPDX-License-Identifier: Apache-2.0
"""One set of samples of all programs of `native`, unwound in every way: smart beside its
two sources, what a frame costs, and whether libunwind finds the same frames."""
import subprocess

from figures.native import BYTES, HZ, PROGRAMS, build, compile_tool, start


def values(text):
    return {k: float(v) for k, v in (line.split() for line in text.splitlines()
                                     if len(line.split()) == 2)}


def run(bench, figures):
    seconds = 3 if bench.quick else 6
    tool = compile_tool(bench)
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

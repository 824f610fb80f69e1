# SPDX-License-Identifier: Apache-2.0
"""Nanoseconds of the steps that each sample takes on the reader's thread."""
import subprocess

from figures.tool import ROOT

LIBRARIES = ["-ljansson", "-lxxhash", "-liberty", "-lz", "-lzstd", "-llzma", "-ldl", "-lpthread", "-lm"]


def run(bench, figures):
    program = bench.compile("micro", f"-I{ROOT}/core", f"-I{ROOT}/sdk/include",
                            str(bench.tree / "core/libgpc-core.a"), *LIBRARIES)
    said = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    figures.note("2,000 stacks of 30 frames in 12 mappings, all in the CPU's caches; CPU time, "
                 "median of 9 runs")
    for line in said.splitlines():
        name, value = line.split()
        figures.add(f"{name}, each sample", f"{float(value):.0f} ns")

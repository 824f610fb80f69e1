# SPDX-License-Identifier: Apache-2.0
"""The test interpreter and its collector, for the benchmarks of reading at samples."""
import pathlib
import re
import subprocess

from figures.tool import CFLAGS, ROOT, read_col

INNER = re.compile(r";f(\d+)_\[t\];spin_(\d+) (\d+)$")
ALONE = "[runtime stack, not joined]"


def build(bench, name):
    out = bench.folder / name
    if not out.exists():
        flags = [f for f in CFLAGS if f != "-fno-inline"]
        subprocess.run(["cc", *flags, str(ROOT / "tests/workloads/interp.c"), "-rdynamic",
                        "-pthread", "-o", str(out)], check=True)
    return out


def options(bench, hz, seconds, priority="realtime", *more):
    plugins = bench.tree / "tests/plugins/testpull"
    return ["-d", str(seconds), "-f", str(hz), "--plugin-dir", str(plugins),
            "--plugins", "testpull", "--reader-priority", priority, "--no-flamegraph", *more]


def lines_of(path, program):
    """Of a .col file: the lines of a process."""
    return [line for line in path.read_text(encoding="utf-8").splitlines()[1:]
            if f";{program};" in line or line.startswith(program + ";")]


def count(lines):
    return sum(int(line.rsplit(" ", 1)[1]) for line in lines)


def stale_of(lines):
    """Joined samples of which the leaf tells the function, and those whose runtime frame
    is of another one."""
    known = stale = 0
    for match in filter(None, map(INNER.search, lines)):
        function, leaf, n = map(int, match.groups())
        known += n
        stale += n if function != leaf else 0
    return known, stale


def readers(path):
    return read_col(path)[0]["gprofiler_core"]["readers"]


def reader_cpu_ns(pid):
    """CPU time of the agent's reader threads."""
    total = 0
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        if (task / "comm").read_text() == "gpc-reader\n":
            total += int((task / "schedstat").read_text().split()[0])
    return total

# SPDX-License-Identifier: Apache-2.0
"""500 windows of one second while 50 processes a second come and go."""
import subprocess
import time

from figures.tool import descriptors, end_with_parent, median, read_col, status_kb

RATE, FREQUENCY, AROUND = 50, 99, 10


def look(agent):
    memory = status_kb(agent.pid)
    all_fds, of_files = descriptors(agent.pid)
    return {"rss": memory["RssAnon"] + memory["RssFile"], "anon": memory["RssAnon"],
            "fds": all_fds, "others": all_fds - of_files, "threads": memory["Threads"]}


def watch(agent, windows):
    """What the agent has in the middle of each window."""
    seen = []
    begin = time.monotonic()
    for window in range(windows):
        time.sleep(max(0, begin + window + 0.5 - time.monotonic()))
        seen.append(look(agent))
    return seen


def around(seen, window, what):
    return median(one[what] for one in seen[window - AROUND:window + AROUND])


def start_churn(bench):
    link = bench.deep()
    churn = bench.compile("churn")
    programs = [bench.compile(f"brief{k}", f"-DKIND={2 * k + 1}", *link, source="brief.c")
                for k in range(3)]
    fresh = bench.folder / "fresh"
    fresh.mkdir()
    process = subprocess.Popen([churn, str(RATE), fresh, *programs], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, preexec_fn=end_with_parent)
    bench.running.append(process)
    return process


def run(bench, figures):
    windows = 120 if bench.quick else 500
    churn = start_churn(bench)
    agent = bench.agent("-c", "-d", "1", "-f", str(FREQUENCY), "--rotating-output")
    seen = watch(agent, windows + AROUND)
    header, samples, stacks = read_col(agent.out / "last_profile.col")
    agent.end()
    churn.stdin.close()
    started, failed = map(int, churn.stdout.read().split())
    first, last = 50, windows
    figures.note(f"{started} processes came, {failed} of them failed; {FREQUENCY} Hz; "
                 f"{samples} samples, {stacks} stacks in the last window; "
                 f"medians of {2 * AROUND} windows around the two")
    figures.add("processes a second", f"{started / (windows + AROUND):.1f}", f"{RATE}",
                started >= 0.97 * RATE * (windows + AROUND) and failed == 0)
    grown = around(seen, last, "rss") - around(seen, first, "rss")
    for window in (first, last):
        figures.add(f"resident, window {window}", f"{around(seen, window, 'rss') / 1024:.2f} MB "
                    f"({around(seen, window, 'anon') / 1024:.2f} anonymous)")
    figures.add("  more", f"{grown / 1024:.2f} MB", "at most 1 MB", grown <= 1024)
    for what, name in (("others", "descriptors but of files"), ("threads", "threads")):
        a, b = around(seen, first, what), around(seen, last, what)
        figures.add(name, f"{a:g}, {b:g}", "equal", a == b)
    a, b = around(seen, first, "fds"), around(seen, last, "fds")
    # Files of programs that were seen; those of programs long gone are closed.
    figures.add("descriptors", f"{a:g}, {b:g}", "no more", b <= a)

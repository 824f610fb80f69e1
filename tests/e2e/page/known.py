# SPDX-License-Identifier: Apache-2.0
"""Profiles whose every number is known, as .col text and as the page's data."""
import json
import random
import re

EVIL = "<script>alert(1)</script>"
# pid, comm, container, stacks: 1000 samples.
KNOWN = [
    (11, "web", "shop", {
        "main;serve;handle_[p];render_[p]": 300,
        "main;serve;handle_[p];query_[p];do_read_[k]": 150,
        "main;serve;walk;walk;walk;leaf": 100,
        "main;idle_wait": 50}),
    (12, "db", "", {"main;scan": 200, "main;scan;do_read_[k]": 60, "main;sort": 40}),
    (13, EVIL, "<img src=x onerror=alert(2)>", {
        "<b>evil</b>": 60,
        "f(Ljava/lang/String;)V_[j]": 40}),
]
CHANGED = [KNOWN[0], (12, "db", "", {"main;scan;do_read_[k]": 60, "main;sort": 240}), KNOWN[2]]
TURNS = [(31, "lisp", "", {"eval;apply;eval;apply;eval;apply;prim": 10})]
PIDS = [(0, "swapper", "", {"idle_[k]": 30}), (21, "worker", "", {"run": 40}),
        (22, "worker", "", {"run": 30})]


def split(stack):
    """Frames; the semicolons of a Java signature separate none."""
    return [frame.replace("\0", ";") for frame in
            re.sub(r"\([^)]*\)", lambda m: m.group().replace(";", "\0"), stack).split(";")]


def samples(profile):
    return sum(sum(stacks.values()) for *_, stacks in profile)


def col(profile, host):
    header = {"application_metadata_enabled": True, "profiling_mode": "cpu",
              "metadata": {"hostname": host, "current_time": "2026-02-03T04:05:06"}}
    lines = ["# " + json.dumps(header)]
    for _, comm, container, stacks in profile:
        for stack, count in stacks.items():
            frames = ";".join(frame.replace(";", "|") for frame in split(stack))
            lines.append(f"0;{container};{comm};{frames} {count}")
    return "\n".join(lines)


def folded(profile):
    """Without a header, as other programs write it."""
    return "\n".join(f"{comm};{stack} {count}" for _, comm, _, stacks in profile
                     for stack, count in stacks.items() if "(" not in stack) + "\n"


def data(profile, host):
    """As docs/formats.md describes it."""
    numbers, rows, processes = {}, [], []
    for pid, comm, container, stacks in profile:
        last = []
        processes.append([len(stacks), pid, comm, container])
        for stack, count in stacks.items():
            frames = stack if isinstance(stack, tuple) else split(stack)
            kept = 0
            while kept < min(len(last), len(frames)) and last[kept] == frames[kept]:
                kept += 1
            rows += [kept, len(frames) - kept]
            rows += [numbers.setdefault(frame, len(numbers)) for frame in frames[kept:]]
            rows.append(count)
            last = frames
    return {"host": host, "start": "2026-02-03T04:05:06", "end": "2026-02-03T04:06:06",
            "event": "cpu-time", "unit": "samples", "samples": samples(profile),
            "rows": rows, "names": list(numbers), "processes": processes}


def large(stacks=100_000, functions=20_000, processes=200):
    """Distinct stacks that share their beginnings, as those of real programs do."""
    chance = random.Random(1)
    suffixes = ["", "", "", "_[k]", "_[p]", "_[j]"]
    names = [f"ns{i % 97}::class{i % 1999}::method_{i}{chance.choice(suffixes)}"
             for i in range(functions)]
    profile = []
    for number in range(processes):
        found, frames = {}, []
        while len(found) < stacks // processes:
            frames = frames[:chance.randrange(len(frames) + 1)]
            depth = chance.randrange(4, 50)
            while len(frames) < depth:
                frames.append(names[min(int(chance.paretovariate(0.6)) - 1, functions - 1)])
            found[tuple(frames)] = 1 + int(chance.paretovariate(1.1))
        profile.append((1000 + number, f"process{number}", f"c{number % 5}", found))
    return profile


def damaged():
    """Data that must be refused, by what is wrong with it."""
    process = [[1, 7, "p", ""]]
    parts = {"depth": ([3, 1, 0, 5], process), "names": ([0, 1, 9, 5], process),
             "processes": ([0, 1, 0, 5, 0, 1, 0, 5], process),
             "endless": ([0, 1, 0, 5], [[1e15, 7, "p", ""]])}
    return {name: {**data([], "bad"), "names": ["a"], "rows": rows, "processes": processes}
            for name, (rows, processes) in parts.items()}


def put_data(page, first, second=None):
    """The page of the program with other profiles in it."""
    for mark, value in (("data", first), ("other", second)):
        text = json.dumps(value).replace("<", "\\u003c")
        begin = f'<script id="{mark}" type="application/json">'
        page, count = re.subn(re.escape(begin) + "[^<]*", lambda _: begin + text, page)
        assert count == 1, mark
    return page

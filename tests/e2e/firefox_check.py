# SPDX-License-Identifier: Apache-2.0
"""Checks a profile against the Firefox Profiler's processed format, version 60, as
its docs-developer/CHANGELOG-formats.md and the types of its source describe it."""
import collections

SHARED = {
    "stackTable": {"frame", "prefix"},
    "frameTable": {"address", "inlineDepth", "category", "subcategory", "func", "nativeSymbol",
                   "innerWindowID", "line", "column"},
    "funcTable": {"name", "isJS", "relevantForJS", "resource", "source", "lineNumber",
                  "columnNumber"},
    "resourceTable": {"type", "lib", "name", "host"},
    "nativeSymbols": {"libIndex", "address", "name", "functionSize"},
    "sources": {"uuid", "filename"},
}
COLORS = {"transparent", "purple", "green", "orange", "yellow", "lightblue", "blue", "brown",
          "magenta", "red", "lightred", "darkgrey", "grey"}
MARKERS = {"data", "name", "startTime", "endTime", "phase", "category"}


def check_table(table, columns):
    assert set(table) == columns | {"length"}
    for column in columns:
        assert len(table[column]) == table["length"], column


def within(values, n, none=()):
    assert all(v in none or (isinstance(v, int) and 0 <= v < n) for v in values)


def check_shared(profile):
    shared = profile["shared"]
    assert set(shared) == set(SHARED) | {"stringArray"}
    for name, columns in SHARED.items():
        check_table(shared[name], columns)
    strings = len(shared["stringArray"])
    assert all(isinstance(s, str) for s in shared["stringArray"])
    assert len(set(shared["stringArray"])) == strings
    stacks, frames, funcs = shared["stackTable"], shared["frameTable"], shared["funcTable"]
    within(stacks["frame"], frames["length"])
    assert all(p is None or p < i for i, p in enumerate(stacks["prefix"])), "not topological"
    assert len(set(zip(stacks["frame"], stacks["prefix"]))) == stacks["length"]
    within(frames["func"], funcs["length"])
    within(frames["category"], len(profile["meta"]["categories"]))
    assert set(frames["subcategory"]) <= {0}
    assert all(a == -1 or a > 0 for a in frames["address"])
    within(funcs["name"], strings)
    within(funcs["resource"], shared["resourceTable"]["length"], none=(-1,))
    within(funcs["source"], shared["sources"]["length"], none=(None,))
    within(shared["resourceTable"]["lib"], len(profile["libs"]))
    within(shared["resourceTable"]["name"], strings)
    within(shared["sources"]["filename"], strings)


def check_meta(meta):
    assert meta["version"] == 31 and meta["preprocessedProfileVersion"] == 60
    assert meta["interval"] > 0 and meta["stackwalk"] == 1 and meta["processType"] == 0
    assert meta["markerSchema"] == []
    assert isinstance(meta["product"], str)
    for category in meta["categories"]:
        assert category["color"] in COLORS and category["subcategories"][0] == "Other"
    assert any(c["color"] == "grey" for c in meta["categories"])


def check_thread(thread, profile):
    assert isinstance(thread["pid"], str) and isinstance(thread["tid"], int)
    assert isinstance(thread["name"], str) and isinstance(thread["processName"], str)
    assert thread["processType"] == "default" and thread["pausedRanges"] == []
    assert (thread["processStartupTime"], thread["registerTime"]) == (0, 0)
    check_table(thread["markers"], MARKERS)
    samples = thread["samples"]
    assert samples.pop("weightType") == "samples"
    check_table(samples, {"stack", "time", "weight"})
    within(samples["stack"], profile["shared"]["stackTable"]["length"])
    assert all(isinstance(w, int) and w > 0 for w in samples["weight"])
    times = samples["time"]
    assert all(a <= b for a, b in zip(times, times[1:]))
    assert all(0 <= t <= profile["meta"]["profilingEndTime"] for t in times)


def check(profile):
    """Raises AssertionError for what the viewer would trip over."""
    assert set(profile) == {"meta", "libs", "threads", "shared"}
    check_meta(profile["meta"])
    check_shared(profile)
    for lib in profile["libs"]:
        assert set(lib) == {"arch", "name", "path", "debugName", "debugPath", "breakpadId",
                            "codeId"}
    mains = collections.Counter(t["pid"] for t in profile["threads"] if t["isMainThread"])
    assert set(mains.values()) <= {1}
    assert set(mains) == {t["pid"] for t in profile["threads"]}
    for thread in profile["threads"]:
        check_thread(thread, profile)


def stacks(profile):
    """(process, frames from the root) -> weight, over all threads."""
    shared = profile["shared"]
    names = [shared["stringArray"][shared["funcTable"]["name"][f]]
             for f in shared["frameTable"]["func"]]
    paths = []
    for frame, prefix in zip(shared["stackTable"]["frame"], shared["stackTable"]["prefix"]):
        paths.append((() if prefix is None else paths[prefix]) + (names[frame],))
    found = collections.Counter()
    for thread in profile["threads"]:
        for stack, weight in zip(thread["samples"]["stack"], thread["samples"]["weight"]):
            found[thread["processName"], paths[stack]] += weight
    return found

#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Turns the reports of meson and pytest into lines: RESULT<tab>name<tab>reason.

results.py meson build/meson-logs/testlog.json
results.py junit report.xml
results.py left MARK      processes whose environment holds MARK, ended here
"""
import glob
import json
import os
import signal
import sys
import xml.etree.ElementTree as xml


def show(result, name, reason=""):
    print(result, name, " ".join(str(reason).split())[:300], sep="\t")


def meson(path):
    with open(path, encoding="utf-8") as f:
        for line in f:
            test = json.loads(line)
            result = test["result"]
            name = test["name"].split(" / ")[-1]
            if result in ("OK", "EXPECTEDFAIL"):
                show("PASS", name)
            elif result == "SKIP":
                show("SKIP", name, test.get("stderr") or test.get("stdout") or "the test says so")
            else:
                show("FAIL", name, f"{result}, see {os.path.dirname(path)}/testlog.txt")


def junit(path):
    for case in xml.parse(path).getroot().iter("testcase"):
        name = case.get("classname", "").split(".")[-1] + "::" + case.get("name", "")
        for bad in ("failure", "error"):
            found = case.find(bad)
            if found is not None:
                show("FAIL", name, found.get("message", ""))
                break
        else:
            skipped = case.find("skipped")
            if skipped is not None:
                show("SKIP", name, skipped.get("message", ""))
            else:
                show("PASS", name)


def left(mark):
    """Whatever a test started and forgot: it must not outlive the run."""
    mine = {os.getpid(), os.getppid()}
    for folder in glob.glob("/proc/[0-9]*"):
        pid = int(folder.rpartition("/")[2])
        try:
            with open(folder + "/environ", "rb") as f:
                if pid in mine or mark.encode() not in f.read().split(b"\0"):
                    continue
            with open(folder + "/cmdline", "rb") as f:
                command = f.read().replace(b"\0", b" ").decode(errors="replace")
            if command:
                os.kill(pid, signal.SIGKILL)
                show("FAIL", "no process is left", f"{pid}: {command}")
        except OSError:
            pass


if __name__ == "__main__":
    {"meson": meson, "junit": junit, "left": left}[sys.argv[1]](sys.argv[2])

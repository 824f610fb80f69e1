# SPDX-License-Identifier: Apache-2.0
"""Functions and a file with names that are not ASCII, for SECONDS of CPU time."""
import json
import os
import sys
import time

SOURCE = """
def na\u00efve(until):
    \u0444\u0443\u043d\u043a\u0446\u0438\u044f(until)

def \u0444\u0443\u043d\u043a\u0446\u0438\u044f(until):
    \U000103a0\U000103a1(until)

def \U000103a0\U000103a1(until):
    while time.process_time() < until:
        x = sum([i * i for i in range(1000)])
"""
space = {"time": time}
exec(compile(SOURCE, "/srv/datei_\u00e4\u20ac\U0001f40d.py", "exec"), space)
sys.stdin.readline()
begin = time.process_time()
space["na\u00efve"](begin + float(sys.argv[1]))
print(json.dumps({"pid": os.getpid(), "cpu_ns": int(1e9 * (time.process_time() - begin))}))

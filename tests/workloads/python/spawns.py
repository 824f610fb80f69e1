# SPDX-License-Identifier: Apache-2.0
"""Works for half a second, then starts TIMES programs of SECONDS each, one after another: its
children become other programs at once."""
import json
import os
import subprocess
import sys
import time


def works(seconds):
    begin, x = time.process_time(), 0
    while time.process_time() - begin < seconds:
        for i in range(2000):
            x += i


def main():
    times, seconds = int(sys.argv[1]), sys.argv[2]
    sys.stdin.readline()
    works(0.5)
    brief = os.path.join(os.path.dirname(os.path.abspath(__file__)), "brief.py")
    pids = []
    for _ in range(times):
        child = subprocess.Popen([sys.executable, brief, seconds])
        pids.append(child.pid)
        child.wait()
    print(json.dumps({"pid": os.getpid(), "pids": pids}))


main()

# SPDX-License-Identifier: Apache-2.0
"""WORKERS forked processes that work for SECONDS of CPU time each, one after another ROUNDS
times, as a pool that is made anew does it. Reports their pids."""
import json
import os
import sys
import time


def serves(seconds):
    begin, x = time.process_time(), 0
    while time.process_time() - begin < seconds:
        for i in range(2000):
            x += i
    return x


def round_of(workers, seconds):
    pids = []
    for _ in range(workers):
        pid = os.fork()
        if not pid:
            serves(seconds)
            os._exit(0)
        pids.append(pid)
    for pid in pids:
        os.waitpid(pid, 0)
    return pids


def main():
    workers, rounds, seconds = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    sys.stdin.readline()
    for _ in range(rounds):
        for pid in round_of(workers, seconds):
            print(json.dumps({"pid": pid, "cpu_ns": int(1e9 * seconds)}))


main()

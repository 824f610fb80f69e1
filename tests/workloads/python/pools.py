# SPDX-License-Identifier: Apache-2.0
"""Pools of WORKERS processes, made and destroyed TIMES times with PAUSE seconds between them, as
multiprocessing makes them by fork. Each worker works SECONDS of CPU time at least once. Reports
what the workers used, each pool a line."""
import json
import multiprocessing
import os
import sys
import time


def pooled(seconds):
    begin, x = time.process_time(), 0
    while time.process_time() - begin < seconds:
        for i in range(2000):
            x += i
    return os.getpid(), int(1e9 * (time.process_time() - begin))


def main():
    workers, times = int(sys.argv[1]), int(sys.argv[2])
    seconds, pause = float(sys.argv[3]), float(sys.argv[4])
    sys.stdin.readline()
    context = multiprocessing.get_context("fork")
    for _ in range(times):
        with context.Pool(workers) as pool:
            done = pool.map(pooled, [seconds] * workers, chunksize=1)
        print(json.dumps({"pids": sorted({pid for pid, _ in done}),
                          "cpu_ns": sum(ns for _, ns in done)}), flush=True)
        time.sleep(pause)


if __name__ == "__main__":
    main()

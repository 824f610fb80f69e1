# SPDX-License-Identifier: Apache-2.0
"""Threads that begin and end, one after another as fast as it goes, beside one that works
steadily, for SECONDS. Reports how many there were, and what the steady one used."""
import json
import os
import sys
import threading
import time


def steady(until, used):
    begin, x = time.thread_time(), 0
    while time.monotonic() < until:
        for i in range(2000):
            x += i
    used.append(time.thread_time() - begin)


def brief():
    pass


def main():
    sys.setswitchinterval(0.0005)
    seconds, n, used = float(sys.argv[1]), 0, []
    sys.stdin.readline()
    begin = time.monotonic()
    worker = threading.Thread(target=steady, args=(begin + seconds, used))
    worker.start()
    while worker.is_alive():
        batch = [threading.Thread(target=brief) for _ in range(10)]
        for thread in batch:
            thread.start()
        for thread in batch:
            thread.join()
        n += len(batch)
    print(json.dumps({"pid": os.getpid(), "threads": n, "seconds": time.monotonic() - begin,
                      "steady_ns": int(1e9 * used[0])}))


main()

# SPDX-License-Identifier: Apache-2.0
"""THREADS threads of which the last BUSY work, for SECONDS of CPU time each; then all end."""
import json
import os
import sys
import threading
import time


def waits(gate):
    gate.wait()


def works(seconds):
    end, x = time.thread_time() + seconds, 0
    while time.thread_time() < end:
        for i in range(2000):
            x += i
    return x


def main():
    threads, busy, seconds = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    threading.stack_size(256 * 1024)
    gate = threading.Event()
    idle = [threading.Thread(target=waits, args=(gate,)) for _ in range(threads - busy)]
    for thread in idle:
        thread.start()
    sys.stdin.readline()
    begin = time.process_time()
    working = [threading.Thread(target=works, args=(seconds,)) for _ in range(busy)]
    for thread in working:
        thread.start()
    for thread in working:
        thread.join()
    print(json.dumps({"pid": os.getpid(), "cpu_ns": int(1e9 * (time.process_time() - begin))}))
    gate.set()


main()

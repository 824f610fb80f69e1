# SPDX-License-Identifier: Apache-2.0
"""Two threads that split CPU time 70:30, for SECONDS of CPU time together. For Python from 3.7
on."""
import json
import os
import sys
import threading
import time


def spin(n):
    x = 0
    for i in range(n):
        x += i * i % 7
    return x


def heavy(seconds):
    while time.thread_time() < seconds:
        spin(10000)


def light(seconds):
    while time.thread_time() < seconds:
        spin(10000)


def main():
    sys.stdin.readline()
    begin, seconds, used = time.process_time(), float(sys.argv[1]), {}

    def runs(function, share):
        function(share * seconds)
        used[function.__name__] = time.thread_time()

    threads = [threading.Thread(target=runs, args=a) for a in ((heavy, 0.7), (light, 0.3))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(json.dumps({"pid": os.getpid(), "cpu_ns": int(1e9 * (time.process_time() - begin)),
                      "heavy_ns": int(1e9 * used["heavy"]), "light_ns": int(1e9 * used["light"])}))


main()

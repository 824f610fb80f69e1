# SPDX-License-Identifier: Apache-2.0
"""split.py SECONDS [LONGEST]: two functions that split CPU time 70:30 in turns of random
length, for SECONDS of CPU time, at most LONGEST seconds. Waits for a line first; reports what
each really used. For every Python from 2.7 on."""
import json
import os
import random
import sys
import time

cpu = getattr(time, "thread_time", None) or getattr(time, "process_time", None) or time.clock


def spin(n):
    x = 0
    for i in range(n):
        x += i * i % 7
    return x


def heavy(n):
    return spin(n)


def light(n):
    return spin(n)


class Worker(object):
    def __init__(self):
        self.used = [0.0, 0.0]
        self.random = random.Random(42)

    def turn(self, function, which, n):
        begin = cpu()
        function(n)
        self.used[which] += cpu() - begin

    def run(self, seconds, longest):
        end, until = cpu() + seconds, time.time() + longest
        while cpu() < end and time.time() < until:
            n = self.random.randint(500, 4000)
            self.turn(heavy, 0, 7 * n)
            self.turn(light, 1, 3 * n)


def main():
    sys.stdin.readline()
    begin, worker = cpu(), Worker()
    worker.run(float(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 1e6)
    print(json.dumps({"pid": os.getpid(), "cpu_ns": int(1e9 * (cpu() - begin)),
                      "heavy_ns": int(1e9 * worker.used[0]),
                      "light_ns": int(1e9 * worker.used[1])}))


main()

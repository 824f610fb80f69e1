# SPDX-License-Identifier: Apache-2.0
"""Two interpreters beside the main one, each in a thread of its own, that split CPU time 70:30
in turns, for SECONDS of CPU time. From 3.12 on each has its own GIL, unless the third argument
is "legacy". For Python from 3.8 on."""
import json
import os
import sys
import threading
import time

SOURCE = """
import time

def spin(n):
    x = 0
    for i in range(n):
        x += i * i % 7
    return x

def {name}(until):
    while time.thread_time() < until:
        spin(10000)

{name}(time.thread_time() + {seconds})
"""


def module():
    for name in ("_interpreters", "_xxsubinterpreters"):
        try:
            return __import__(name)
        except ImportError:
            pass
    raise SystemExit("this Python has no interpreters")


def create(m):
    if len(sys.argv) > 2:
        return m.create("legacy") if m.__name__ == "_interpreters" else m.create(isolated=False)
    return m.create()


def main():
    m = module()
    sys.stdin.readline()
    begin, seconds, found = time.process_time(), float(sys.argv[1]), {}

    def runs(name, share):
        before = time.thread_time()
        m.run_string(create(m), SOURCE.format(name=name, seconds=share * seconds))
        found[name] = time.thread_time() - before

    threads = [threading.Thread(target=runs, args=a) for a in (("heavy", 0.7), ("light", 0.3))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(json.dumps({"pid": os.getpid(), "cpu_ns": int(1e9 * (time.process_time() - begin)),
                      "heavy_ns": int(1e9 * found["heavy"]),
                      "light_ns": int(1e9 * found["light"])}))


main()

# SPDX-License-Identifier: Apache-2.0
"""Two greenlets that switch to each other and split CPU time 70:30, for SECONDS of CPU time;
with a third argument "gevent" they are gevent's. For every Python from 2.7 on."""
import json
import os
import random
import sys
import time

cpu = getattr(time, "process_time", None) or time.clock


def spin(n):
    x = 0
    for i in range(n):
        x += i * i % 7
    return x


class Task(object):
    def __init__(self, seconds, switch):
        self.until, self.switch, self.random = cpu() + seconds, switch, random.Random(3)
        self.used = {"heavy": 0.0, "light": 0.0}

    def turns(self, name, n):
        while cpu() < self.until:
            begin = cpu()
            spin(n * self.random.randint(500, 4000))
            self.used[name] += cpu() - begin
            self.switch(name)


def heavy(task):
    task.turns("heavy", 7)


def light(task):
    task.turns("light", 3)


def by_greenlet(seconds):
    import greenlet
    other = {}
    task = Task(seconds, lambda name: other[name].switch() if not other[name].dead else None)
    both = {"heavy": greenlet.greenlet(lambda: heavy(task)),
            "light": greenlet.greenlet(lambda: light(task))}
    other.update(heavy=both["light"], light=both["heavy"])
    for one in both.values():
        while not one.dead:
            one.switch()
    return task


def by_gevent(seconds):
    import gevent
    task = Task(seconds, lambda name: gevent.sleep(0))
    gevent.joinall([gevent.spawn(heavy, task), gevent.spawn(light, task)])
    return task


def main():
    sys.stdin.readline()
    begin = cpu()
    task = (by_gevent if sys.argv[2:] == ["gevent"] else by_greenlet)(float(sys.argv[1]))
    print(json.dumps({"pid": os.getpid(), "cpu_ns": int(1e9 * (cpu() - begin)),
                      "heavy_ns": int(1e9 * task.used["heavy"]),
                      "light_ns": int(1e9 * task.used["light"])}))


main()

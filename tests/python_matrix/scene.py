# SPDX-License-Identifier: Apache-2.0
# -*- coding: utf-8 -*-
"""Threads that wait in all kinds of Python frames, and what Python itself says of them:
record.py makes the images of tests/unit/python/images of it. For every version from 2.7 on.

Writes to the file of its first argument, for each thread: "expect thread", then a line
"expect FUNCTION|FILE|LINE" for each frame from the leaf on. Then it waits."""
import sys
import threading
import time

PY3 = sys.version_info[0] >= 3
ready = threading.Semaphore(0)
gate = threading.Lock()
gate.acquire()


def wait():
    ready.release()
    gate.acquire()


class Plain(object):
    def method(self, depth):
        if depth:
            return self.method(depth - 1)
        return self.last(
            [n for n in range(3)],
            other=None)

    def last(self, numbers, other):
        for n in numbers:
            if n == 1:
                wait()

    @classmethod
    def made(cls):
        return cls().method(2)

    @staticmethod
    def alone():
        (lambda: wait())()


class Child(Plain):
    def __call__(self):
        def inner():
            def innermost():
                wait()
            innermost()
        inner()


def numbers(n):
    for i in range(n):
        yield i
        if i == 2:
            wait()


def generator():
    return sum(x for x in numbers(5))


def callback():
    return list(map(lambda x: wait(), [1, 2]))


def sorted_by():
    return sorted([3, 1], key=lambda x: wait())


def deep(n):
    return deep(n - 1) if n else wait()


def executed():
    exec(compile("\n" * 400 + "def f():\n" + "    x = 1\n" * 300 + "    wait()\nf()\n",
                 "<string>", "exec"), {"wait": wait})


UNICODE = u"""
def na\u00efve():
    \u0444\u0443\u043d\u043a\u0446\u0438\u044f()

def \u0444\u0443\u043d\u043a\u0446\u0438\u044f():
    \U000103a0\U000103a1()

def \U000103a0\U000103a1():
    wait()

na\u00efve()
"""


def unicode_names():
    exec(compile(UNICODE, u"/tmp/datei_\u00e4\u20ac\U0001f40d.py", "exec"), {"wait": wait})


def names_of_classes(frame):
    code = frame.f_code
    if hasattr(code, "co_qualname"):
        return code.co_qualname
    first = code.co_varnames[0] if code.co_argcount else ""
    value = frame.f_locals.get(first)
    if first == "self":
        return type(value).__name__ + "." + code.co_name
    if first == "cls":
        return value.__name__ + "." + code.co_name
    return code.co_name


def tell(path):
    lines = []
    for ident, frame in sys._current_frames().items():
        if ident == threading.current_thread().ident:
            continue
        lines.append(u"expect thread")
        while frame:
            lines.append(u"expect %s|%s|%d" % (names_of_classes(frame),
                                               frame.f_code.co_filename, frame.f_lineno))
            frame = frame.f_back
    with open(path, "wb") as to:
        to.write((u"\n".join(lines) + u"\n").encode("utf-8"))


def teller(path, n):
    for _ in range(n):
        ready.acquire()
    time.sleep(0.5)
    tell(path)
    print("ready")
    sys.stdout.flush()
    gate.acquire()


def main():
    scenes = [Plain().last, Plain.made, Plain.alone, Child(), generator, callback, sorted_by,
              lambda: deep(30), executed]
    if PY3:
        scenes.append(unicode_names)
    for scene in scenes:
        args = ([1], None) if scene == scenes[0] else ()
        thread = threading.Thread(target=scene, args=args)
        thread.daemon = True
        thread.start()
    thread = threading.Thread(target=teller, args=(sys.argv[1], len(scenes) + 1))
    thread.daemon = True
    thread.start()
    wait()


main()

# SPDX-License-Identifier: Apache-2.0
"""Python that calls C that calls Python: libc's qsort with a comparison in Python, through
ctypes, for SECONDS of CPU time."""
import ctypes
import json
import os
import random
import sys
import time

libc = ctypes.CDLL(None)
COMPARE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))


def weighs(x):
    y = 0
    for i in range(200):
        y += i * x
    return y


def compares(a, b):
    return (weighs(a[0]) > weighs(b[0])) - (weighs(a[0]) < weighs(b[0]))


def sorts(numbers, callback):
    array = (ctypes.c_int * len(numbers))(*numbers)
    libc.qsort(array, len(numbers), ctypes.sizeof(ctypes.c_int), callback)
    return list(array)


def main():
    sys.stdin.readline()
    chance, callback = random.Random(1), COMPARE(compares)
    begin = time.process_time()
    while time.process_time() - begin < float(sys.argv[1]):
        numbers = [chance.randint(0, 10**6) for _ in range(100)]
        assert sorts(numbers, callback) == sorted(numbers)
    print(json.dumps({"pid": os.getpid(), "cpu_ns": int(1e9 * (time.process_time() - begin))}))


main()

# SPDX-License-Identifier: Apache-2.0
"""A C extension at work, and system calls of it: numpy, for SECONDS of CPU time."""
import json
import os
import sys
import time

import numpy


def multiplies(a):
    return numpy.sin(a) * a + numpy.sqrt(a)


def main():
    a = numpy.arange(200000, dtype=float)
    sys.stdin.readline()
    begin = time.process_time()
    while time.process_time() - begin < float(sys.argv[1]):
        multiplies(a)
    print(json.dumps({"pid": os.getpid(), "cpu_ns": int(1e9 * (time.process_time() - begin))}))


main()

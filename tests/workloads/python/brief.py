# SPDX-License-Identifier: Apache-2.0
"""A program that lives for SECONDS of CPU time."""
import sys
import time


def briefly(seconds):
    x = 0
    while time.process_time() < seconds:
        for i in range(2000):
            x += i
    return x


briefly(float(sys.argv[1]))

# SPDX-License-Identifier: Apache-2.0
"""rooted.py NAME SECONDS: sorts in a function called sorts_NAME for so long, of CPU time. Waits
for a line first. For every Python from 2.7 on."""
import sys
import time

SOURCE = """
def sorts_%s(values):
    return sorted(values)


def %s_begins(seconds):
    values = [i * 7919 %% 10007 for i in range(3000)]
    end = cpu() + seconds
    while cpu() < end:
        sorts_%s(values)
"""
name = sys.argv[1]
code = compile(SOURCE % (name, name, name), "/srv/%s.py" % name, "exec")
space = {"cpu": getattr(time, "process_time", None) or time.clock}
exec(code, space)
sys.stdin.readline()
space[name + "_begins"](float(sys.argv[2]))
print('{"cpu_ns": 1}')

# SPDX-License-Identifier: Apache-2.0
"""library.py FOLDER SECONDS: a little work all the time, in a file of FOLDER/site-packages, where a
thousand packages are installed. Waits for a line first; reports its CPU time."""
import json
import os
import sys
import time

PACKAGES, FILES = 1000, 300
MODULE = """
import time


def works(seconds):
    begin, x = time.process_time(), 0
    while time.process_time() - begin < seconds:
        for i in range(2000):
            x += i
"""


def install(site):
    for k in range(PACKAGES):
        name = "shelf%d" % k
        info = os.path.join(site, "%s-1.%d.dist-info" % (name, k))
        os.makedirs(info)
        with open(os.path.join(info, "METADATA"), "w") as f:
            f.write("Metadata-Version: 2.1\nName: %s\nVersion: 1.%d\n\n" % (name, k))
        with open(os.path.join(info, "RECORD"), "w") as f:
            f.writelines("%s/part_%d/file_%d.py,sha256=%040d,%d\n" % (name, i % 9, i, i, i)
                         for i in range(FILES))
    os.makedirs(os.path.join(site, "shelf7"))
    with open(os.path.join(site, "shelf7", "__init__.py"), "w") as f:
        f.write(MODULE)


def main():
    site = os.path.join(sys.argv[1], "site-packages")
    install(site)
    sys.path.insert(0, site)
    import shelf7  # pylint: disable=import-error,import-outside-toplevel
    sys.stdin.readline()
    until = time.time() + float(sys.argv[2])
    while time.time() < until:
        shelf7.works(0.005)
        time.sleep(0.045)
    print(json.dumps({"cpu_ns": int(1e9 * time.process_time())}))


main()

# SPDX-License-Identifier: Apache-2.0
"""The files of the repository, as the style checks see them."""
import os
import sys

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))


def skipped(folder):
    """Build trees, caches, git's own data, and inputs of fuzz targets."""
    return folder == ".git" or folder == "build" or folder.startswith("build-") or (
        folder in ("__pycache__", ".pytest_cache", "corpus"))


def files(*suffixes, root=ROOT):
    """Paths relative to the root, sorted; no suffix: all files."""
    found = []
    for folder, below, names in os.walk(root):
        below[:] = sorted(b for b in below if not skipped(b))
        for name in names:
            path = os.path.relpath(os.path.join(folder, name), root)
            if not os.path.islink(os.path.join(folder, name)) and (
                    not suffixes or name.endswith(suffixes)):
                found.append(path)
    return sorted(found)


def read(path, root=ROOT):
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as f:
        return f.read()


def finish(problems):
    """Prints what is wrong and ends the program accordingly."""
    for problem in problems:
        print(problem)
    sys.exit(1 if problems else 0)

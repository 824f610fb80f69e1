#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Includes go down the layers only, and every source file names its licence."""
import os
import re

import tree

# Layers of one rank do not know each other.
RANK = {"base": 0, "config": 1, "elf": 1, "sym": 2, "proc": 3, "unwind": 3, "profile": 4,
        "encode": 5, "decode": 6, "plugin": 5, "source": 5, "sink": 5, "health": 5, "containers": 5,
        "program": 1}  # a user of the library: it may share core/base
TOP = 7  # files of core/ itself
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">]+)[">]', re.M)
SPDX = "SPDX-License-Identifier: Apache-2.0"


def layer(path):
    """The layer of a path below core/; "" is the top."""
    parts = path.split("/")
    return parts[1] if len(parts) > 2 else ""


def rank(name):
    return TOP if name == "" else RANK.get(name)


def resolve(path, name):
    """Where a quoted include lies in the repository, or None."""
    for folder in ("core", os.path.dirname(path)):
        found = os.path.normpath(os.path.join(folder, name))
        if os.path.isfile(os.path.join(tree.ROOT, found)):
            return found
    return None


def names_core(name):
    """Does an include in angle brackets reach into core/?"""
    return "/" in name and name.split("/")[0] in RANK


def check_core(path, quote, name):
    mine = layer(path)
    if rank(mine) is None:
        return f"core/{mine} has no place in the order of layers (tests/style/includes.py)"
    if quote == "<":
        return f'<{name}> is ours: write "{name}"' if names_core(name) else None
    found = resolve(path, name)
    if found is None:
        return f'"{name}" is not there'
    if not found.startswith("core/"):
        return f'"{name}" lies outside of core/'
    theirs = layer(found)
    if theirs == mine or rank(theirs) < rank(mine):
        return None
    return f'"{name}": {mine or "core"} may not include from {theirs or "core itself"}'


def check_plugin(path, quote, name):
    folder = "/".join(path.split("/")[:-1])
    if quote == "<":
        return f"<{name}>: plugins know nothing of core/" if names_core(name) else None
    found = os.path.normpath(os.path.join(os.path.dirname(path), name))
    if not os.path.isfile(os.path.join(tree.ROOT, found)):
        return f'"{name}" is not in the plugin\'s own folder'
    return None if found.startswith(folder + "/") else f'"{name}" leaves the plugin\'s folder'


def check_public(quote, name):
    if quote == "<" and not names_core(name):
        return None
    return f"{name}: public headers include <gpc/...> and system headers only"


def check(path, quote, name):
    if path.startswith("core/"):
        return check_core(path, quote, name)
    if path.startswith(("plugins/", "tests/plugins/", "sdk/examples/", "sdk/template/")):
        return check_plugin(path, quote, name)
    if path.startswith("sdk/include/"):
        return check_public(quote, name)
    return None


def licensed(path, text):
    """The first line, or the second below #!."""
    lines = text.splitlines()[:2]
    if lines and lines[0].startswith("#!"):
        lines = lines[1:]
    return bool(lines) and SPDX in lines[0]


def scripts():
    """Programs without a suffix: quickstart, tests/run ..."""
    for path in tree.files():
        if "." not in os.path.basename(path) and tree.read(path)[:2] == "#!":
            yield path


def main():
    problems = []
    for path in tree.files(".c", ".h"):
        text = tree.read(path)
        for match in INCLUDE.finditer(text):
            problem = check(path, *match.groups())
            if problem:
                line = text.count("\n", 0, match.start()) + 1
                problems.append(f"{path}:{line}: {problem}")
    for path in tree.files(".c", ".h", ".cc", ".py", ".sh") + list(scripts()):
        text = tree.read(path)
        if text and not licensed(path, text):
            problems.append(f"{path}:1: does not begin with {SPDX}")
    tree.finish(problems)


if __name__ == "__main__":
    main()

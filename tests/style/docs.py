#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Every path that the documentation names exists."""
import glob
import os
import re

import tree

FENCE = re.compile(r"^```.*?^```", re.M | re.S)
TICKED = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\]\(([^)\s]+)\)")
SUFFIXES = (".c", ".h", ".py", ".md", ".sh", ".build", ".ini")
PLACEHOLDER = re.compile(r"[<>*{}\[\]$…|=,\s]|\.\.\.|NAME|PID")
WITHOUT_TREE = ("build/", "build-")  # made, not kept


def documents():
    for pattern in ("*.md", "docs/*.md", "plugins/*/README.md", "core/README.md",
                    "tests/README.md", "sdk/*.md"):
        for path in sorted(glob.glob(os.path.join(tree.ROOT, pattern))):
            yield os.path.relpath(path, tree.ROOT)


def tops():
    """What a repository path may begin with."""
    return set(os.listdir(tree.ROOT)) | {"core", "plugins", "sdk", "tests", "docs", "gpc"} | set(
        os.listdir(os.path.join(tree.ROOT, "core")))


def looks_like_path(name, known):
    if PLACEHOLDER.search(name) or name.startswith(("/", "~", "-") + WITHOUT_TREE):
        return False
    name = name[2:] if name.startswith("./") else name
    if "/" in name.rstrip("/"):
        return name.split("/")[0] in known
    return name.endswith(SUFFIXES) and name not in SUFFIXES


def exists(name, document, names):
    name = re.sub(r"(:\d+|#[\w-]+)$", "", name)
    for folder in ("", os.path.dirname(document), "core", "sdk/include"):
        if os.path.exists(os.path.join(tree.ROOT, folder, name)):
            return True
    return "/" not in name and name in names


def link_target(name):
    """The path of a link, or None when it leads elsewhere."""
    if re.match(r"[a-z]+:", name) or name.startswith("#"):
        return None
    return name.split("#")[0]


def main():
    names = {os.path.basename(p) for p in tree.files()}
    known = tops()
    problems = []
    for document in documents():
        text = FENCE.sub(lambda m: "\n" * m.group().count("\n"), tree.read(document))
        for match in TICKED.finditer(text):
            name = match.group(1)
            if looks_like_path(name, known) and not exists(name, document, names):
                line = text.count("\n", 0, match.start()) + 1
                problems.append(f"{document}:{line}: `{name}` does not exist")
        for match in LINK.finditer(text):
            name = link_target(match.group(1))
            if name and not exists(name, document, ()):
                line = text.count("\n", 0, match.start()) + 1
                problems.append(f"{document}:{line}: the link to {name} leads nowhere")
    tree.finish(problems)


if __name__ == "__main__":
    main()

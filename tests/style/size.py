#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Limits on files and functions; prints their distribution.

A comment "size: table" or "size: decoder" allows more: in the first lines of a
file for the file, directly above a function for the function.
"""
import json
import re
import subprocess
import sys

import tree

FILE_LINES, FILE_LINES_MARKED = 600, 1200
FUNCTION_LINES, FUNCTION_LINES_MARKED = 60, 120
PARAMETERS, NESTING = 6, 4
MARK = re.compile(r"(/\*|//| \*) *size: (table|decoder)\b")

BLANKED = re.compile(r"""/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.S)
CONTROL = re.compile(r"\s*(?:\}\s*)?(?:else\s+)?(?:\w+\s*\(|do\b|else\b)")


def blank(text):
    """The text with comments, strings and characters emptied; lines stay."""
    def hide(match):
        found = match.group()
        if found.startswith("/"):
            return re.sub(r"[^\n]", " ", found)
        return '""'
    return BLANKED.sub(hide, text)


def functions(paths):
    """The function definitions that ctags finds."""
    out = subprocess.run(
        ["ctags", "--output-format=json", "--fields=+neS", "--languages=C,C++",
         "--langmap=C:.c.h", "--kinds-C=f", "-f", "-", "-L", "-"],
        input="\n".join(paths), capture_output=True, text=True, check=True, cwd=tree.ROOT)
    tags = (json.loads(line) for line in out.stdout.splitlines() if line.startswith("{"))
    return [t for t in tags if t.get("kind") == "function" and "end" in t]


def parameters(signature):
    """How many; the err at the end and "..." do not count."""
    depth, parts = 0, [""]
    for c in signature.strip()[1:-1]:
        depth += (c == "(") - (c == ")")
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    parts = [p.strip() for p in parts]
    return sum(1 for p in parts if p not in ("", "void", "...")
               and not re.fullmatch(r"struct gpc_err ?\* ?\w+", p))


class Nesting:
    """Walks the blanked lines of a function and finds the deepest statement.

    Indentation tells the depth (the formatter guarantees it); lines that do not
    begin a statement (arguments, initialisers) are left out.
    """

    def __init__(self):
        self.deepest = 0
        self.parens = 0
        self.data = 0          # open braces of initialisers
        self.braces = []       # for each open brace: is it data?
        self.statement = ""    # text since the statement began

    def line(self, text):
        code = text.strip()
        if not code or code.startswith("#"):
            return
        if not self.statement.strip() and not self.parens and not self.data:
            if code[0] != "}" and not re.match(r"(case\b.*|default *):|\w+:$", code):
                self.deepest = max(self.deepest, len(text) - len(text.lstrip("\t")) - 1)
        for c in code + "\n":
            self.char(c)

    def char(self, c):
        self.parens += (c == "(") - (c == ")")
        if c == "{":
            data = bool(self.data) or self.parens > 0 or not self.is_block()
            self.braces.append(data)
            self.data += data
            self.statement = self.statement + c if data else ""
        elif c == "}" and self.braces:
            data = self.braces.pop()
            self.data -= data
            self.statement = self.statement + c if data else ""
        elif c in ";:" and not self.parens and not self.data:
            self.statement = self.statement + c if c == ":" and "?" in self.statement else ""
        elif c == "\n" and not self.parens and self.is_header():
            self.statement = ""
        else:
            self.statement += c

    def is_block(self):
        """Does a brace here open a block?"""
        text = self.statement.strip()
        return text == "" or text in ("do", "else") or (
            text.endswith(")") and CONTROL.match(text) is not None)

    def is_header(self):
        """Is this the head of a control statement that has no braces?"""
        text = self.statement.strip()
        return text in ("do", "else") or re.match(r"(else )?(if|for|while|switch) ?\(.*\)$", text,
                                                  re.S) is not None


def nesting(lines):
    walk = Nesting()
    start = next((i for i, line in enumerate(lines) if line.startswith("{")), len(lines))
    for line in lines[start + 1:-1]:
        walk.line(line)
    return walk.deepest


def check_file(path, lines):
    limit = FILE_LINES_MARKED if any(MARK.search(line) for line in lines[:5]) else FILE_LINES
    if len(lines) > limit:
        yield f"{path}: {len(lines)} lines, {limit} are allowed"


def check_function(tag, lines, code):
    where = f"{tag['path']}:{tag['line']}: {tag['name']}"
    first, last = tag["line"] - 1, tag["end"]
    marked = any(MARK.search(line) for line in lines[max(0, first - 6):first + 1])
    limit = FUNCTION_LINES_MARKED if marked else FUNCTION_LINES
    if last - first > limit:
        yield f"{where} has {last - first} lines, {limit} are allowed"
    n = parameters(tag.get("signature", "()"))
    if n > PARAMETERS:
        yield f"{where} has {n} parameters, {PARAMETERS} are allowed"
    deep = nesting(code[first:last])
    if deep > NESTING:
        yield f"{where} nests {deep} deep, {NESTING} is allowed"


def distribution(what, sizes, limit=100):
    if not sizes:
        return
    sizes = sorted(sizes)
    at = lambda q: sizes[min(len(sizes) - 1, int(q * len(sizes)))]
    over = 100 * sum(s > limit for s in sizes) / len(sizes)
    print(f"{what:<22}{len(sizes):>7}{at(.5):>8}{at(.9):>6}{at(.99):>6}{sizes[-1]:>6}{over:>10.1f} %")


def main():
    paths = tree.files(".c", ".h")
    text = {p: tree.read(p) for p in paths}
    lines = {p: t.splitlines() for p, t in text.items()}
    code = {p: blank(t).splitlines() for p, t in text.items()}
    tags = functions(paths)
    problems = []
    for path in paths:
        problems += check_file(path, lines[path])
    for tag in tags:
        problems += check_function(tag, lines[tag["path"]], code[tag["path"]])
    print(f"{'lines':<22}{'count':>7}{'median':>8}{'p90':>6}{'p99':>6}{'max':>6}{'over 100':>12}")
    for name, is_test in (("code", False), ("tests", True)):
        mine = lambda p: p.startswith("tests/") == is_test
        distribution(f"{name}: functions", [t["end"] - t["line"] + 1 for t in tags
                                            if mine(t["path"])])
        distribution(f"{name}: files", [len(lines[p]) for p in paths if mine(p)], FILE_LINES)
    tree.finish(problems)


if __name__ == "__main__":
    sys.exit(main())

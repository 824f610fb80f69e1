#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Layout snapshots of gpc/plugin.h and what it includes: what a plugin binary relies on, as lines.

    snapshot.py write FILE     writes the snapshot of the present header
    snapshot.py check FILE     all lines of FILE must still stand; new ones pass

--header PATH takes another header (.../gpc/plugin.h), $CC another compiler: a
cross compiler checks another architecture.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HEADER = pathlib.Path(__file__).resolve().parent.parent / "include/gpc/plugin.h"

# Grow neither by struct_size nor by a stride: their size is part of the promise.
FIXED = {"gpc_list", "gpc_record", "gpc_note"}
# Says which snapshot is the right one; not part of any.
NOT_PROMISED = {"GPC_ABI_MINOR"}

STRUCT = re.compile(r"^struct (gpc_\w+) \{$")
MEMBER = re.compile(r"^\t(.+?);\s*/\*\s*(\d+)\s+(\d+)\s*\*/$")
SIZE = re.compile(r"^\t/\* size: (\d+),")
NOISE = re.compile(r"^\t/\*.*\*/$|^$")
DIE = re.compile(r"^ *<\w+><(\w+)>: Abbrev Number: \d+ \((DW_TAG_\w+)\)")
ATTRIBUTE = re.compile(r"^ *<\w+>\s+(DW_AT_\w+)\s*:\s*(?:\([^)]*\):? )*(.*?)\s*$")
REFERENCE = re.compile(r"<0x(\w+)>")
NUMBER_MACRO = re.compile(r"^#define (GPC_\w+) ((?:UINT64_C\()?(?:0x)?[0-9A-Fa-f]+\)?)$")


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def tidy(text):
    """One spelling for what different versions of pahole space differently."""
    return re.sub(r"\s*\*\s*", " *", re.sub(r"\s+", " ", text)).replace("( *", "(*")


def members(pahole):
    """A line for every member of every struct, from pahole's listing."""
    struct = None
    for line in pahole.splitlines():
        if found := STRUCT.match(line):
            struct = found.group(1)
        elif line.startswith("}"):
            struct = None
        elif struct is None:
            continue
        elif found := MEMBER.match(line):
            what, offset, size = found.groups()
            yield f"struct {struct} +{offset} {size} bytes: {tidy(what)}"
        elif found := SIZE.match(line):
            if struct in FIXED:
                yield f"struct {struct} is {found.group(1)} bytes"
        elif not NOISE.match(line):
            sys.exit(f"snapshot: cannot read this line of pahole's: {line!r}")


class Debug:
    """The entries of .debug_info, as readelf prints them."""

    def __init__(self, readelf):
        self.entries, self.stack = {}, []
        depth_of = re.compile(r"^ *<(\w+)>")
        current = None
        for line in readelf.splitlines():
            if found := DIE.match(line):
                depth = int(depth_of.match(line).group(1), 16)
                current = {"tag": found.group(2)[len("DW_TAG_"):], "children": []}
                self.entries[found.group(1)] = current
                del self.stack[depth:]
                if self.stack:
                    self.stack[-1]["children"].append(current)
                self.stack.append(current)
            elif current is not None and (found := ATTRIBUTE.match(line)):
                current[found.group(1)[len("DW_AT_"):]] = found.group(2)

    def type_of(self, entry):
        """The type of an entry, spelled roughly as in C."""
        if "type" not in entry:
            return "void"
        kind = self.entries[REFERENCE.match(entry["type"]).group(1)]
        tag = kind["tag"]
        if tag == "pointer_type":
            return self.type_of(kind) + " *"
        if tag == "const_type":
            return "const " + self.type_of(kind)
        if tag == "subroutine_type":
            args = [self.type_of(c) for c in kind["children"] if c["tag"] == "formal_parameter"]
            return f"{self.type_of(kind)} ({', '.join(args) or 'void'})"
        if tag == "structure_type":
            return "struct " + kind["name"]
        return kind.get("name", tag)

    def lines(self):
        for entry in self.entries.values():
            name = entry.get("name", "")
            if entry["tag"] == "enumerator" and name.startswith("GPC_"):
                yield f"constant {name} = {entry['const_value']}"
            elif entry["tag"] == "typedef" and name.startswith("gpc_"):
                yield f"type {name} = {self.type_of(entry)}"


def macros(defines):
    for line in defines.splitlines():
        found = NUMBER_MACRO.match(line)
        if found and found.group(1) not in NOT_PROMISED:
            yield f"macro {found.group(1)} = {found.group(2)}"


def snapshot(header):
    compiler = os.environ.get("CC", "gcc").split()
    include = "-I" + str(header.parent.parent)
    with tempfile.TemporaryDirectory() as folder:
        source, built = folder + "/h.c", folder + "/h.o"
        pathlib.Path(source).write_text("#include <gpc/plugin.h>\n")
        run(*compiler, "-std=c99", "-g", "-fno-eliminate-unused-debug-types", include, "-c", source,
            "-o", built)
        lines = set(members(run("pahole", built)))
        lines |= set(Debug(run("readelf", "--debug-dump=info", built)).lines())
        lines |= set(macros(run(*compiler, "-std=c99", "-E", "-dM", include, source)))
    return sorted(lines, key=lambda s: [int(p) if p.isdigit() else p for p in re.split(r"(\d+)", s)])


def check(promised, now):
    """Prints what broke and what is new; the number of broken lines."""
    broken = [line for line in promised if line not in set(now)]
    for line in broken:
        print("broken:", line)
    for line in now:
        if line not in set(promised):
            print("added: ", line)
    return len(broken)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=["write", "check"])
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--header", type=pathlib.Path, default=HEADER)
    args = parser.parse_args()
    now = snapshot(args.header.resolve())
    if args.command == "write":
        args.file.write_text("\n".join(now) + "\n")
        return 0
    broken = check(args.file.read_text().splitlines(), now)
    if broken:
        print(f"{args.header} breaks {broken} lines of {args.file}: plugins built before would "
              "misbehave. Append instead, or raise the ABI version and write a new snapshot.")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())

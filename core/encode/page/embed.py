#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the page as C: embed.py page.html [FILE.css FILE.js ...] page.c

Styles and scripts go into the page in the order given, all scripts into one
scope. The page is cut where the title and the profiles go.
"""
import re
import sys


def literal(text):
    lines = []
    for line in text.splitlines(keepends=True):
        line = line.replace("\\", "\\\\").replace('"', '\\"').replace("?", "\\?")
        line = line.replace("\n", "\\n")
        lines.append('\t"' + line + '"')
    return "\n".join(lines) or '\t""'


def read(path):
    with open(path, encoding="utf-8") as f:
        text = f.read().strip()
    return re.sub(r"\A// SPDX[^\n]*\n", "", text)


def main():
    page_path, *paths, out_path = sys.argv[1:]
    page = read(page_path)
    for mark, suffix in (("{{style}}", ".css"), ("{{script}}", ".js")):
        page = page.replace(mark, "\n\n".join(read(p) for p in paths if p.endswith(suffix)))
    parts = re.split(r"\{\{(title|data|other)\}\}", page)
    if parts[1::2] != ["title", "data", "other"]:
        sys.exit("page.html must hold {{title}}, {{data}} and {{other}} once each, in this order")
    parts = parts[::2]
    with open(out_path, "w", encoding="utf-8") as out:
        out.write('#include "encode/page.h"\n\n')
        for i, part in enumerate(parts):
            out.write(f"static const char part_{i}[] =\n{literal(part)};\n\n")
        out.write("const struct gpc_page_part gpc_page_parts[GPC_PAGE_PARTS] = {\n")
        for i in range(len(parts)):
            out.write(f"\t{{part_{i}, sizeof part_{i} - 1}},\n")
        out.write("};\n")


main()

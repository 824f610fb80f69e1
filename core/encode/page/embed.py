#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the page as C: embed.py flame.html flame.css flame.js page.c

Style and script go into the page; it is cut where the title and the data go.
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


def main():
    page_path, css_path, js_path, out_path = sys.argv[1:]
    files = {}
    for path in (page_path, css_path, js_path):
        with open(path, encoding="utf-8") as f:
            files[path] = f.read()
    page = files[page_path].replace("{{flame.css}}", files[css_path].strip())
    page = page.replace("{{flame.js}}", files[js_path].strip())
    parts = re.split(r"\{\{(?:title|data)\}\}", page)
    if len(parts) != 3:
        sys.exit("flame.html must hold {{title}} and {{data}} once each")
    with open(out_path, "w", encoding="utf-8") as out:
        out.write('#include "encode/page.h"\n\n')
        for i, part in enumerate(parts):
            out.write(f"static const char part_{i}[] =\n{literal(part)};\n\n")
        out.write("const struct gpc_page_part gpc_page_parts[GPC_PAGE_PARTS] = {\n")
        for i in range(len(parts)):
            out.write(f"\t{{part_{i}, sizeof part_{i} - 1}},\n")
        out.write("};\n")


main()

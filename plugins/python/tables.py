#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tables.c: offsets of CPython's structures, taken by the compiler from the headers of
each version.

    plugins/python/tables.py INCLUDE... >plugins/python/tables.c

INCLUDE: folders with Python.h, as include/python3.8 of an installation; its header
patchlevel.h says which version it is. Only LP64 machines: what is used has the same offsets on
x86-64 and arm64.

From 3.13 on CPython publishes its offsets itself, as a row of numbers; of those versions the
table says which number is what."""
import concurrent.futures
import pathlib
import re
import subprocess
import sys

HEADERS = """
#define Py_BUILD_CORE 1
#define Py_BUILD_CORE_MODULE 1
#include <Python.h>
#include <frameobject.h>
#include <structmember.h>
#if PY_VERSION_HEX >= 0x03080000
#include <internal/pycore_pystate.h>
#elif PY_VERSION_HEX >= 0x03070000
#include <internal/pystate.h>
#endif
#if PY_VERSION_HEX >= 0x03090000
#include <internal/pycore_runtime.h>
#include <internal/pycore_interp.h>
#endif
#if PY_VERSION_HEX >= 0x03080000
#include <internal/pycore_gil.h>
#elif PY_VERSION_HEX >= 0x03070000
#include <internal/gil.h>
#endif
#if PY_VERSION_HEX >= 0x030B0000
#include <internal/pycore_frame.h>
#endif
"""

# member of struct py_layout: where it is in one version or another (struct, member)
MEMBERS = {
    "runtime_head": [("_PyRuntimeState", "interpreters.head")],
    "runtime_gil": [("_PyRuntimeState", "ceval.gil")],
    "interp_gil": [("PyInterpreterState", "ceval.gil")],
    "gil_base": [],
    "gil_holder": [("struct _gil_runtime_state", "last_holder")],
    "gil_locked": [("struct _gil_runtime_state", "locked")],
    "interp_next": [("PyInterpreterState", "next")],
    "interp_threads": [("PyInterpreterState", "tstate_head"),
                       ("PyInterpreterState", "threads.head")],
    "interp_sysdict": [("PyInterpreterState", "sysdict")],
    "thread_next": [("PyThreadState", "next")],
    "thread_interp": [("PyThreadState", "interp")],
    "thread_id": [("PyThreadState", "thread_id")],
    "thread_native_id": [("PyThreadState", "native_thread_id")],
    "thread_frame": [("PyThreadState", "frame")],
    "thread_cframe": [("PyThreadState", "cframe")],
    "thread_chunk": [("PyThreadState", "datastack_chunk")],
    "thread_status": [("PyThreadState", "_status")],
    "cframe_frame": [("_PyCFrame", "current_frame")],
    "cframe_previous": [("_PyCFrame", "previous")],
    "frame_size": [("_PyInterpreterFrame", None), ("PyFrameObject", None)],
    "frame_back": [("_PyInterpreterFrame", "previous"), ("PyFrameObject", "f_back")],
    "frame_code": [("_PyInterpreterFrame", "f_code"), ("PyFrameObject", "f_code")],
    "frame_at": [("_PyInterpreterFrame", "prev_instr"), ("PyFrameObject", "f_lasti")],
    "frame_locals": [("_PyInterpreterFrame", "localsplus"), ("PyFrameObject", "f_localsplus")],
    "frame_owner": [("_PyInterpreterFrame", "owner")],
    "frame_is_entry": [("_PyInterpreterFrame", "is_entry")],
    "frame_tlbc": [],
    "code_size": [("PyCodeObject", None)],
    "code_argcount": [("PyCodeObject", "co_argcount")],
    "code_flags": [("PyCodeObject", "co_flags")],
    "code_firstline": [("PyCodeObject", "co_firstlineno")],
    "code_file": [("PyCodeObject", "co_filename")],
    "code_name": [("PyCodeObject", "co_name")],
    "code_qualname": [("PyCodeObject", "co_qualname")],
    "code_lines": [("PyCodeObject", "co_linetable"), ("PyCodeObject", "co_lnotab")],
    "code_names": [("PyCodeObject", "co_localsplusnames"), ("PyCodeObject", "co_varnames")],
    "code_adaptive": [("PyCodeObject", "co_code_adaptive")],
    "code_tlbc": [],
    "ob_type": [("PyObject", "ob_type")],
    "ob_size": [("PyVarObject", "ob_size")],
    "type_name": [("PyTypeObject", "tp_name")],
    "type_basicsize": [("PyTypeObject", "tp_basicsize")],
    "type_members": [("PyTypeObject", "tp_members")],
    "bytes_data": [("PyBytesObject", "ob_sval")],
    "tuple_items": [("PyTupleObject", "ob_item")],
    # To 2.7 text of code objects is bytes.
    "str_length": [("PyASCIIObject", "length")],
    "str_state": [("PyASCIIObject", "state")],
    "str_ascii": [("PyASCIIObject", None)],
    "str_compact": [("PyCompactUnicodeObject", None)],
    "str_data": [("PyUnicodeObject", "data")],
}

PUBLISHED_FROM = (3, 13)
# member of struct py_layout: its place in struct _Py_DebugOffsets
PUBLISHED = {
    "runtime_head": "runtime_state.interpreters_head",
    "interp_gil": "interpreter_state.ceval_gil",
    "gil_base": "interpreter_state.gil_runtime_state",
    "gil_holder": "interpreter_state.gil_runtime_state_holder",
    "gil_locked": "interpreter_state.gil_runtime_state_locked",
    "interp_next": "interpreter_state.next",
    "interp_threads": "interpreter_state.threads_head",
    "interp_sysdict": "interpreter_state.sysdict",
    "thread_next": "thread_state.next",
    "thread_interp": "thread_state.interp",
    "thread_id": "thread_state.thread_id",
    "thread_native_id": "thread_state.native_thread_id",
    "thread_frame": "thread_state.current_frame",
    "thread_chunk": "thread_state.datastack_chunk",
    "thread_status": "thread_state.status",
    "frame_size": "interpreter_frame.size",
    "frame_back": "interpreter_frame.previous",
    "frame_code": "interpreter_frame.executable",
    "frame_at": "interpreter_frame.instr_ptr",
    "frame_locals": "interpreter_frame.localsplus",
    "frame_owner": "interpreter_frame.owner",
    "frame_tlbc": "interpreter_frame.tlbc_index",
    "code_size": "code_object.size",
    "code_argcount": "code_object.argcount",
    "code_firstline": "code_object.firstlineno",
    "code_file": "code_object.filename",
    "code_name": "code_object.name",
    "code_qualname": "code_object.qualname",
    "code_lines": "code_object.linetable",
    "code_names": "code_object.localsplusnames",
    "code_adaptive": "code_object.co_code_adaptive",
    "code_tlbc": "code_object.co_tlbc",
    "ob_type": "pyobject.ob_type",
    "ob_size": "tuple_object.ob_size",
    "type_name": "type_object.tp_name",
    "bytes_data": "bytes_object.ob_sval",
    "tuple_items": "tuple_object.ob_item",
    "str_length": "unicode_object.length",
    "str_state": "unicode_object.state",
    "str_ascii": "unicode_object.asciiobject_size",
}


def compile_value(include, flags, struct, member):
    """An offset, or the size; None where the version has no such thing."""
    what = f"offsetof({struct}, {member})" if member else f"sizeof({struct})"
    source = f"{HEADERS}\nunsigned long value = {what};\n"
    done = subprocess.run(["gcc", "-w", "-S", "-x", "c", "-o", "-", "-I", str(include),
                           "-I", str(include / "internal"), *flags, "-"],
                          input=source, capture_output=True, text=True)
    if done.returncode:
        return None
    found = re.search(r"^value:\s+\.(?:quad|xword)\s+(\d+)|\.globl\s+value\s.*?\.zero\s+8",
                      done.stdout, re.M | re.S)
    return int(found[1] or 0)


def first_of(include, flags, places):
    for struct, member in places:
        value = compile_value(include, flags, struct, member)
        if value is not None:
            return value
    return None


def layout(include, flags):
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        jobs = {name: pool.submit(first_of, include, flags, places)
                for name, places in MEMBERS.items()}
        return {name: job.result() for name, job in jobs.items()}


def version_of(include):
    text = (include / "patchlevel.h").read_text()
    return tuple(int(re.search(rf"PY_{part}_VERSION\s+(\d+)", text)[1])
                 for part in ("MAJOR", "MINOR"))


def published_order(include):
    """The names of struct _Py_DebugOffsets' numbers, in order, after cookie, version and
    free_threaded."""
    for name in ("pycore_debug_offsets.h", "pycore_runtime.h"):
        path = include / "internal" / name
        text = path.read_text() if path.exists() else ""
        found = re.search(r"typedef struct _Py_DebugOffsets \{(.*?)\n\} _Py_DebugOffsets;", text,
                          re.S)
        if found:
            break
    groups = re.findall(r"struct\s*\w*\s*\{(.*?)\}\s*(\w+);", found[1], re.S)
    assert len(re.findall("uint64_t", found[1])) == 2 + sum(
        len(re.findall("uint64_t", body)) for body, _ in groups), include
    return [f"{group}.{field}" for body, group in groups
            for field in re.findall(r"uint64_t (\w+);", body)]


def wrapped(begin, cells, end):
    """As many cells in a line as there is room for."""
    lines, line = [], begin
    for i, cell in enumerate(cells):
        cell += "," if i + 1 < len(cells) else end
        if len(line.expandtabs(8)) + len(cell) > 98:
            lines.append(line.rstrip())
            line = "\t " if begin == "\t{" else "\t  "
        line += cell + " "
    return "\n".join(lines + [line.rstrip()])


def published_row(version, order):
    cells = [f"{{offsetof(struct py_layout, {member}), {order.index(place)}}}"
             for member, place in PUBLISHED.items() if place in order]
    return f"\t{{{{{version[0]}, {version[1]}}}, {len(order)}, {len(cells)},\n" + \
        wrapped("\t {", cells, "}},")


def words(version, is_debug):
    """Members that no compiler knows."""
    lasti = "BYTES" if version < (3, 10) else "UNITS" if version < (3, 11) else "POINTER"
    lines = "OLD_LNOTAB" if version < (3,) else "LNOTAB" if version < (3, 10) else \
        "TABLE" if version < (3, 11) else "LOCATIONS"
    yield "version", f"PY_VERSION({version[0]}, {version[1]})"
    yield "is_debug", "true" if is_debug else "false"
    yield "lasti", f"PY_LASTI_{lasti}"
    yield "lines", f"PY_LINES_{lines}"
    yield "owner_c", 3       # FRAME_OWNED_BY_CSTACK of pycore_frame.h
    yield "str_kind_shift", 2  # state.kind of unicodeobject.h


def row(version, is_debug, found):
    cells = [f".{name} = {value}" for name, value in words(version, is_debug)]
    cells += [f".{name} = {'PY_NONE' if value is None else value}"
              for name, value in found.items()]
    return wrapped("\t{", cells, "},")


def main():
    includes = sorted(map(pathlib.Path, sys.argv[1:]), key=version_of)
    print("/* SPDX-License-Identifier: Apache-2.0 */\n"
          "/* Written by tables.py from the headers of CPython; not to be edited. */\n"
          '#include "layout.h"\n\n'
          "/* clang-format off */\n"
          "const struct py_layout gpc_py_tables[] = {")
    for include in [i for i in includes if version_of(i) < PUBLISHED_FROM]:
        version = version_of(include)
        release = layout(include, ["-DNDEBUG"])
        assert release["code_name"] and release["thread_next"] is not None, include
        print(row(version, False, release))
        debug = layout(include, ["-DPy_DEBUG"])
        if debug != release:
            print(row(version, True, debug))
    print("\t{0},\n};\n\nconst struct py_published gpc_py_published[] = {")
    for include in [i for i in includes if version_of(i) >= PUBLISHED_FROM]:
        print(published_row(version_of(include), published_order(include)))
    print("\t{{0}, 0, 0, {{0, 0}}},\n};\n/* clang-format on */")


if __name__ == "__main__":
    main()

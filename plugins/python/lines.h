/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of lines of code objects: which line an instruction belongs to. The
 * formats are described in CPython's Objects/lnotab_notes.txt (3.9 and 3.10) and
 * Objects/locations.md (3.11). Foreign bytes. */
#ifndef GPC_PYTHON_LINES_H
#define GPC_PYTHON_LINES_H

#include "layout.h"

/* at: of the instruction, in bytes from the code's beginning; below 0: before
 * the first. first: the line that the function begins with. 0: none. */
uint32_t gpc_py_line(enum py_lines format, const uint8_t *table, size_t n, int32_t first,
		     int32_t at);

#endif

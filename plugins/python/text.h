/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of a target as UTF-8: str of every kind, bytes (which is what 2.7 has
 * for names), and C strings. Foreign: anything may stand there. */
#ifndef GPC_PYTHON_TEXT_H
#define GPC_PYTHON_TEXT_H

#include "layout.h"
#include "memory.h"

#define PY_TEXT_MAX 1024 /* bytes, with the NUL; longer ones are cut */

/* Fills ret, NUL terminated, and returns its length; -1: that is no text. */
int gpc_py_text_str(const struct py_memory *m, const struct py_layout *l, uint64_t at,
		    char ret[PY_TEXT_MAX]);
int gpc_py_text_c(const struct py_memory *m, uint64_t at, char ret[PY_TEXT_MAX]);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Which CPython: without running it. */
#ifndef GPC_PYTHON_VERSION_H
#define GPC_PYTHON_VERSION_H

#include "memory.h"

struct py_version {
	uint8_t major, minor;
	char text[32]; /* as sys.version begins: "3.11.2", "3.15.0a3"; "" not known */
};

/* path: of the file that holds the interpreter. */
bool gpc_py_version_find(const struct py_memory *m, const char *glob, const char *path,
			 struct py_version *ret);

/* Of a text like "3.11.2 (main, ...". */
bool gpc_py_version_parse(const char *text, size_t n, struct py_version *ret);

#endif

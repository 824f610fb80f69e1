/* SPDX-License-Identifier: Apache-2.0 */
/* Who holds the lock of an interpreter: the thread that executes Python now. */
#ifndef GPC_PYTHON_GIL_H
#define GPC_PYTHON_GIL_H

#include "runtime.h"

#define PY_GILS_MAX 16 /* from 3.12 on interpreters can have their own */

/* Where the locks of a process are; zero at first. They are looked for now and then only,
 * because asking who holds one is done often. One thread at a time. */
struct py_gils {
	uint64_t at[PY_GILS_MAX];
	unsigned n, asked;
};

/* Thread states that hold one; returns how many. */
unsigned gpc_py_gil_holders(struct py_gils *g, const struct py_memory *m,
			    const struct py_runtime *r, uint64_t ret[PY_GILS_MAX]);

#endif

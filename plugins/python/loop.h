/* SPDX-License-Identifier: Apache-2.0 */
/* The interpreter's loop as machine code: all the pieces that the compiler made of
 * one function. In a stripped file a symbol names the first of them only; the others
 * are where its jumps lead. */
#ifndef GPC_PYTHON_LOOP_H
#define GPC_PYTHON_LOOP_H

#include "layout.h"
#include "memory.h"

#define PY_LOOP_MAX 8
struct py_code_range {
	uint64_t start, end;
};

struct py_loop {
	struct py_code_range parts[PY_LOOP_MAX]; /* the first begins the function */
	unsigned n;                              /* 0: not known */
	/* From 3.14 on it may only start the first of many functions, one for each
	 * instruction, that leave by jumping to the next (--with-tail-call-interp): then the
	 * frame that it calls is the interpreter's, too. */
	bool has_tail_calls;
};

/* [worker] */
void gpc_py_loop_find(const struct py_memory *m, const char *glob, uint16_t version,
		      struct py_loop *ret);

#endif

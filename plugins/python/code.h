/* SPDX-License-Identifier: Apache-2.0 */
/* One code object of a target: names, file, table of lines. Foreign. */
#ifndef GPC_PYTHON_CODE_H
#define GPC_PYTHON_CODE_H

#include "frames.h"

enum py_first { PY_FIRST_OTHER, PY_FIRST_SELF, PY_FIRST_CLS };

struct py_code {
	uint64_t at;
	uint64_t identity; /* of what stands there: changes with the object */
	uint64_t tlbc;     /* free-threaded: copies of the bytecode; 0: none */
	int32_t first_line;
	enum py_first first; /* what its first argument is called; to 3.10 */
	char *name, *file;   /* in one piece with the struct */
	uint8_t *lines;
	uint32_t lines_n, bytes; /* of the whole piece */
};

/* *code_type: the address of the type of code objects; 0: not known yet, then it
 * is set by the first object whose type is called so. New, for free(). */
gpc_status gpc_py_code_read(const struct py_memory *m, const struct py_layout *l, uint64_t at,
			    uint64_t *code_type, struct py_code **ret);

/* Of what stands there now; 0: nothing that could be one. */
uint64_t gpc_py_code_identity(const struct py_memory *m, const struct py_layout *l, uint64_t at);

/* Where in the code a frame is, in bytes; below 0: before the first. False: not
 * within it. */
bool gpc_py_code_position(const struct py_memory *m, const struct py_layout *l,
			  const struct py_code *code, const struct py_frame *f, int32_t *ret);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of a process that were met lately, in their places: all that most samples need of
 * each, in half a cache line where the table of code objects would take three. Under its
 * owner's lock. */
#ifndef GPC_PYTHON_BRIEF_H
#define GPC_PYTHON_BRIEF_H

#include "frames.h"

#define PY_BRIEFS 64

struct py_briefs { /* zeroed at first, and to forget all */
	struct py_brief {
		uint64_t code, pointer; /* as in struct py_frame */
		gpc_frame frame;        /* 0: none */
		uint64_t until_ns;      /* then what stands at code has to be looked at */
	} at[PY_BRIEFS];
};

void gpc_py_briefs_put(struct py_briefs *b, const struct py_frame *f, gpc_frame frame,
		       uint64_t until_ns);
/* Of n frames; 0: not known, or not any more. */
void gpc_py_briefs_find(const struct py_briefs *b, const struct py_frame *frames, uint32_t n,
			uint64_t now, gpc_frame *ret);

#endif

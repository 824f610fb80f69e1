/* SPDX-License-Identifier: Apache-2.0 */
/* Code objects of a process that were met, by address, and the frames that were
 * made of them. An address can become another object's: what is known is compared
 * with what stands there, now and then. Readers share it; it is bounded in bytes,
 * and forgets all when it is full; see also gpc_py_codes_trim. */
#ifndef GPC_PYTHON_CODES_H
#define GPC_PYTHON_CODES_H

#include "code.h"
#include "packages.h"

struct py_codes;

/* Those of all processes, which have a bound together. */
struct py_codes_all;

struct py_wording {                   /* what becomes text, and how */
	bool has_running_lines;       /* of the running instruction; not the function's first */
	struct py_packages *packages; /* borrowed; NULL: files without their packages */
	struct py_codes_all *all;     /* borrowed; NULL: has only a bound of its own */
};

struct py_codes_all *gpc_py_codes_all_new(void); /* NULL: no memory */
void gpc_py_codes_all_free(struct py_codes_all *all);
/* [worker] Empties those that were not used the longest until all take less. Returns what
 * they take then. */
size_t gpc_py_codes_trim(struct py_codes_all *all, size_t max_bytes);

struct py_codes *gpc_py_codes_new(const struct py_wording *wording); /* NULL: no memory */
/* A copy for a forked process, which has the same objects at the same addresses, for now. */
struct py_codes *gpc_py_codes_fork(struct py_codes *parent); /* NULL: no memory */
void gpc_py_codes_free(struct py_codes *c);                  /* NULL is fine */

/* Those of n frames that are known and were looked at lately; 0: gpc_py_codes_frame knows, and
 * may read for it. One look for a stack. */
void gpc_py_codes_known(struct py_codes *c, const struct py_frame *frames, uint32_t n, uint64_t now,
			uint32_t epoch, gpc_frame *ret);
/* The frame's number. 0: that is no code object. */
gpc_frame gpc_py_codes_frame(struct py_codes *c, const struct py_memory *m,
			     const struct py_layout *l, const struct py_frame *f,
			     struct gpc_writer *w);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The unwind table of the code that a process makes, from its jitdump file
 * (core/sym/jitdump.h). The file grows, so the table is made again and again; one
 * thread does that. */
#ifndef GPC_UNWIND_JIT_H
#define GPC_UNWIND_JIT_H

#include "sym/jitdump.h"
#include "unwind/table.h"

struct gpc_unwind_jit {
	int fd; /* owned */
	struct gpc_jitdump *dump;
	/* When it is worth while to look at the file again: so that it takes a small
	 * part of a CPU, however much code there is. */
	uint64_t due_ns;
	uint64_t read_ns; /* when it was looked at; 0: never */
};

void gpc_unwind_jit_deinit(struct gpc_unwind_jit *j);

/* Reads what has come. *ret: the table of all code, whose addresses are those of the
 * process; NULL when there is one already and it is as it was. */
gpc_status gpc_unwind_jit_update(struct gpc_unwind_jit *j, bool has_table,
				 struct gpc_unwind_table **ret, struct gpc_err *err);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* From a frame to its caller: by the table of the image that its code is in, and
 * where there is none by the frame pointer. */
#ifndef GPC_UNWIND_STEP_H
#define GPC_UNWIND_STEP_H

#include "unwind/memory.h"
#include "unwind/table.h"

enum gpc_code_state {
	GPC_CODE_NOWHERE, /* nothing executable is mapped there */
	GPC_CODE_PLAIN,   /* code without a table: generated, or of another machine */
	GPC_CODE_KNOWN,   /* has a table, which need not cover the place */
	GPC_CODE_WAITING, /* a table may come */
};

struct gpc_code {
	const struct gpc_unwind_table *table; /* with GPC_CODE_KNOWN */
	uint64_t vaddr;                       /* the place, as the table has it */
	void *known;                          /* find()'s, for rule(), until the next find() */
};

struct gpc_unwind_view {
	const struct gpc_unwind_arch *arch;
	struct gpc_unwind_memory mem;
	/* What lies at an address. */
	enum gpc_code_state (*find)(void *ctx, uint64_t address, struct gpc_code *ret);
	/* What the table of code has for it, from memory of what was asked before; NULL: the
	 * table is asked. */
	const struct gpc_packed_rule *(*rule)(void *ctx, const struct gpc_code *code);
	void *ctx;
	/* NULL, or room for one number a frame: gpc_unwind_walk puts the stack pointer of
	 * its caller there, 0 where it has none. */
	uint64_t *sps;
	/* Of the frames so far; gpc_unwind_walk begins anew. What goes beyond the bounds is
	 * lost, as hostile tables only do. */
	uint32_t signals, operations;
};
#define GPC_UNWIND_SIGNALS    8    /* frames that a signal interrupted */
#define GPC_UNWIND_OPERATIONS 8192 /* of expressions */

enum gpc_unwind_result {
	GPC_UNWIND_UP,      /* regs are the caller's now */
	GPC_UNWIND_END,     /* this was the outermost frame */
	GPC_UNWIND_SHORT,   /* the copy of the stack is too short to go on */
	GPC_UNWIND_LOST,    /* nothing says where the caller is */
	GPC_UNWIND_WAITING, /* not before a table is there; regs are unchanged */
};

/* One frame up. *place: where the frame that was left is, in its call. */
enum gpc_unwind_result gpc_unwind_step(struct gpc_unwind_view *v, struct gpc_unwind_regs *regs,
				       uint64_t *place);

/* All frames, leaf first: the place that is executed, then places within the calls
 * (return addresses moved back by one byte). At most max; work is bounded by that.
 * *n is always set. UP: there was no room for more. */
enum gpc_unwind_result gpc_unwind_walk(struct gpc_unwind_view *v,
				       const struct gpc_unwind_regs *start, uint64_t *frames,
				       uint32_t max, uint32_t *n);

#endif

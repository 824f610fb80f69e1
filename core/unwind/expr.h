/* SPDX-License-Identifier: Apache-2.0 */
/* DWARF expressions in call frame information (DWARF 5, section 2.5). Work is
 * bounded: loops end after some hundred operations, and all of a walk together after
 * some thousand. */
#ifndef GPC_UNWIND_EXPR_H
#define GPC_UNWIND_EXPR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/memory.h"

struct gpc_expr {
	const uint8_t *ops;
	size_t n;
	const struct gpc_unwind_arch *arch;
	const struct gpc_unwind_regs *regs; /* of the frame itself */
	struct gpc_unwind_memory *mem;
	uint32_t *left; /* operations, counted down; NULL: no more bound than each has */
};

/* first: on the stack at the beginning (the CFA of rules for registers); NULL:
 * nothing. False: it makes no sense, or memory cannot be had. */
bool gpc_expr_run(const struct gpc_expr *e, const uint64_t *first, uint64_t *ret);

#endif

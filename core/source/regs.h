/* SPDX-License-Identifier: Apache-2.0 */
/* User registers in perf samples: which are asked for, and which of them are
 * the program counter, the stack and the frame pointer. One file per
 * architecture; the order is that of asm/perf_regs.h. */
#ifndef GPC_SOURCE_REGS_H
#define GPC_SOURCE_REGS_H

#include <stdint.h>

#include "unwind/arch.h"

/* For perf_event_attr.sample_regs_user. */
extern const uint64_t gpc_regs_mask;

struct gpc_user_regs {
	uint64_t pc, sp, fp;
};

/* values: one per bit of gpc_regs_mask, lowest bit first. */
struct gpc_user_regs gpc_regs_pick(const uint64_t *values);

/* The same as DWARF numbers them. */
void gpc_regs_unwind(const uint64_t *values, struct gpc_unwind_regs *ret);

#endif

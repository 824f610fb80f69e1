/* SPDX-License-Identifier: Apache-2.0 */
#include <asm/perf_regs.h>

#include "base/hot.h"

#include "source/regs.h"

/* x0 to x30, sp, pc. */
const uint64_t gpc_regs_mask = (UINT64_C(1) << (PERF_REG_ARM64_PC + 1)) - 1;

GPC_HOT struct gpc_user_regs gpc_regs_pick(const uint64_t *values)
{
	return (struct gpc_user_regs){.pc = values[PERF_REG_ARM64_PC],
				      .sp = values[PERF_REG_ARM64_SP],
				      .fp = values[PERF_REG_ARM64_X29]};
}

GPC_HOT void gpc_regs_unwind(const uint64_t *values, struct gpc_unwind_regs *ret)
{
	for (unsigned i = 0; i <= PERF_REG_ARM64_SP; i++)
		ret->r[i] = values[i];
	ret->pc = values[PERF_REG_ARM64_PC];
	ret->valid = (UINT64_C(1) << (PERF_REG_ARM64_SP + 1)) - 1;
	ret->is_exact = 1;
}

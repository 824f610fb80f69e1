/* SPDX-License-Identifier: Apache-2.0 */
#include <asm/perf_regs.h>

#include "base/hot.h"

#include "source/regs.h"

#define BIT(reg) (UINT64_C(1) << (reg))

/* All general registers; the segments (DS to GS) cannot be had. */
const uint64_t gpc_regs_mask =
	(BIT(PERF_REG_X86_64_MAX) - 1) & ~(BIT(PERF_REG_X86_DS) | BIT(PERF_REG_X86_ES) |
					   BIT(PERF_REG_X86_FS) | BIT(PERF_REG_X86_GS));

/* The mask's first bits are without a gap up to and beyond IP. */
GPC_HOT struct gpc_user_regs gpc_regs_pick(const uint64_t *values)
{
	return (struct gpc_user_regs){.pc = values[PERF_REG_X86_IP],
				      .sp = values[PERF_REG_X86_SP],
				      .fp = values[PERF_REG_X86_BP]};
}

GPC_HOT void gpc_regs_unwind(const uint64_t *values, struct gpc_unwind_regs *ret)
{
	/* AX, BX, CX, DX, SI, DI, BP, SP; then IP, FLAGS, CS, SS; then R8 to R15. */
	static const uint8_t first[] = {0, 3, 2, 1, 4, 5, 6, 7};
	const uint64_t *high = values + PERF_REG_X86_SS + 1;

	for (unsigned i = 0; i < 8; i++) {
		ret->r[first[i]] = values[i];
		ret->r[8 + i] = high[i];
	}
	ret->pc = values[PERF_REG_X86_IP];
	ret->valid = 0xffff;
	ret->is_exact = 1;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* DWARF for the Arm 64-bit architecture, 2024Q3, section 4.1: x0 to x30 0 to 30, sp
 * 31, pc 32. Vector registers (64 and up) are never needed to go on. */
#include <elf.h>

#include "unwind/arch.h"

#define BIT(reg) (UINT64_C(1) << (reg))

/* mov x8, #139; svc #0: rt_sigreturn. */
static const uint8_t sigreturn[] = {0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4};

/* rt_sigreturn finds a struct rt_sigframe at sp: siginfo of 128 bytes, struct
 * ucontext whose sigcontext stands at 176, and in that x0 to x30, sp, pc from 8 on
 * (linux: arch/arm64/kernel/signal.c, asm/ucontext.h, asm/sigcontext.h). */
#define SAVED(i) (128 + 176 + 8 + 8 * (i))

const struct gpc_unwind_arch gpc_unwind_aarch64 = {
	.machine = EM_AARCH64,
	.n_regs = 32,
	.sp = 31,
	.fp = 29,
	.pc = 32,
	.link = 30,
	/* x19 to x30: the link register is its caller's own until it calls. */
	.kept = BIT(31) - BIT(19),
	/* Pointer authentication keeps its code above the 48 bits of user addresses. */
	.address_mask = (UINT64_C(1) << 48) - 1,
	.sigreturn = sigreturn,
	.sigreturn_n = sizeof sigreturn,
	.saved = {SAVED(0),  SAVED(1),  SAVED(2),  SAVED(3),  SAVED(4),  SAVED(5),  SAVED(6),
		  SAVED(7),  SAVED(8),  SAVED(9),  SAVED(10), SAVED(11), SAVED(12), SAVED(13),
		  SAVED(14), SAVED(15), SAVED(16), SAVED(17), SAVED(18), SAVED(19), SAVED(20),
		  SAVED(21), SAVED(22), SAVED(23), SAVED(24), SAVED(25), SAVED(26), SAVED(27),
		  SAVED(28), SAVED(29), SAVED(30), SAVED(31), SAVED(32)},
};

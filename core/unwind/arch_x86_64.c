/* SPDX-License-Identifier: Apache-2.0 */
/* System V ABI, AMD64 supplement 1.0, table 3.36: rax 0, rdx 1, rcx 2, rbx 3, rsi 4,
 * rdi 5, rbp 6, rsp 7, r8 to r15 8 to 15, return address 16. */
#include <elf.h>
#include <stddef.h>

#include "unwind/arch.h"

#define BIT(reg) (UINT64_C(1) << (reg))

/* mov $15, %rax; syscall: rt_sigreturn in the encoding that glibc, musl and Go
 * have in common. */
static const uint8_t sigreturn[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};

/* rt_sigreturn finds a struct ucontext at sp (linux: asm/ucontext.h): 40 bytes,
 * then struct sigcontext: r8 to r15, di, si, bp, bx, dx, ax, cx, sp, ip. */
#define SAVED(i) (40 + 8 * (i))

const struct gpc_unwind_arch gpc_unwind_x86_64 = {
	.machine = EM_X86_64,
	.n_regs = 17,
	.sp = 7,
	.fp = 6,
	.pc = 16,
	.link = GPC_UNWIND_NO_LINK,
	.kept = BIT(3) | BIT(6) | BIT(12) | BIT(13) | BIT(14) | BIT(15),
	.address_mask = UINT64_MAX,
	.sigreturn = sigreturn,
	.sigreturn_n = sizeof sigreturn,
	.saved = {[8] = SAVED(0),
		  [9] = SAVED(1),
		  [10] = SAVED(2),
		  [11] = SAVED(3),
		  [12] = SAVED(4),
		  [13] = SAVED(5),
		  [14] = SAVED(6),
		  [15] = SAVED(7),
		  [5] = SAVED(8),
		  [4] = SAVED(9),
		  [6] = SAVED(10),
		  [3] = SAVED(11),
		  [1] = SAVED(12),
		  [0] = SAVED(13),
		  [2] = SAVED(14),
		  [7] = SAVED(15),
		  [16] = SAVED(16)},
};

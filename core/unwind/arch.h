/* SPDX-License-Identifier: Apache-2.0 */
/* What unwinding must know of an architecture: how DWARF numbers its registers
 * and which of them a call preserves. Registers are numbered as in DWARF
 * throughout core/unwind; one file per architecture. Both are always there, so
 * that tables of both can be tested everywhere. */
#ifndef GPC_UNWIND_ARCH_H
#define GPC_UNWIND_ARCH_H

#include <stddef.h>
#include <stdint.h>

#define GPC_UNWIND_REGS 33 /* of any architecture */

struct gpc_unwind_arch {
	uint16_t machine;         /* EM_ */
	uint8_t n_regs;           /* registers that rules are kept for */
	uint8_t sp, fp;           /* their numbers */
	uint8_t pc;               /* the program counter as expressions name it */
	uint8_t link;             /* the register with the return address; or NO_LINK */
	uint64_t kept;            /* a bit for each register that a call preserves */
	uint64_t address_mask;    /* what is left of a signed return address */
	const uint8_t *sigreturn; /* the code that a signal handler returns to */
	uint8_t sigreturn_n;
	/* Where that code finds the saved registers: their offsets from sp, by
	 * number; 0 is none. The pc's stands behind the last register. */
	uint16_t saved[GPC_UNWIND_REGS + 1];
};
#define GPC_UNWIND_NO_LINK 255

extern const struct gpc_unwind_arch gpc_unwind_x86_64, gpc_unwind_aarch64;

/* NULL: not known. */
const struct gpc_unwind_arch *gpc_unwind_arch_of(uint16_t machine);
/* That of this build. */
const struct gpc_unwind_arch *gpc_unwind_arch_here(void);

/* The registers of one frame. */
struct gpc_unwind_regs {
	uint64_t pc;
	uint64_t valid; /* a bit for each register whose value is known */
	uint64_t r[GPC_UNWIND_REGS];
	uint32_t is_exact; /* pc is about to be executed; else it is a return address */
};

#endif

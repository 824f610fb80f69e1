/* SPDX-License-Identifier: Apache-2.0 */
/* Call frame information as compilers write it: the entries of .eh_frame (Linux
 * Standard Base 5.0, Core, chapter 10.6) and .debug_frame (DWARF 5, section 6.4). */
#ifndef GPC_UNWIND_CFI_H
#define GPC_UNWIND_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/rules.h"

struct gpc_cfi_section {
	const uint8_t *bytes; /* borrowed */
	size_t n;
	uint64_t vaddr; /* as linked */
	bool is_eh;     /* .eh_frame */
};

/* A function's entry, with what it has from its common entry (CIE). */
struct gpc_cfi_entry {
	uint64_t start, end; /* addresses as linked */
	uint64_t code_align;
	int64_t data_align;
	uint8_t encoding; /* of addresses */
	uint8_t ra;       /* the column of the return address */
	bool is_signal;
	const uint8_t *first, *ops; /* programs: of the CIE, its own; in the section */
	size_t first_n, ops_n;
};

/* The entry at *at, which is moved behind it. False: it is the last one, or what
 * follows makes no sense. ret->start == ret->end: it describes nothing. */
bool gpc_cfi_next(const struct gpc_cfi_section *s, size_t *at, struct gpc_cfi_entry *ret);

/* Runs an entry's program, which gives a row after another in ascending order:
 * from pc on the rule holds (GPC_NO_RULE: not known). Work is linear in the length
 * of both programs, and counted in rules->work, of which a CIE's is run again for each
 * of its entries. False: the program makes no sense from some place on; what was told
 * before holds. */
typedef bool gpc_cfi_row_fn(void *ctx, uint64_t pc, uint16_t rule);
bool gpc_cfi_run(const struct gpc_unwind_arch *arch, const struct gpc_cfi_section *s,
		 const struct gpc_cfi_entry *e, struct gpc_rules *rules, gpc_cfi_row_fn *row,
		 void *ctx);

/* An encoded address (DW_EH_PE_): for cfi.c, cfi_run.c and the header's reader.
 * Kinds that need more than the section are bad. */
struct gpc_cursor;
uint64_t gpc_cfi_address(const struct gpc_cfi_section *s, struct gpc_cursor *c, uint8_t encoding);

#endif

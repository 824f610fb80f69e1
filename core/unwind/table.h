/* SPDX-License-Identifier: Apache-2.0 */
/* The unwind table of one ELF image: from which address on which rule holds. Four
 * bytes for each row: the low half of its address and the number of its rule; rows
 * are reached through an index of pages of 64 KB.
 *
 * Built once, then never changed: any thread may look things up. */
#ifndef GPC_UNWIND_TABLE_H
#define GPC_UNWIND_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "elf/file.h"
#include "unwind/rules.h"

struct gpc_unwind_row {
	uint16_t low, rule;
};

struct gpc_unwind_segment {
	uint64_t offset, vaddr, n; /* in whole pages */
};

struct gpc_unwind_table {
	const struct gpc_unwind_arch *arch;
	uint64_t base; /* address as linked of page 0 */
	uint32_t n_pages, n_rows;
	uint32_t *pages; /* n_pages + 1: the first row of each */
	struct gpc_unwind_row *rows;
	struct gpc_rules rules;
	struct gpc_unwind_segment *segments; /* executable ones */
	uint32_t n_segments;
	size_t bytes;
};

/* Builds it from .eh_frame and .debug_frame, and finds places that need none
 * (the code that signal handlers return to). A file without either gives a table
 * without rows. Work is bounded: of a file beyond all measure the table ends early, as
 * it does soon after *is_stopping (NULL: never) turned true. GPC_E_UNSUPPORTED: of an
 * architecture that we do not know. */
gpc_status gpc_unwind_table_build(const struct gpc_elf *elf, const atomic_bool *is_stopping,
				  struct gpc_unwind_table **ret, struct gpc_err *err);
void gpc_unwind_table_free(struct gpc_unwind_table *t); /* NULL is fine */

/* Address as linked of a place in the file. */
bool gpc_unwind_table_vaddr(const struct gpc_unwind_table *t, uint64_t file_offset, uint64_t *ret);
/* NULL: nothing is known of the code there. */
const struct gpc_packed_rule *gpc_unwind_table_find(const struct gpc_unwind_table *t,
						    uint64_t vaddr);
/* The same in two steps: the rule's number, GPC_NO_RULE when nothing is known; and its
 * rule, NULL for that and for a number that the table does not have. */
uint16_t gpc_unwind_table_number(const struct gpc_unwind_table *t, uint64_t vaddr);
const struct gpc_packed_rule *gpc_unwind_table_rule(const struct gpc_unwind_table *t,
						    uint16_t number);

/* ---- for building: table_pack.c ----------------------------------------------- */

struct gpc_unwind_place {
	uint64_t pc;
	uint16_t rule;
};
typedef vec(struct gpc_unwind_place) gpc_unwind_places;

/* Takes the places (ascending; each ends the one before) and the rules. elf NULL: they
 * are addresses of a process of this machine, which stand in no file. */
gpc_status gpc_unwind_table_pack(const struct gpc_elf *elf, const gpc_unwind_places *places,
				 struct gpc_rules *rules, struct gpc_unwind_table **ret,
				 struct gpc_err *err);

#endif

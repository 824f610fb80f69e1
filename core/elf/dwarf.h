/* SPDX-License-Identifier: Apache-2.0 */
/* Source lines and inlined functions out of DWARF, versions 2 to 5. Read in
 * windows, as all of a file (source.h): of a program with gigabytes of debug
 * information only a list of units, 24 bytes each, and the unit of the last
 * question are in memory, so questions in the order of addresses are cheap.
 * libdw maps or holds whole sections, and trusts a file not to change.
 *
 * Work is bounded: what takes a few seconds is done between two gpc_dwarf_rest, then
 * answers stay away. Not thread-safe. */
#ifndef GPC_ELF_DWARF_H
#define GPC_ELF_DWARF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "elf/file.h"

struct gpc_dwarf;

/* One function of those that an instruction belongs to. */
struct gpc_dwarf_place {
	char *function; /* new; mangled if it has such a name; NULL: the one not inlined */
	char *file;     /* new, with its folder; NULL: not known */
	uint32_t line;  /* 0: not known */
};

#define GPC_DWARF_DEPTH 32

/* elf is read only during the call; what its source borrows must stay. GPC_E_GONE:
 * no debug information. */
gpc_status gpc_dwarf_open(const struct gpc_elf *elf, struct gpc_dwarf **ret, struct gpc_err *err);
/* What d shares with others was put into another file (.gnu_debugaltlink), without
 * which some inlined functions have no names. */
gpc_status gpc_dwarf_add_shared(struct gpc_dwarf *d, const struct gpc_elf *elf,
				struct gpc_err *err);
void gpc_dwarf_free(struct gpc_dwarf *d); /* NULL is fine */
/* The innermost function first, the one that was not inlined last; returns their
 * number. Texts are the caller's. 0: not known. */
size_t gpc_dwarf_find(struct gpc_dwarf *d, uint64_t vaddr,
		      struct gpc_dwarf_place ret[GPC_DWARF_DEPTH]);
void gpc_dwarf_places_deinit(struct gpc_dwarf_place *places, size_t n);
/* Forgets the last unit. */
void gpc_dwarf_forget(struct gpc_dwarf *d);
/* The same, and the bound of work begins anew. */
void gpc_dwarf_rest(struct gpc_dwarf *d);
/* Work done since, of some 10 to 20 ns each: attributes, rows, and the like. */
int64_t gpc_dwarf_spent(const struct gpc_dwarf *d);
/* No more answers until gpc_dwarf_rest: what is not known now may be known then. */
bool gpc_dwarf_is_tired(const struct gpc_dwarf *d);
size_t gpc_dwarf_bytes(const struct gpc_dwarf *d);

#endif

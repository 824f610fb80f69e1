/* SPDX-License-Identifier: Apache-2.0 */
/* What stands where in memory that is written over: of the pieces of code that
 * were at an address the newest one counts. */
#ifndef GPC_SYM_CODEMAP_H
#define GPC_SYM_CODEMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

/* A piece of code as it was reported; at most 4 GiB. */
struct gpc_code {
	uint64_t start, end;
	uint32_t value; /* the caller's */
	uint32_t order; /* larger: newer */
};

struct gpc_codemap_entry {
	uint64_t start;
	uint32_t size, value;
};

struct gpc_codemap {
	vec(struct gpc_codemap_entry) entries; /* by start; none overlaps another */
};

/* Sorts list. False: no memory (and map is empty). */
bool gpc_codemap_init(struct gpc_codemap *map, struct gpc_code *list, size_t n);
void gpc_codemap_deinit(struct gpc_codemap *map);
bool gpc_codemap_find(const struct gpc_codemap *map, uint64_t address, uint32_t *value);

#endif

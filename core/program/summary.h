/* SPDX-License-Identifier: Apache-2.0 */
/* What a profile says in a few numbers: self and total of functions, languages,
 * processes and containers, over its first event. Idle time (the kernel's
 * "swapper") is counted apart. Each table holds at most GPC_SUMMARY_ROWS names;
 * further ones are counted together as GPC_SUMMARY_OTHERS. */
#ifndef GPC_PROGRAM_SUMMARY_H
#define GPC_PROGRAM_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/map.h"
#include "base/vec.h"

#define GPC_SUMMARY_ROWS   50000
#define GPC_SUMMARY_OTHERS "[others]"

struct gpc_summary_row {
	char *name; /* of a function with its suffix, as folded text has it */
	uint64_t self, total;
	uint64_t stamp;       /* the stack that was counted last */
	uint32_t n_processes; /* of processes: how many have this name */
	int32_t pid;          /* of processes: the first one's */
	bool is_error, is_nameless;
};

struct gpc_summary_table {
	vec(struct gpc_summary_row) rows;
	struct gpc_u64map index; /* hash of the name -> row */
};

enum { GPC_FUNCTIONS, GPC_LANGUAGES, GPC_PROCESSES, GPC_CONTAINERS, GPC_SUMMARY_TABLES };

struct gpc_summary {
	bool has_pids; /* set before adding: a row for each process, not each name */
	struct gpc_summary_table tables[GPC_SUMMARY_TABLES];
	uint64_t samples; /* without idle ones */
	uint64_t idle;
	uint64_t over;     /* stacks that had no place in memory */
	uint64_t nameless; /* whose leaf has no name */
	uint64_t errors;   /* of processes that a collector could not look into */
	uint64_t lost, throttled;
	uint32_t hz; /* 0: not by time, or unknown */
	double seconds;
	bool has_no_kernel, has_no_kernel_names;
	uint64_t n_stacks; /* the stamp of the last one */
};

/* Into a summary of zeros; once. */
gpc_status gpc_summary_add(struct gpc_summary *s, const struct gpc_profile *p,
			   const struct gpc_profile_api *api, struct gpc_err *err);
void gpc_summary_deinit(struct gpc_summary *s);

/* NULL when the table has no such name. */
const struct gpc_summary_row *gpc_summary_find(const struct gpc_summary_table *t, const char *name);
/* All rows, those with most first, equal ones by name; new, freed by the caller,
 * t->rows.n of them. NULL: no memory, or no rows. */
const struct gpc_summary_row **gpc_summary_sorted(const struct gpc_summary_table *t, bool by_total);

#endif

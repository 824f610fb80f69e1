/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the process table, for its own files. */
#ifndef GPC_PROC_TABLE_IMPL_H
#define GPC_PROC_TABLE_IMPL_H

#include "base/patient.h"
#include "base/vec.h"
#include "proc/table.h"

struct gpc_table {
	int procfd;
	struct gpc_patient *patient; /* reads mappings */
	uint64_t next_id;
	uint32_t window;
	uint64_t time_ns;                /* of the event being told */
	struct gpc_u64map by_pid, by_id; /* -> struct gpc_process * */
	struct gpc_u64map cgroups;       /* id -> place in cgroup_paths */
	vec(char *) cgroup_paths;
	bool is_without_mmaps;
	struct gpc_images *images;
	struct gpc_table_needs needs;
	struct gpc_log *log;
};

/* Fills in what all events have, and tells the owner. */
void gpc_table_changed(struct gpc_table *t, const struct gpc_process *p,
		       const struct gpc_process_event *what);
void gpc_table_free_cgroups(struct gpc_table *t);

#endif

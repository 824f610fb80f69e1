/* SPDX-License-Identifier: Apache-2.0 */
#include "source/sideband.h"

#include <string.h>

static void apply_mmap(struct gpc_table *t, const struct gpc_perf_record *r)
{
	const struct gpc_perf_mmap *m = &r->mmap;
	struct gpc_table_mmap event = {.pid = (int32_t)r->pid,
				       .start = m->start,
				       .length = m->length,
				       .offset = m->offset,
				       .path = m->path,
				       .key = {.inode = m->inode,
					       .generation = m->generation,
					       .dev_major = m->dev_major,
					       .dev_minor = m->dev_minor,
					       .build_id_len = m->build_id_len}};

	memcpy(event.key.build_id, m->build_id, sizeof event.key.build_id);
	gpc_table_mmap(t, &event);
}

bool gpc_sideband_apply(struct gpc_table *t, const struct gpc_perf_record *r)
{
	gpc_table_at(t, r->time);
	switch (r->type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		if ((r->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL)
			return true;
		apply_mmap(t, r);
		break;
	case PERF_RECORD_COMM:
		if (r->misc & PERF_RECORD_MISC_COMM_EXEC)
			gpc_table_exec(t, (int32_t)r->pid, r->comm);
		break;
	case PERF_RECORD_FORK:
		/* A new thread is no new process. */
		if (r->pid != r->task.ppid)
			gpc_table_fork(t, (int32_t)r->pid, (int32_t)r->task.ppid);
		break;
	case PERF_RECORD_EXIT:
		if (r->pid == r->tid)
			gpc_table_exit(t, (int32_t)r->pid);
		break;
	case PERF_RECORD_CGROUP:
		gpc_table_cgroup(t, r->cgroup.id, r->cgroup.path);
		break;
	case PERF_RECORD_KSYMBOL:
		return true;
	default:
		break;
	}
	return false;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "source/place.h"

#include "proc/container.h"

#define PLACES_MAX 8 /* groups that are asked for, per process: threads may differ */

static bool tells_container(const char *cgroup)
{
	size_t len;

	gpc_container_line(cgroup, &len);
	return len;
}

void gpc_place_told(const struct gpc_place *at, uint64_t process, uint64_t cgroup, const char *text)
{
	struct gpc_process *p = gpc_table_by_id(at->table, process);

	if (cgroup)
		gpc_table_cgroup(at->table, cgroup, text);
	else if (p)
		gpc_table_place(p, text);
	at->placed(at->ctx, text);
}

void gpc_place_sample(const struct gpc_place *at, struct gpc_process *p, uint64_t cgroup)
{
	bool is_known = p->is_placed && p->cgroup == cgroup;
	const char *path;

	p->cgroup = cgroup;
	if (is_known || p->is_kernel || !at->placed)
		return;
	p->is_placed = true;
	path = gpc_table_cgroup_path(at->table, cgroup);
	if (path && tells_container(path)) {
		at->placed(at->ctx, path);
	} else if (path && gpc_opener_is_unified(at->opener)) {
		gpc_table_place(p, path); /* in no container any more */
	} else if (p->places_asked < PLACES_MAX) {
		p->places_asked++;
		gpc_opener_cgroup(at->opener, p);
	}
}

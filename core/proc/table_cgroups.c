/* SPDX-License-Identifier: Apache-2.0 */
/* The process table: control groups, which tell of containers. */
#include <stdlib.h>
#include <string.h>

#include "proc/container.h"
#include "proc/table_impl.h"

#define CGROUPS_MAX 4096

void gpc_table_free_cgroups(struct gpc_table *t)
{
	for (size_t i = 0; i < t->cgroup_paths.n; i++)
		free(t->cgroup_paths.at[i]);
	t->cgroup_paths.n = 0;
	gpc_u64map_clear(&t->cgroups);
}

void gpc_table_cgroup(struct gpc_table *t, uint64_t id, const char *path)
{
	char *copy = strdup(path);
	uint64_t at;

	if (copy && gpc_u64map_get(&t->cgroups, id, &at)) {
		free(t->cgroup_paths.at[at]);
		t->cgroup_paths.at[at] = copy;
		return;
	}
	if (t->cgroup_paths.n >= CGROUPS_MAX)
		gpc_table_free_cgroups(t);
	if (!copy || !vec_push(&t->cgroup_paths, copy)) {
		free(copy);
		return;
	}
	gpc_u64map_set(&t->cgroups, id, t->cgroup_paths.n - 1);
}

void gpc_table_place(struct gpc_process *p, const char *cgroup)
{
	size_t len;
	const char *line = gpc_container_line(cgroup, &len);

	free(p->container);
	p->container = len ? strndup(line, len) : NULL;
}

const char *gpc_table_container(const struct gpc_table *t, const struct gpc_process *p)
{
	const char *path = gpc_table_cgroup_path(t, p->cgroup);
	size_t len = 0;

	if (path)
		gpc_container_line(path, &len);
	return len ? path : p->container;
}

const char *gpc_table_cgroup_path(const struct gpc_table *t, uint64_t id)
{
	uint64_t at;

	return gpc_u64map_get(&t->cgroups, id, &at) ? t->cgroup_paths.at[at] : NULL;
}

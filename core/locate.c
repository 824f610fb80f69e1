/* SPDX-License-Identifier: Apache-2.0 */
/* Which container a process is in: control groups from the sampler, names from
 * the runtimes. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "core_impl.h"

#define COMPLETE_NS (200 * GPC_MS_NS) /* a runtime's answer is waited for so long */

gpc_status gpc_core_start_containers(struct gpc_core *core, struct gpc_err *err)
{
	struct gpc_containers_setup setup = {.root = core->opts.container_root,
					     .docker_socket = core->opts.docker_socket,
					     .log = &core->log};

	if (!core->opts.container_names)
		return GPC_OK;
	return gpc_containers_new(&setup, &core->containers, err);
}

void gpc_core_begin_containers(struct gpc_core *core)
{
	for (size_t i = 0; i < core->container_names.n; i++)
		free(core->container_names.at[i]);
	core->container_names.n = 0;
}

void gpc_core_free_containers(struct gpc_core *core)
{
	gpc_core_begin_containers(core);
	vec_deinit(&core->container_names);
	gpc_containers_free(core->containers);
	core->containers = NULL;
}

void gpc_core_placed(void *ctx, const char *cgroup)
{
	struct gpc_core *core = ctx;

	gpc_containers_want(core->containers, cgroup);
}

/* Processes without samples are known to discovery only: their group is kept for
 * the profile. */
static void keep_place(struct gpc_core *core, const struct gpc_target_view *v)
{
	struct gpc_table *table = gpc_sampler_table(core->sampler);
	struct gpc_process *p;

	gpc_sampler_lock(core->sampler);
	p = gpc_table_by_id(table, v->target.id);
	if (p && !gpc_table_container(table, p))
		gpc_table_place(p, v->target.cgroup);
	gpc_sampler_unlock(core->sampler);
}

void gpc_core_complete(void *ctx, struct gpc_target_view *v)
{
	struct gpc_core *core = ctx;
	struct gpc_container found;

	if (!core->containers)
		return;
	keep_place(core, v);
	if (!gpc_containers_find(core->containers, v->target.cgroup, gpc_now_ns() + COMPLETE_NS,
				 &found))
		return;
	if (found.name)
		gpc_target_set_container(v, found.name);
	gpc_container_deinit(&found);
}

/* Where name is, or should be, among those of the window. */
static size_t place_of(const struct gpc_core *core, const char *name, bool *is_there)
{
	size_t low = 0, high = core->container_names.n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (strcmp(core->container_names.at[mid], name) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	*is_there =
		low < core->container_names.n && strcmp(core->container_names.at[low], name) == 0;
	return low;
}

static void list(struct gpc_core *core, const char *name)
{
	bool is_there;
	size_t at = place_of(core, name, &is_there);
	char *copy = is_there ? NULL : strdup(name);

	if (!copy)
		return;
	if (!vec_reserve(&core->container_names, 1)) {
		free(copy);
		return;
	}
	memmove(core->container_names.at + at + 1, core->container_names.at + at,
		(core->container_names.n++ - at) * sizeof copy);
	core->container_names.at[at] = copy;
}

bool gpc_core_container(struct gpc_core *core, const char *cgroup, uint64_t until_ns,
			struct gpc_container *ret)
{
	if (!core->containers || !cgroup ||
	    !gpc_containers_find(core->containers, cgroup, until_ns, ret))
		return false;
	if (ret->name)
		list(core, ret->name);
	return true;
}

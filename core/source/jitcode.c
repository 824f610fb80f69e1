/* SPDX-License-Identifier: Apache-2.0 */
#include "source/jitcode.h"

#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "proc/root.h"

#define PERF_MAP_MAX (64u << 20)
#define JITDUMP_MAX  (16u << 20) /* in memory; the file may be larger */

/* A descriptor that stays the table's, for ourselves. */
static int saved(struct gpc_sampler *s, const int *fd)
{
	int ret;

	gpc_sampler_lock(s);
	ret = *fd >= 0 ? dup(*fd) : -1;
	gpc_sampler_unlock(s);
	return ret;
}

/* A fresh look while the process lives, since a map may be written anew. */
static int open_perf_map(struct gpc_sampler *s, const struct gpc_process *p)
{
	char path[64];
	int32_t inner = gpc_ns_pid(p->pid);
	struct stat st;
	int fd = -1;

	if (!p->exit_ns && inner) {
		snprintf(path, sizeof path, "/tmp/perf-%d.map", inner);
		if (gpc_root_open(p->pid, path, &fd, &st, NULL) == GPC_OK) {
			if (gpc_proc_wrote(p->pid, &st))
				return fd;
			close(fd);
		}
	}
	return saved(s, &p->perf_map_fd);
}

void gpc_jitcode_load(struct gpc_sampler *s, uint64_t process, struct gpc_jitcode *ret)
{
	struct gpc_process *p;
	autoclose int map = -1;
	autoclose int dump = -1;

	*ret = (struct gpc_jitcode){0};
	gpc_sampler_lock(s);
	p = gpc_table_by_id(gpc_sampler_table(s), process);
	gpc_sampler_unlock(s);
	/* Entries go only in gpc_sampler_trim, which is the caller's to call. */
	if (!p || !p->has_jit)
		return;
	dump = saved(s, &p->jitdump_fd);
	if (dump >= 0 && gpc_jitdump_load(dump, JITDUMP_MAX, &ret->dump, NULL) < 0)
		ret->dump = NULL;
	map = open_perf_map(s, p);
	if (map >= 0 && gpc_perfmap_load(map, PERF_MAP_MAX, &ret->map, NULL) < 0)
		ret->map = NULL;
}

void gpc_jitcode_deinit(struct gpc_jitcode *j)
{
	gpc_perfmap_free(j->map);
	gpc_jitdump_free(j->dump);
	*j = (struct gpc_jitcode){0};
}

bool gpc_jitcode_find(const struct gpc_jitcode *j, uint64_t address, struct gpc_jit_symbol *ret)
{
	if (j->dump && gpc_jitdump_find(j->dump, address, ret))
		return true;
	*ret = (struct gpc_jit_symbol){.name = j->map ? gpc_perfmap_find(j->map, address) : NULL};
	return ret->name != NULL;
}

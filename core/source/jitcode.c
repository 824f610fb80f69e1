/* SPDX-License-Identifier: Apache-2.0 */
#include "source/jitcode.h"

#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "proc/root.h"

#define PERF_MAP_MAX (64u << 20)
#define JITDUMP_MAX  (16u << 20) /* in memory; the file may be larger */

/* Of all processes, in a window: some seconds. */
#define MAPS_MAX  (UINT64_C(512) << 20)
#define DUMPS_MAX (4 * GPC_SECOND_NS)

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

static struct gpc_jitdump *load_dump(int fd, struct gpc_jit_spent *spent)
{
	struct gpc_jitdump *ret = NULL;
	uint64_t begin = gpc_clock_ns(CLOCK_THREAD_CPUTIME_ID);

	if (spent->dump_ns >= DUMPS_MAX) {
		spent->is_short = true;
		return NULL;
	}
	if (gpc_jitdump_load(fd, JITDUMP_MAX, &ret, NULL) < 0)
		ret = NULL;
	spent->dump_ns += gpc_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
	return ret;
}

static struct gpc_perfmap *load_map(int fd, struct gpc_jit_spent *spent)
{
	uint64_t max = (MAPS_MAX - spent->map_bytes) / 4;
	struct gpc_perfmap *ret = NULL;
	struct stat st;
	uint64_t n;

	if (fstat(fd, &st) < 0)
		return NULL;
	if (max > PERF_MAP_MAX)
		max = PERF_MAP_MAX;
	n = (uint64_t)st.st_size < max ? (uint64_t)st.st_size : max;
	spent->is_short |= max < PERF_MAP_MAX && n < (uint64_t)st.st_size;
	spent->map_bytes += n;
	return gpc_perfmap_load(fd, max, &ret, NULL) < 0 ? NULL : ret;
}

void gpc_jitcode_load(struct gpc_sampler *s, uint64_t process, struct gpc_jit_spent *spent,
		      struct gpc_jitcode *ret)
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
	if (dump >= 0)
		ret->dump = load_dump(dump, spent);
	map = open_perf_map(s, p);
	if (map >= 0)
		ret->map = load_map(map, spent);
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

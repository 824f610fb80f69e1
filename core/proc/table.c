/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/vec.h"
#include "proc/container.h"
#include "proc/maps.h"
#include "proc/stat.h"

#define MAPS_MAX     (64u << 20)
#define IDLE_WINDOWS 5 /* a sleeper's mappings are forgotten after so many */
#define CGROUPS_MAX  4096
#define GENERATIONS  64 /* images of one pid kept within a window */

struct gpc_table {
	int procfd;
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

gpc_status gpc_table_new(const char *procfs, struct gpc_images *images,
			 const struct gpc_table_needs *needs, struct gpc_log *log,
			 struct gpc_table **ret, struct gpc_err *err)
{
	struct gpc_table *t = calloc(1, sizeof *t);

	if (!t)
		return gpc_err_nomem(err);
	t->procfd = open(procfs, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (t->procfd < 0) {
		free(t);
		return gpc_err_sys(err, "open %s", procfs);
	}
	t->images = images;
	t->needs = *needs;
	t->log = log;
	*ret = t;
	return GPC_OK;
}

static void process_free(struct gpc_process *p)
{
	gpc_space_put(p->space);
	if (p->perf_map_fd >= 0)
		close(p->perf_map_fd);
	free(p->container);
	free(p);
}

static void free_cgroups(struct gpc_table *t)
{
	for (size_t i = 0; i < t->cgroup_paths.n; i++)
		free(t->cgroup_paths.at[i]);
	t->cgroup_paths.n = 0;
	gpc_u64map_clear(&t->cgroups);
}

void gpc_table_free(struct gpc_table *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->by_id.room; i++)
		if (t->by_id.slots[i].value)
			process_free(
				(struct gpc_process *)(uintptr_t)(t->by_id.slots[i].value - 1));
	free_cgroups(t);
	vec_deinit(&t->cgroup_paths);
	gpc_u64map_deinit(&t->cgroups);
	gpc_u64map_deinit(&t->by_id);
	gpc_u64map_deinit(&t->by_pid);
	close(t->procfd);
	free(t);
}

static struct gpc_process *lookup(const struct gpc_u64map *map, uint64_t key)
{
	uint64_t value;

	return gpc_u64map_get(map, key, &value) ? (struct gpc_process *)(uintptr_t)value : NULL;
}

struct gpc_process *gpc_table_find(struct gpc_table *t, int32_t pid)
{
	return lookup(&t->by_pid, (uint32_t)pid);
}

struct gpc_process *gpc_table_by_id(struct gpc_table *t, uint64_t id)
{
	return lookup(&t->by_id, id);
}

size_t gpc_table_count(const struct gpc_table *t)
{
	return t->by_id.n;
}

static unsigned generations(const struct gpc_process *p)
{
	unsigned n = 0;

	for (; p; p = p->older)
		n++;
	return n;
}

/* A new entry becomes the pid's current one. */
static struct gpc_process *enter(struct gpc_table *t, int32_t pid)
{
	struct gpc_process *p = calloc(1, sizeof *p);
	struct gpc_process *older = gpc_table_find(t, pid);

	if (!p)
		return NULL;
	p->id = ++t->next_id;
	p->pid = pid;
	p->window = t->window;
	p->perf_map_fd = -1;
	p->older = older;
	if (!gpc_u64map_set(&t->by_id, p->id, (uintptr_t)p)) {
		free(p);
		return NULL;
	}
	if (!gpc_u64map_set(&t->by_pid, (uint32_t)pid, (uintptr_t)p)) {
		gpc_u64map_remove(&t->by_id, p->id);
		free(p);
		return NULL;
	}
	return p;
}

static void changed(struct gpc_table *t, const struct gpc_process *p,
		    const struct gpc_process_event *what)
{
	struct gpc_process_event ev = *what;

	if (!t->needs.changed)
		return;
	ev.struct_size = sizeof ev;
	ev.time_ns = t->time_ns;
	if (!ev.path)
		ev.path = "";
	t->needs.changed(t->needs.ctx, p, &ev);
}

void gpc_table_without_mmaps(struct gpc_table *t)
{
	t->is_without_mmaps = true;
}

void gpc_table_at(struct gpc_table *t, uint64_t time_ns)
{
	t->time_ns = time_ns;
}

static void set_comm(struct gpc_process *p, const char *comm)
{
	snprintf(p->comm, sizeof p->comm, "%s", comm);
}

/* A fork, or a new image, stays where it is until something else is seen. */
static void inherit_place(struct gpc_process *p, const struct gpc_process *from)
{
	if (p == from)
		return;
	free(p->container);
	p->container = from->container ? strdup(from->container) : NULL;
}

/* ---- events --------------------------------------------------------------- */

void gpc_table_fork(struct gpc_table *t, int32_t pid, int32_t ppid)
{
	struct gpc_process *parent = gpc_table_find(t, ppid);
	struct gpc_process *p = enter(t, pid);

	if (!p)
		return;
	p->ppid = ppid;
	p->older = NULL; /* the pid was free: no relation to its earlier owner */
	if (parent) {
		set_comm(p, parent->comm);
		p->is_kernel = parent->is_kernel && parent->pid != 0;
		/* Unless its own would never be told. */
		p->space = t->is_without_mmaps ? NULL : gpc_space_get(parent->space);
		p->has_jit = parent->has_jit;
		inherit_place(p, parent);
	}
	changed(t, p, &(struct gpc_process_event){.kind = GPC_PROC_FORK, .pid = pid, .ppid = ppid});
}

void gpc_table_exec(struct gpc_table *t, int32_t pid, const char *comm)
{
	struct gpc_process *old = gpc_table_find(t, pid);
	struct gpc_process *p;

	if (old && !old->is_sampled && !old->is_given) {
		/* Nothing was counted for the image before: it may be forgotten. */
		p = old;
		gpc_space_put(p->space);
		p->space = NULL;
	} else {
		p = generations(old) < GENERATIONS ? enter(t, pid) : old;
		if (!p)
			return;
	}
	if (old) {
		p->ppid = old->ppid;
		p->exec_count = old->exec_count + 1;
		inherit_place(p, old);
	}
	p->is_kernel = false; /* a helper the kernel started is a program now */
	p->has_jit = false;
	p->is_announced = p->is_placed = false;
	set_comm(p, comm);
	if (!p->space && !t->is_without_mmaps)
		p->space = gpc_space_new();
	changed(t, p, &(struct gpc_process_event){.kind = GPC_PROC_EXEC, .pid = pid, .path = comm});
}

/* Anonymous memory under a name. */
static bool is_file(const char *path, uint64_t inode, uint8_t build_id_len)
{
	return path[0] == '/' && path[1] != '/' && (inode || build_id_len) &&
	       strncmp(path, "/memfd:", 7) != 0 && strncmp(path, "/SYSV", 5) != 0 &&
	       strcmp(path, "/dev/zero") != 0 && strncmp(path, "/anon_hugepage", 14) != 0;
}

static void map_area(struct gpc_table *t, struct gpc_process *p, const struct gpc_table_mmap *m)
{
	struct gpc_area area = {.start = m->start,
				.end = m->start + m->length,
				.offset = m->offset,
				.kind = GPC_AREA_ANON};

	if (m->length == 0 || area.end < area.start)
		return;
	if (strcmp(m->path, "[vdso]") == 0) {
		area.kind = GPC_AREA_VDSO;
		area.offset = 0;
	} else if (is_file(m->path, m->key.inode, m->key.build_id_len)) {
		area.kind = GPC_AREA_FILE;
		area.image = gpc_images_add(t->images, &m->key, m->path);
	}
	if (!gpc_space_map(&p->space, &area))
		return;
	if (area.image && t->needs.file && gpc_images_wants_file(t->images, area.image))
		t->needs.file(t->needs.ctx, area.image, p, &area);
}

void gpc_table_mmap(struct gpc_table *t, const struct gpc_table_mmap *m)
{
	struct gpc_process *p = gpc_table_find(t, m->pid);

	/* Of a process that was never sampled the maps are read when it is. */
	if (p && p->space)
		map_area(t, p, m);
	changed(t, p,
		&(struct gpc_process_event){.kind = GPC_PROC_MMAP,
					    .pid = m->pid,
					    .path = m->path,
					    .start = m->start,
					    .end = m->start + m->length});
}

void gpc_table_exit(struct gpc_table *t, int32_t pid)
{
	struct gpc_process *p = gpc_table_find(t, pid);

	if (p)
		p->exit_ns = t->time_ns ? t->time_ns : 1;
	changed(t, p, &(struct gpc_process_event){.kind = GPC_PROC_EXIT, .pid = pid});
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
		free_cgroups(t);
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

/* The live entry in a slot of by_id, or NULL. */
static struct gpc_process *live_at(const struct gpc_table *t, size_t slot)
{
	struct gpc_process *p;

	if (!t->by_id.slots[slot].value)
		return NULL;
	p = (struct gpc_process *)(uintptr_t)(t->by_id.slots[slot].value - 1);
	return p->exit_ns ? NULL : p;
}

/* Ends may be among what was lost, and nothing else would ever remove these. */
static void end_gone(struct gpc_table *t)
{
	vec(int32_t) gone = {0};
	char name[16];

	for (size_t i = 0; i < t->by_id.room; i++) {
		const struct gpc_process *p = live_at(t, i);

		if (!p || p->pid <= 0)
			continue;
		snprintf(name, sizeof name, "%d", p->pid);
		if (faccessat(t->procfd, name, F_OK, 0) < 0 && errno == ENOENT)
			vec_push(&gone, p->pid);
	}
	for (size_t i = 0; i < gone.n; i++)
		gpc_table_exit(t, gone.at[i]);
	vec_deinit(&gone);
}

void gpc_table_distrust(struct gpc_table *t)
{
	for (size_t i = 0; i < t->by_id.room; i++) {
		struct gpc_process *p = live_at(t, i);

		if (!p)
			continue;
		gpc_space_put(p->space);
		p->space = NULL;
	}
	end_gone(t);
}

/* ---- samples -------------------------------------------------------------- */

static void describe_pseudo(struct gpc_process *p)
{
	p->is_kernel = true;
	set_comm(p, p->pid == 0 ? "swapper" : ":-1");
}

static bool describe(struct gpc_table *t, struct gpc_process *p)
{
	struct gpc_proc_stat stat;

	if (gpc_proc_stat_read(t->procfd, p->pid, &stat)) {
		p->ppid = stat.ppid;
		p->is_kernel = stat.flags & GPC_PF_KTHREAD;
		set_comm(p, stat.comm);
		return true;
	}
	/* A child that has gone before it did an exec has its parent's name. */
	if (p->ppid && gpc_proc_stat_read(t->procfd, p->ppid, &stat)) {
		set_comm(p, stat.comm);
		return true;
	}
	snprintf(p->comm, sizeof p->comm, ":%d", p->pid);
	return false;
}

struct gpc_process *gpc_table_sampled(struct gpc_table *t, int32_t pid, uint32_t window)
{
	struct gpc_process *p = gpc_table_find(t, pid);

	t->window = window;
	if (!p) {
		p = enter(t, pid);
		if (!p)
			return NULL;
	}
	if (pid <= 0)
		describe_pseudo(p);
	else if (!p->comm[0])
		describe(t, p);
	p->window = window;
	p->is_sampled = true;
	if (!p->is_announced) {
		p->is_announced = true;
		changed(t, p, &(struct gpc_process_event){.kind = GPC_PROC_SAMPLED, .pid = pid});
	}
	return p;
}

void gpc_table_tell_sampled(struct gpc_table *t)
{
	for (size_t i = 0; i < t->by_id.room; i++) {
		const struct gpc_process *p = live_at(t, i);

		if (p && p->is_announced && gpc_table_find(t, p->pid) == p)
			changed(t, p,
				&(struct gpc_process_event){.kind = GPC_PROC_SAMPLED,
							    .pid = p->pid});
	}
}

struct gpc_process *gpc_table_enter(struct gpc_table *t, int32_t pid)
{
	struct gpc_process *p = gpc_table_find(t, pid);
	struct gpc_proc_stat stat;

	if (!p || p->exit_ns) {
		if (pid <= 0 || !gpc_proc_stat_read(t->procfd, pid, &stat))
			return NULL;
		/* Its end was told already: an entry of it would stay for ever. */
		if (stat.state == 'Z' || stat.state == 'X')
			return NULL;
		p = enter(t, pid);
		if (!p)
			return NULL;
		describe(t, p);
	}
	p->is_given = true;
	return p;
}

static void read_line(struct gpc_table *t, struct gpc_process *p, const struct gpc_maps_line *line)
{
	char path[4096];
	struct gpc_table_mmap m = {.start = line->map.start,
				   .length = line->map.end - line->map.start,
				   .offset = line->map.offset,
				   .key = {.inode = line->map.inode,
					   .dev_major = line->map.dev_major,
					   .dev_minor = line->map.dev_minor},
				   .path = path};

	if (!(line->map.prot & GPC_MAP_EXEC))
		return;
	snprintf(path, sizeof path, "%.*s", (int)line->path_len, line->path);
	map_area(t, p, &m);
}

static bool read_maps(struct gpc_table *t, struct gpc_process *p, int32_t pid)
{
	char name[32];
	autofree char *text = NULL;
	struct gpc_maps_line line;
	const char *at;
	size_t n = 0;

	snprintf(name, sizeof name, "%d/maps", pid);
	if (gpc_read_file(t->procfd, name, MAPS_MAX, &text, &n, NULL) < 0 || n == 0)
		return false;
	at = text;
	while (gpc_maps_next(&at, text + n, &line))
		read_line(t, p, &line);
	return true;
}

const struct gpc_space *gpc_table_space(struct gpc_table *t, struct gpc_process *p)
{
	static const struct gpc_space nothing = {.refs = 1};
	struct gpc_process *parent;

	if (p->space)
		return p->space;
	if (p->is_kernel)
		return &nothing;
	p->space = gpc_space_new();
	if (!p->space)
		return &nothing;
	if (read_maps(t, p, p->pid) || p->exec_count || !p->ppid)
		return p->space;
	parent = gpc_table_find(t, p->ppid);
	if (parent && parent->space && parent->space->n) {
		gpc_space_put(p->space);
		p->space = gpc_space_get(parent->space);
	} else {
		read_maps(t, p, p->ppid);
	}
	return p->space;
}

/* Tells of the mappings that were not there before. */
static void read_maps_again(struct gpc_table *t, struct gpc_process *p)
{
	struct gpc_space *old = take(p->space);
	const struct gpc_space *now = gpc_table_space(t, p);

	for (uint32_t i = 0; i < now->n; i++) {
		struct gpc_area area = now->areas[i];
		const struct gpc_area *was = gpc_space_find(old, area.start);

		if (!was || was->start != area.start || was->image != area.image)
			changed(t, p,
				&(struct gpc_process_event){
					.kind = GPC_PROC_MMAP,
					.pid = p->pid,
					.path = area.image ? gpc_images_path(t->images, area.image)
							   : "",
					.start = area.start,
					.end = area.end});
	}
	gpc_space_put(old);
}

void gpc_table_used(struct gpc_table *t, int32_t pid)
{
	struct gpc_process *p = gpc_table_enter(t, pid);

	if (!p)
		return;
	if (t->is_without_mmaps && p->space)
		read_maps_again(t, p);
	gpc_table_sampled(t, pid, t->window);
}

/* ---- forgetting ----------------------------------------------------------- */

static void forget(struct gpc_table *t, struct gpc_process *p)
{
	struct gpc_process *now = gpc_table_find(t, p->pid);

	if (now == p) {
		if (p->older)
			gpc_u64map_set(&t->by_pid, (uint32_t)p->pid, (uintptr_t)p->older);
		else
			gpc_u64map_remove(&t->by_pid, (uint32_t)p->pid);
	}
	for (; now; now = now->older)
		if (now->older == p)
			now->older = p->older;
	gpc_u64map_remove(&t->by_id, p->id);
	process_free(p);
}

/* An earlier image of a pid ended with the exec, whenever that was: it may go
 * once a later window is finished. */
static bool is_over(struct gpc_table *t, const struct gpc_process *p, uint32_t window,
		    uint64_t end_ns)
{
	if (p->exit_ns)
		return p->exit_ns < end_ns && p->window <= window;
	return gpc_table_find(t, p->pid) != p && p->window <= window;
}

void gpc_table_trim(struct gpc_table *t, uint32_t window, uint64_t end_ns)
{
	vec(struct gpc_process *) over = {0};

	if (t->window <= window)
		t->window = window + 1;
	for (size_t i = 0; i < t->by_id.room; i++) {
		struct gpc_process *p;

		if (!t->by_id.slots[i].value)
			continue;
		p = (struct gpc_process *)(uintptr_t)(t->by_id.slots[i].value - 1);
		if (is_over(t, p, window, end_ns)) {
			if (!vec_push(&over, p))
				break;
		} else if (p->space && p->window + IDLE_WINDOWS < window) {
			gpc_space_put(p->space);
			p->space = NULL;
		}
	}
	for (size_t i = 0; i < over.n; i++)
		forget(t, over.at[i]);
	vec_deinit(&over);
}

bool gpc_table_images(const struct gpc_table *t, struct gpc_u64map *set)
{
	for (size_t i = 0; i < t->by_id.room; i++) {
		const struct gpc_process *p;

		if (!t->by_id.slots[i].value)
			continue;
		p = (const struct gpc_process *)(uintptr_t)(t->by_id.slots[i].value - 1);
		for (uint32_t a = 0; p->space && a < p->space->n; a++)
			if (p->space->areas[a].image &&
			    !gpc_u64map_set(set, p->space->areas[a].image, 0))
				return false;
	}
	return true;
}

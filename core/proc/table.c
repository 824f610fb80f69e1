/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/table_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "proc/stat.h"

#define IDLE_WINDOWS 5  /* a sleeper's mappings are forgotten after so many */
#define GENERATIONS  64 /* images of one pid kept within a window */

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
	if (gpc_patient_new("gpc-maps", &t->patient, err) < 0) {
		close(t->procfd);
		free(t);
		return GPC_E_NOMEM;
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
	if (p->jitdump_fd >= 0)
		close(p->jitdump_fd);
	free(p->container);
	free(p);
}

void gpc_table_free(struct gpc_table *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->by_id.room; i++)
		if (t->by_id.slots[i].value)
			process_free(
				(struct gpc_process *)(uintptr_t)(t->by_id.slots[i].value - 1));
	gpc_table_free_cgroups(t);
	vec_deinit(&t->cgroup_paths);
	gpc_u64map_deinit(&t->cgroups);
	gpc_u64map_deinit(&t->by_id);
	gpc_u64map_deinit(&t->by_pid);
	gpc_patient_free(t->patient);
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
	p->perf_map_fd = p->jitdump_fd = -1;
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

void gpc_table_changed(struct gpc_table *t, const struct gpc_process *p,
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
	p->is_forked = true;
	p->older = NULL; /* the pid was free: no relation to its earlier owner */
	if (parent) {
		set_comm(p, parent->comm);
		p->is_kernel = parent->is_kernel && parent->pid != 0;
		/* Unless its own would never be told. */
		p->space = t->is_without_mmaps ? NULL : gpc_space_get(parent->space);
		inherit_place(p, parent);
	}
	gpc_table_changed(
		t, p, &(struct gpc_process_event){.kind = GPC_PROC_FORK, .pid = pid, .ppid = ppid});
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
		gpc_cleanup_close(&p->jitdump_fd);
		p->jitdump_fd = -1;
		p->unwind_jit = 0;
		p->jitdump_ns = 0;
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
	p->exit_ns = 0; /* another thread than the main one may do it, and takes its place */
	p->is_headless = false;
	p->is_kernel = false; /* a helper the kernel started is a program now */
	p->has_jit = false;
	p->is_announced = p->is_placed = false;
	set_comm(p, comm);
	if (!p->space && !t->is_without_mmaps)
		p->space = gpc_space_new();
	gpc_table_changed(
		t, p, &(struct gpc_process_event){.kind = GPC_PROC_EXEC, .pid = pid, .path = comm});
}

/* Asked only of who counts: most that end were never sampled. */
static bool goes_on(const struct gpc_table *t, const struct gpc_process *p)
{
	struct gpc_proc_stat stat;

	return p && (p->is_sampled || p->is_given) &&
	       gpc_proc_stat_read(t->procfd, p->pid, &stat) && stat.threads > 1;
}

/* Told of the main thread; the others may end with it a moment later, or go on for
 * years: gpc_table_trim looks again. */
void gpc_table_exit(struct gpc_table *t, int32_t pid)
{
	struct gpc_process *p = gpc_table_find(t, pid);

	if (goes_on(t, p)) {
		p->is_headless = true;
		return;
	}
	if (p)
		p->exit_ns = t->time_ns ? t->time_ns : 1;
	gpc_table_changed(t, p, &(struct gpc_process_event){.kind = GPC_PROC_EXIT, .pid = pid});
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
		gpc_table_changed(t, p,
				  &(struct gpc_process_event){.kind = GPC_PROC_SAMPLED,
							      .pid = pid});
	}
	return p;
}

void gpc_table_tell_sampled(struct gpc_table *t)
{
	for (size_t i = 0; i < t->by_id.room; i++) {
		const struct gpc_process *p = live_at(t, i);

		if (p && p->is_announced && gpc_table_find(t, p->pid) == p)
			gpc_table_changed(t, p,
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
		if (gpc_proc_stat_is_over(&stat))
			return NULL;
		p = enter(t, pid);
		if (!p)
			return NULL;
		describe(t, p);
	}
	p->is_given = true;
	return p;
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

static void end_headless(struct gpc_table *t)
{
	for (size_t i = 0; i < t->by_id.room; i++) {
		struct gpc_process *p = live_at(t, i);

		if (p && p->is_headless && !goes_on(t, p))
			gpc_table_exit(t, p->pid);
	}
}

void gpc_table_trim(struct gpc_table *t, uint32_t window, uint64_t end_ns)
{
	vec(struct gpc_process *) over = {0};

	end_headless(t);

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

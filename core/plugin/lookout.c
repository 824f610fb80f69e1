/* SPDX-License-Identifier: Apache-2.0 */
/* Which threads of the sampled processes use CPU: those are looked at in each tick. A
 * process that used none costs one system call; all threads of a process are looked at
 * only when the known ones do not account for what it used. */
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "plugin/ticks_impl.h"
#include "proc/root.h"
#include "proc/running.h"

#define LOOK_MS     100
#define THREADS_MAX 16384
#define IDLE_MAX    20 /* looks; then a thread is no longer busy */
#define SCAN_SHARE  50 /* a scan may take one part in so many of the time */
/* What may be used by threads that are not known: rounding and the ticks of the kernel. */
#define UNKNOWN_NS (2 * GPC_MS_NS)

struct found {
	struct gpc_tick_thread thread;
	uint64_t used_ns;
};

/* What the lookout will publish: its own copy. */
struct look {
	struct gpc_tick_target *t;
	int proc_fd;
	bool wants_scan;
	struct found busy[GPC_TICK_BUSY];
	uint32_t n;
};

/* CPU time since it was last looked at. */
static bool used_by(struct look *l, int32_t tid, uint64_t *ret)
{
	uint64_t now = 0, before = 0;

	if (!gpc_thread_cpu_ns(l->proc_fd, l->t->pid, tid, &now))
		return false;
	if (!gpc_u64map_get(&l->t->threads, (uint32_t)tid, &before))
		before = 0;
	*ret = now > before ? now - before : 0;
	gpc_u64map_set(&l->t->threads, (uint32_t)tid, now);
	return true;
}

/* The busiest stay. */
static void keep(struct look *l, const struct found *f)
{
	uint32_t least = 0;

	if (l->n < GPC_TICK_BUSY) {
		l->busy[l->n++] = *f;
		return;
	}
	for (uint32_t i = 1; i < l->n; i++)
		if (l->busy[i].used_ns < l->busy[least].used_ns)
			least = i;
	if (l->busy[least].used_ns < f->used_ns)
		l->busy[least] = *f;
}

/* Its number in the process's own pid namespace; known ones cost nothing. */
static int32_t ns_tid_of(struct look *l, int32_t tid, struct gpc_u64map *fresh)
{
	int32_t ns_tid;

	if (l->t->ns_pid == l->t->pid)
		return tid;
	if (tid == l->t->pid)
		return l->t->ns_pid;
	ns_tid = gpc_ns_pid(tid);
	if (ns_tid > 0)
		gpc_u64map_set(fresh, (uint32_t)ns_tid, (uint32_t)tid);
	return ns_tid;
}

static void scan(struct look *l, struct gpc_u64map *fresh)
{
	char path[32];
	autoclose int fd = -1;
	autodir DIR *dir = NULL;
	struct dirent *e;

	snprintf(path, sizeof path, "%d/task", l->t->pid);
	fd = openat(l->proc_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dir = fd < 0 ? NULL : fdopendir(fd);
	if (dir)
		fd = -1;
	l->n = 0;
	if (l->t->threads.n > THREADS_MAX)
		gpc_u64map_clear(&l->t->threads);
	for (unsigned n = 0; dir && n < THREADS_MAX && (e = readdir(dir));) {
		struct found f = {.thread.tid = (int32_t)strtol(e->d_name, NULL, 10)};

		if (f.thread.tid <= 0)
			continue;
		n++;
		if (!used_by(l, f.thread.tid, &f.used_ns) || !f.used_ns)
			continue;
		f.thread.ns_tid = ns_tid_of(l, f.thread.tid, fresh);
		if (f.thread.ns_tid > 0)
			keep(l, &f);
	}
}

/* Of the busy ones: what they used, and which still are. */
static uint64_t look_at_busy(struct look *l)
{
	uint64_t sum = 0;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < l->n; i++) {
		struct found *f = &l->busy[i];

		if (!used_by(l, f->thread.tid, &f->used_ns))
			continue;
		sum += f->used_ns;
		l->t->idle[kept] = f->used_ns ? 0 : l->t->idle[i] + 1;
		if (l->t->idle[kept] > IDLE_MAX)
			continue;
		l->busy[kept++] = *f;
	}
	l->n = kept;
	return sum;
}

static void begin(struct gpc_ticks *ticks, struct look *l)
{
	gpc_ticks_lock(ticks);
	l->n = l->t->n_busy;
	for (uint32_t i = 0; i < l->n; i++)
		l->busy[i].thread = l->t->busy[i];
	l->wants_scan = l->t->wants_scan;
	l->t->wants_scan = false;
	gpc_ticks_unlock(ticks);
}

static void publish(struct gpc_ticks *ticks, const struct look *l, const struct gpc_u64map *fresh)
{
	gpc_ticks_lock(ticks);
	for (uint32_t i = 0; i < l->n; i++)
		l->t->busy[i] = l->busy[i].thread;
	l->t->n_busy = l->n;
	for (size_t i = 0; i < fresh->room; i++)
		if (fresh->slots[i].value)
			gpc_u64map_set(&l->t->ns_to_tid, fresh->slots[i].key,
				       fresh->slots[i].value - 1);
	if (l->t->ns_to_tid.n > THREADS_MAX)
		gpc_u64map_clear(&l->t->ns_to_tid);
	gpc_ticks_unlock(ticks);
}

static void look_at(struct gpc_ticks *ticks, struct gpc_tick_target *t)
{
	struct look l = {.t = t, .proc_fd = ticks->proc_fd};
	struct gpc_u64map fresh = {0};
	uint64_t cpu_ns = gpc_process_cpu_ns(t->pid), used = cpu_ns - t->cpu_ns, known = 0;
	uint64_t now = gpc_now_ns();

	begin(ticks, &l);
	if (t->is_known && !l.wants_scan && cpu_ns == t->cpu_ns)
		return;
	t->cpu_ns = cpu_ns;
	if (t->is_known)
		known = look_at_busy(&l);
	if (now >= t->scan_from_ns &&
	    (!t->is_known || l.wants_scan || used > known + known / 8 + UNKNOWN_NS)) {
		scan(&l, &fresh);
		memset(t->idle, 0, sizeof t->idle);
		t->is_known = true;
		t->scan_from_ns = now + SCAN_SHARE * (gpc_now_ns() - now);
	}
	publish(ticks, &l, &fresh);
	gpc_u64map_deinit(&fresh);
}

/* All that are there now; each a reference. */
static size_t take_all(struct gpc_ticks *t, struct gpc_tick_target ***ret)
{
	size_t n = 0;

	gpc_ticks_lock(t);
	*ret = t->targets.n ? malloc(t->targets.n * sizeof **ret) : NULL;
	for (; *ret && n < t->targets.n; n++) {
		(*ret)[n] = t->targets.at[n];
		__atomic_add_fetch(&(*ret)[n]->refs, 1, __ATOMIC_RELAXED);
	}
	gpc_ticks_unlock(t);
	return n;
}

void *gpc_ticks_lookout(void *arg)
{
	struct gpc_ticks *t = arg;
	struct pollfd stop = {.fd = t->stop_fd, .events = POLLIN};

	while (poll(&stop, 1, LOOK_MS) <= 0) {
		struct gpc_tick_target **all;
		size_t n = take_all(t, &all);

		for (size_t i = 0; i < n; i++) {
			look_at(t, all[i]);
			gpc_tick_target_put(all[i]);
		}
		free(all);
	}
	return NULL;
}

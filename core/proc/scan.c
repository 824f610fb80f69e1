/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/scan.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/vec.h"
#include "proc/stat.h"

#define EXPECTED_MAX 512
#define LOOKS        6                /* at a new process, ... */
#define LOOK_NS      (50 * GPC_MS_NS) /* ... the first after this, then twice as long each */

/* A new process. */
struct expected {
	int32_t pid;
	unsigned looks;
	uint64_t due_ns;
};

/* A process as it was at the last scan. */
struct seen {
	int32_t pid;
	uint32_t round;
	uint64_t start_time, cpu_ticks;
	uint64_t exe_dev, exe_ino;
};

struct gpc_scan {
	struct gpc_scan_setup setup;
	int procfd;
	uint32_t round;          /* 1 in the first scan */
	struct gpc_u64map index; /* pid -> place in list */
	vec(struct seen) list;
	pthread_mutex_t lock; /* covers what follows; taken within the table's lock */
	vec(struct expected) expected;
	uint64_t due_ns; /* of the first of them */
};

gpc_status gpc_scan_new(const char *procfs, const struct gpc_scan_setup *setup,
			struct gpc_scan **ret, struct gpc_err *err)
{
	struct gpc_scan *s = calloc(1, sizeof *s);

	if (!s)
		return gpc_err_nomem(err);
	s->setup = *setup;
	s->procfd = open(procfs, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->procfd < 0) {
		free(s);
		return gpc_err_sys(err, "open %s", procfs);
	}
	pthread_mutex_init(&s->lock, NULL);
	s->due_ns = UINT64_MAX;
	*ret = s;
	return GPC_OK;
}

void gpc_scan_free(struct gpc_scan *s)
{
	if (!s)
		return;
	gpc_u64map_deinit(&s->index);
	vec_deinit(&s->list);
	vec_deinit(&s->expected);
	pthread_mutex_destroy(&s->lock);
	close(s->procfd);
	free(s);
}

static void read_exe(const struct gpc_scan *s, int32_t pid, struct seen *ret)
{
	char path[32];
	struct stat st;

	snprintf(path, sizeof path, "%d/exe", pid);
	if (fstatat(s->procfd, path, &st, 0) < 0)
		return;
	ret->exe_dev = st.st_dev;
	ret->exe_ino = st.st_ino;
}

static struct seen *find(struct gpc_scan *s, int32_t pid)
{
	uint64_t at;

	return gpc_u64map_get(&s->index, (uint32_t)pid, &at) ? &s->list.at[at] : NULL;
}

static void add(struct gpc_scan *s, const struct seen *now)
{
	if (vec_push(&s->list, *now))
		gpc_u64map_set(&s->index, (uint32_t)now->pid, s->list.n - 1);
}

static void tell_used(struct gpc_scan *s, int32_t pid)
{
	const struct gpc_table_access *a = &s->setup.access;

	a->lock(a->ctx);
	gpc_table_used(a->table, pid);
	a->unlock(a->ctx);
}

static void tell_exec(struct gpc_scan *s, int32_t pid, const char *comm)
{
	const struct gpc_table_access *a = &s->setup.access;

	a->lock(a->ctx);
	gpc_table_exec(a->table, pid, comm);
	a->unlock(a->ctx);
}

static void tell_exit(struct gpc_scan *s, int32_t pid)
{
	const struct gpc_table_access *a = &s->setup.access;

	a->lock(a->ctx);
	gpc_table_exit(a->table, pid);
	a->unlock(a->ctx);
}

/* A pid that went to another process ended in between. */
static void compare(struct gpc_scan *s, struct seen *was, const struct seen *now, const char *comm)
{
	bool is_other = was->start_time != now->start_time;
	bool is_exec = !is_other && was->exe_ino &&
		       (was->exe_ino != now->exe_ino || was->exe_dev != now->exe_dev);
	bool has_run = is_other ? now->cpu_ticks > 0 : now->cpu_ticks > was->cpu_ticks;

	if (s->setup.tells_life && is_other)
		tell_exit(s, now->pid);
	if (s->setup.tells_life && is_exec)
		tell_exec(s, now->pid, comm);
	*was = *now;
	if (s->setup.tells_use && has_run)
		tell_used(s, now->pid);
}

/* False: there is no such program, or no more. */
static bool look_at(struct gpc_scan *s, int32_t pid)
{
	struct gpc_proc_stat stat;
	struct seen now = {.pid = pid, .round = s->round};
	struct seen *was = find(s, pid);

	if (!gpc_proc_stat_read(s->procfd, pid, &stat) || stat.flags & GPC_PF_KTHREAD ||
	    gpc_proc_stat_is_over(&stat))
		return false;
	now.start_time = stat.start_time;
	now.cpu_ticks = stat.cpu_ticks;
	/* Who has not run since has not done an exec either. */
	if (was && was->start_time == now.start_time && was->cpu_ticks == now.cpu_ticks) {
		was->round = s->round;
		return true;
	}
	if (s->setup.tells_life)
		read_exe(s, pid, &now);
	if (was) {
		compare(s, was, &now, stat.comm);
		return true;
	}
	add(s, &now);
	/* In the first scan everybody has used CPU at some time. */
	if (s->setup.tells_use && s->round > 1 && now.cpu_ticks)
		tell_used(s, pid);
	return true;
}

static void forget_gone(struct gpc_scan *s)
{
	for (size_t i = 0; i < s->list.n;) {
		int32_t pid = s->list.at[i].pid;

		if (s->list.at[i].round == s->round) {
			i++;
			continue;
		}
		gpc_u64map_remove(&s->index, (uint32_t)pid);
		s->list.at[i] = s->list.at[--s->list.n];
		if (i < s->list.n)
			gpc_u64map_set(&s->index, (uint32_t)s->list.at[i].pid, i);
		if (s->setup.tells_life)
			tell_exit(s, pid);
	}
}

void gpc_scan_run(struct gpc_scan *s)
{
	int fd = dup(s->procfd);
	autodir DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *e;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return;
	}
	s->round++;
	rewinddir(dir);
	while ((e = readdir(dir))) {
		int32_t pid = (int32_t)strtol(e->d_name, NULL, 10);

		if (pid > 0)
			(void)look_at(s, pid);
	}
	forget_gone(s);
}

/* ---- new processes ------------------------------------------------------------------ */

void gpc_scan_expect(struct gpc_scan *s, int32_t pid, uint64_t now_ns)
{
	struct expected fresh = {.pid = pid, .due_ns = now_ns + LOOK_NS};
	autolock(&s->lock);

	if (!s->setup.tells_use)
		return;
	if (fresh.due_ns < s->due_ns)
		s->due_ns = fresh.due_ns;
	for (size_t i = 0; i < s->expected.n; i++)
		if (s->expected.at[i].pid == pid) {
			s->expected.at[i] = fresh;
			return;
		}
	if (s->expected.n < EXPECTED_MAX)
		(void)vec_push(&s->expected, fresh);
}

/* Takes one that is due; 0: there is none, and due_ns is that of the next one. */
static int32_t next_expected(struct gpc_scan *s, uint64_t now_ns)
{
	uint64_t due_ns = UINT64_MAX;
	autolock(&s->lock);

	for (size_t i = 0; i < s->expected.n; i++) {
		struct expected *e = &s->expected.at[i];
		int32_t pid = e->pid;

		if (e->due_ns > now_ns) {
			due_ns = e->due_ns < due_ns ? e->due_ns : due_ns;
			continue;
		}
		if (++e->looks < LOOKS)
			e->due_ns = now_ns + (LOOK_NS << e->looks);
		else
			*e = s->expected.at[--s->expected.n];
		return pid;
	}
	s->due_ns = due_ns;
	return 0;
}

static void forget_expected(struct gpc_scan *s, int32_t pid)
{
	autolock(&s->lock);

	for (size_t i = 0; i < s->expected.n; i++)
		if (s->expected.at[i].pid == pid) {
			s->expected.at[i] = s->expected.at[--s->expected.n];
			return;
		}
}

void gpc_scan_run_expected(struct gpc_scan *s, uint64_t now_ns)
{
	int32_t pid;

	while ((pid = next_expected(s, now_ns)))
		if (!look_at(s, pid))
			forget_expected(s, pid);
}

uint64_t gpc_scan_due(struct gpc_scan *s)
{
	autolock(&s->lock);

	return s->due_ns;
}

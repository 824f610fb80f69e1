/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of pulled processes: their numbers in pid namespaces of their own, and
 * their names. Files are not opened at samples: what is not known is looked up by
 * the chores, for the next one. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hot.h"
#include "base/io.h"
#include "proc/root.h"
#include "source/pull_impl.h"

#define THREADS_MAX 65536
#define UNKNOWN_MAX 256

static bool wants_names(const struct gpc_puller *t)
{
	return t->c.step && GPC_HAS(t->c.step, finish) && t->c.step->finish;
}

/* Locked. */
static void look_up_soon(struct gpc_puller *t, int32_t tid)
{
	for (size_t i = 0; i < t->unknown_tids.n; i++)
		if (t->unknown_tids.at[i] == tid)
			return;
	if (t->unknown_tids.n < UNKNOWN_MAX)
		(void)vec_push(&t->unknown_tids, tid);
}

GPC_HOT struct gpc_pull_thread gpc_puller_thread(struct gpc_puller *t, int32_t tid)
{
	struct gpc_pull_thread none = {.ns_tid = t->is_same_ns   ? tid
						 : tid == t->pid ? t->c.target->ns_pid
								 : 0};
	uint64_t at;

	if (none.ns_tid && !wants_names(t))
		return none;
	autohold(&t->lock);
	if (gpc_u64map_get(&t->tids, (uint32_t)tid, &at))
		return t->threads.at[at];
	look_up_soon(t, tid);
	return none;
}

static void read_thread(struct gpc_puller *t, int32_t tid)
{
	struct gpc_pull_thread found = {.ns_tid = t->is_same_ns ? tid : gpc_ns_pid(tid)};
	char path[40], text[32];

	if (!found.ns_tid)
		return;
	snprintf(path, sizeof path, "/proc/%d/comm", tid);
	if (wants_names(t) && gpc_read_small(AT_FDCWD, path, text, sizeof text) > 0) {
		text[strcspn(text, "\n")] = '\0';
		snprintf(found.name, sizeof found.name, "%.15s", text);
	}
	autohold(&t->lock);
	if (t->threads.n >= THREADS_MAX) {
		gpc_u64map_clear(&t->tids);
		t->threads.n = 0;
	}
	if (vec_push(&t->threads, found))
		gpc_u64map_set(&t->tids, (uint32_t)tid, t->threads.n - 1);
}

void gpc_puller_chores(struct gpc_puller *t)
{
	int32_t tids[UNKNOWN_MAX];
	size_t n;

	gpc_lock_take(&t->lock);
	n = t->unknown_tids.n;
	if (n)
		memcpy(tids, t->unknown_tids.at, n * sizeof *tids);
	t->unknown_tids.n = 0;
	gpc_lock_give(&t->lock);
	for (size_t i = 0; i < n; i++)
		read_thread(t, tids[i]);
}

void gpc_puller_forget(struct gpc_puller *t, int32_t tid)
{
	autohold(&t->lock);

	gpc_u64map_remove(&t->tids, (uint32_t)tid);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "source/threads.h"

#include <stdio.h>
#include <string.h>

#include "base/io.h"

static struct gpc_thread *find(const struct gpc_threads *t, int32_t tid)
{
	uint64_t place;

	return gpc_u64map_get(&t->index, (uint32_t)tid, &place) ? &t->list.at[place] : NULL;
}

static struct gpc_thread *enter(struct gpc_threads *t, int32_t tid)
{
	struct gpc_thread *thread = find(t, tid);

	if (thread)
		return thread;
	if (!vec_reserve(&t->list, 1) || !gpc_u64map_set(&t->index, (uint32_t)tid, t->list.n))
		return NULL;
	t->list.at[t->list.n] = (struct gpc_thread){.tid = tid};
	return &t->list.at[t->list.n++];
}

static void read_name(const struct gpc_threads *t, int32_t pid, struct gpc_thread *thread)
{
	char path[64], text[32];
	ssize_t n;

	snprintf(path, sizeof path, "%d/task/%d/comm", pid, thread->tid);
	n = gpc_read_small(t->proc_fd, path, text, sizeof text);
	if (n <= 0)
		return; /* gone; what the kernel told before may be right */
	text[strcspn(text, "\n")] = '\0';
	snprintf(thread->name, sizeof thread->name, "%.15s", text);
}

void gpc_threads_deinit(struct gpc_threads *t)
{
	vec_deinit(&t->list);
	gpc_u64map_deinit(&t->index);
}

void gpc_threads_seen(struct gpc_threads *t, uint64_t process, int32_t pid, int32_t tid,
		      uint32_t window)
{
	struct gpc_thread *thread = enter(t, tid);

	if (!thread)
		return;
	thread->window = window;
	if (thread->process == process)
		return;
	/* The number was another thread's, or only a name was told. */
	if (thread->process)
		thread->name[0] = '\0';
	thread->process = process;
	read_name(t, pid, thread);
}

void gpc_threads_renamed(struct gpc_threads *t, int32_t tid, const char *name, uint32_t window)
{
	struct gpc_thread *thread = enter(t, tid);

	if (!thread)
		return;
	thread->window = window;
	snprintf(thread->name, sizeof thread->name, "%.15s", name);
}

const char *gpc_threads_name(const struct gpc_threads *t, uint64_t process, int32_t tid)
{
	const struct gpc_thread *thread = find(t, tid);

	return thread && thread->process == process ? thread->name : "";
}

void gpc_threads_trim(struct gpc_threads *t, uint32_t window)
{
	size_t kept = 0;

	gpc_u64map_clear(&t->index);
	for (size_t i = 0; i < t->list.n; i++) {
		if (t->list.at[i].window + 1 < window)
			continue;
		t->list.at[kept] = t->list.at[i];
		if (gpc_u64map_set(&t->index, (uint32_t)t->list.at[kept].tid, kept))
			kept++;
	}
	t->list.n = kept;
}

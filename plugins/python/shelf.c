/* SPDX-License-Identifier: Apache-2.0 */
#include "shelf.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FOLDERS_MAX 1024

struct shelved {
	struct gpc_folder_id id;
	struct py_dists *dists;
	size_t bytes;
	uint64_t used; /* larger: later */
};

struct py_shelf {
	pthread_mutex_t lock;
	size_t max_bytes, bytes;
	uint64_t turn;
	unsigned n;
	struct shelved at[FOLDERS_MAX];
};

struct py_shelf *gpc_py_shelf_new(size_t max_bytes)
{
	struct py_shelf *s = calloc(1, sizeof *s);
	pthread_mutexattr_t attr;

	if (!s)
		return NULL;
	s->max_bytes = max_bytes;
	/* Readers are real-time, the worker is not. */
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&s->lock, &attr);
	pthread_mutexattr_destroy(&attr);
	return s;
}

void gpc_py_shelf_free(struct py_shelf *s)
{
	if (!s)
		return;
	for (unsigned i = 0; i < s->n; i++)
		gpc_py_dists_free(s->at[i].dists);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

/* ---- locked ---------------------------------------------------------------------------- */

static struct shelved *find(struct py_shelf *s, const struct gpc_folder_id *id)
{
	for (unsigned i = 0; i < s->n; i++) {
		const struct gpc_folder_id *have = &s->at[i].id;

		if (have->inode != id->inode || have->device != id->device ||
		    have->changed_ns != id->changed_ns)
			continue;
		s->at[i].used = ++s->turn;
		return &s->at[i];
	}
	return NULL;
}

/* Takes the one that was not asked for the longest. */
static struct py_dists *take_oldest(struct py_shelf *s)
{
	struct shelved *oldest = s->at;
	struct py_dists *ret;

	for (unsigned i = 1; i < s->n; i++)
		if (s->at[i].used < oldest->used)
			oldest = &s->at[i];
	ret = oldest->dists;
	s->bytes -= oldest->bytes;
	*oldest = s->at[--s->n];
	return ret;
}

/* ---- shared ---------------------------------------------------------------------------- */

static bool is_full(const struct py_shelf *s, size_t more)
{
	return s->n && (s->n == FOLDERS_MAX || s->bytes + more > s->max_bytes);
}

/* Freed outside of the lock, which readers wait for. */
static void make_room(struct py_shelf *s, size_t more)
{
	pthread_mutex_lock(&s->lock);
	while (is_full(s, more)) {
		struct py_dists *gone = take_oldest(s);

		pthread_mutex_unlock(&s->lock);
		gpc_py_dists_free(gone);
		pthread_mutex_lock(&s->lock);
	}
	pthread_mutex_unlock(&s->lock);
}

bool gpc_py_shelf_has(struct py_shelf *s, const struct gpc_folder_id *id)
{
	bool has;

	pthread_mutex_lock(&s->lock);
	has = find(s, id) != NULL;
	pthread_mutex_unlock(&s->lock);
	return has;
}

/* Only the worker puts. */
void gpc_py_shelf_put(struct py_shelf *s, const struct gpc_folder_id *id, struct py_dists *dists)
{
	struct shelved entry = {*id, dists, gpc_py_dists_bytes(dists), 0};

	if (gpc_py_shelf_has(s, id)) {
		gpc_py_dists_free(dists);
		return;
	}
	make_room(s, entry.bytes);
	pthread_mutex_lock(&s->lock);
	entry.used = ++s->turn;
	s->at[s->n++] = entry;
	s->bytes += entry.bytes;
	pthread_mutex_unlock(&s->lock);
}

bool gpc_py_shelf_find(struct py_shelf *s, const struct gpc_folder_id *id, const char *file,
		       char *ret, size_t size)
{
	const struct shelved *found;

	pthread_mutex_lock(&s->lock);
	found = find(s, id);
	if (found)
		snprintf(ret, size, "%s", gpc_py_dists_find(found->dists, file));
	pthread_mutex_unlock(&s->lock);
	return found != NULL;
}

size_t gpc_py_shelf_bytes(struct py_shelf *s)
{
	size_t bytes;

	pthread_mutex_lock(&s->lock);
	bytes = s->bytes;
	pthread_mutex_unlock(&s->lock);
	return bytes;
}

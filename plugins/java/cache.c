/* SPDX-License-Identifier: Apache-2.0 */
#include "cache.h"

#include <stdlib.h>

#include "lock.h"

#define WAYS        4
#define PLACE_SETS  4096 /* 16384 places, 3 MiB when all have two frames */
#define METHOD_SETS 4096

static uint32_t set_of(uint64_t key, uint32_t sets)
{
	key *= UINT64_C(0x9e3779b97f4a7c15);
	return (uint32_t)(key >> 40) % sets * WAYS;
}

/* The least recently used of a set's ways. */
static uint32_t oldest_of(const uint32_t *used, uint32_t set)
{
	uint32_t oldest = set;

	for (uint32_t i = set; i < set + WAYS; i++)
		if (used[i] < used[oldest])
			oldest = i;
	return oldest;
}

/* ---- places ------------------------------------------------------------------------ */

static size_t bytes_of(const struct place *p)
{
	return offsetof(struct place, frames) + p->n * sizeof *p->frames;
}

static uint64_t key_of(uint64_t pc, bool is_return)
{
	return pc << 1 | is_return;
}

bool gpc_java_places_init(struct place_cache *c)
{
	gpc_java_lock_init(&c->lock);
	c->at = calloc(PLACE_SETS * WAYS, sizeof(struct place *));
	c->used = calloc(PLACE_SETS * WAYS, sizeof *c->used);
	return c->at && c->used;
}

void gpc_java_places_deinit(struct place_cache *c)
{
	for (uint32_t i = 0; c->at && i < PLACE_SETS * WAYS; i++)
		free(c->at[i]);
	free(c->at);
	free(c->used);
	pthread_mutex_destroy(&c->lock);
}

JAVA_HOT bool gpc_java_places_get(struct place_cache *c, uint64_t pc, bool is_return,
				  struct place *ret)
{
	uint32_t set = set_of(key_of(pc, is_return), PLACE_SETS);
	bool has = false;

	pthread_mutex_lock(&c->lock);
	for (uint32_t i = set; i < set + WAYS && !has; i++) {
		const struct place *p = c->at[i];

		if (!p || p->pc != pc || p->is_return != is_return)
			continue;
		memcpy(ret, p, bytes_of(p));
		c->used[i] = ++c->clock;
		has = true;
	}
	pthread_mutex_unlock(&c->lock);
	return has;
}

void gpc_java_places_put(struct place_cache *c, const struct place *place)
{
	uint32_t set = set_of(key_of(place->pc, place->is_return), PLACE_SETS), way;
	struct place *copy = malloc(bytes_of(place)), *old;

	if (!copy)
		return;
	memcpy(copy, place, bytes_of(place));
	pthread_mutex_lock(&c->lock);
	way = oldest_of(c->used, set);
	for (uint32_t i = set; i < set + WAYS; i++)
		if (c->at[i] && c->at[i]->pc == place->pc &&
		    c->at[i]->is_return == place->is_return)
			way = i;
	old = c->at[way];
	c->at[way] = copy;
	c->used[way] = ++c->clock;
	pthread_mutex_unlock(&c->lock);
	free(old);
}

/* ---- methods -------------------------------------------------------------------------- */

bool gpc_java_methods_init(struct method_cache *c)
{
	gpc_java_lock_init(&c->lock);
	c->at = calloc(METHOD_SETS * WAYS, sizeof *c->at);
	c->used = calloc(METHOD_SETS * WAYS, sizeof *c->used);
	return c->at && c->used;
}

void gpc_java_methods_deinit(struct method_cache *c)
{
	free(c->at);
	free(c->used);
	pthread_mutex_destroy(&c->lock);
}

JAVA_HOT bool gpc_java_methods_get(struct method_cache *c, uint64_t method,
				   struct method_names *ret)
{
	uint32_t set = set_of(method, METHOD_SETS);
	bool has = false;

	pthread_mutex_lock(&c->lock);
	for (uint32_t i = set; i < set + WAYS && !has; i++) {
		if (c->at[i].method.addr != method)
			continue;
		*ret = c->at[i];
		c->used[i] = ++c->clock;
		has = true;
	}
	pthread_mutex_unlock(&c->lock);
	return has;
}

void gpc_java_methods_put(struct method_cache *c, const struct method_names *names)
{
	uint32_t set = set_of(names->method.addr, METHOD_SETS), way;

	pthread_mutex_lock(&c->lock);
	way = oldest_of(c->used, set);
	for (uint32_t i = set; i < set + WAYS; i++)
		if (c->at[i].method.addr == names->method.addr)
			way = i;
	c->at[way] = *names;
	c->used[way] = ++c->clock;
	pthread_mutex_unlock(&c->lock);
}

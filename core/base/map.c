/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/hot.h"

uint64_t gpc_hash(const void *bytes, size_t n)
{
	return XXH3_64bits(bytes, n);
}

/* Keys are often small numbers or addresses: spread them over the table. */
static size_t home(const struct gpc_u64map *m, uint64_t key)
{
	key ^= key >> 32;
	key *= UINT64_C(0x9E3779B97F4A7C15);
	return (size_t)(key >> 20) & (m->room - 1);
}

void gpc_u64map_deinit(struct gpc_u64map *m)
{
	free(m->slots);
	memset(m, 0, sizeof *m);
}

void gpc_u64map_clear(struct gpc_u64map *m)
{
	if (m->slots)
		memset(m->slots, 0, m->room * sizeof *m->slots);
	m->n = 0;
}

static void place(struct gpc_u64map *m, uint64_t key, uint64_t stored)
{
	size_t i = home(m, key);

	while (m->slots[i].value)
		i = (i + 1) & (m->room - 1);
	m->slots[i].key = key;
	m->slots[i].value = stored;
	m->n++;
}

static bool make_room(struct gpc_u64map *m)
{
	struct gpc_u64map bigger = {.room = m->room ? m->room * 2 : 16};

	if (m->n * 4 < m->room * 3)
		return true;
	bigger.slots = calloc(bigger.room, sizeof *bigger.slots);
	if (!bigger.slots)
		return false;
	for (size_t i = 0; i < m->room; i++)
		if (m->slots[i].value)
			place(&bigger, m->slots[i].key, m->slots[i].value);
	free(m->slots);
	*m = bigger;
	return true;
}

GPC_HOT static struct gpc_map_slot *find(const struct gpc_u64map *m, uint64_t key)
{
	if (!m->room)
		return NULL;
	for (size_t i = home(m, key); m->slots[i].value; i = (i + 1) & (m->room - 1))
		if (m->slots[i].key == key)
			return &m->slots[i];
	return NULL;
}

GPC_HOT bool gpc_u64map_get(const struct gpc_u64map *m, uint64_t key, uint64_t *ret)
{
	const struct gpc_map_slot *slot = find(m, key);

	if (!slot)
		return false;
	*ret = slot->value - 1;
	return true;
}

bool gpc_u64map_add(struct gpc_u64map *m, uint64_t key, uint64_t value)
{
	if (!make_room(m))
		return false;
	place(m, key, value + 1);
	return true;
}

bool gpc_u64map_set(struct gpc_u64map *m, uint64_t key, uint64_t value)
{
	struct gpc_map_slot *slot = find(m, key);

	if (!slot)
		return gpc_u64map_add(m, key, value);
	slot->value = value + 1;
	return true;
}

/* Closes the gap at hole so that no probe ends there too early. */
static void close_gap(struct gpc_u64map *m, size_t hole)
{
	size_t mask = m->room - 1;

	for (size_t i = (hole + 1) & mask; m->slots[i].value; i = (i + 1) & mask) {
		size_t want = home(m, m->slots[i].key);

		if (((i - want) & mask) >= ((i - hole) & mask)) {
			m->slots[hole] = m->slots[i];
			hole = i;
		}
	}
	m->slots[hole].value = 0;
}

bool gpc_u64map_remove(struct gpc_u64map *m, uint64_t key)
{
	struct gpc_map_slot *slot = find(m, key);

	if (!slot)
		return false;
	close_gap(m, (size_t)(slot - m->slots));
	m->n--;
	return true;
}

bool gpc_u64map_probe(const struct gpc_u64map *m, uint64_t key, uint64_t *cursor, uint64_t *ret)
{
	size_t i;

	if (!m->room)
		return false;
	for (i = (home(m, key) + *cursor) & (m->room - 1); m->slots[i].value;
	     i = (i + 1) & (m->room - 1)) {
		++*cursor;
		if (m->slots[i].key == key) {
			*ret = m->slots[i].value - 1;
			return true;
		}
	}
	return false;
}

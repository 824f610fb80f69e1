/* SPDX-License-Identifier: Apache-2.0 */
#include "sym/codemap.h"

#include <stdlib.h>

#include "base/cleanup.h"

static int by_start(const void *a, const void *b)
{
	const struct gpc_code *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

/* The pieces that cover the place where the sweep is, newest first: a heap. */
struct heap {
	const struct gpc_code **at;
	size_t n;
};

static void swap(struct heap *h, size_t a, size_t b)
{
	const struct gpc_code *kept = h->at[a];

	h->at[a] = h->at[b];
	h->at[b] = kept;
}

static void heap_push(struct heap *h, const struct gpc_code *code)
{
	size_t i = h->n++;

	h->at[i] = code;
	for (; i && h->at[(i - 1) / 2]->order < h->at[i]->order; i = (i - 1) / 2)
		swap(h, i, (i - 1) / 2);
}

static void heap_pop(struct heap *h)
{
	size_t i = 0;

	h->at[0] = h->at[--h->n];
	for (;;) {
		size_t newest = i;

		for (size_t child = 2 * i + 1; child <= 2 * i + 2 && child < h->n; child++)
			if (h->at[child]->order > h->at[newest]->order)
				newest = child;
		if (newest == i)
			return;
		swap(h, i, newest);
		i = newest;
	}
}

/* Adds [start, end) of code, joined to what it continues. */
static bool add_piece(struct gpc_codemap *map, const struct gpc_code *code, uint64_t start,
		      uint64_t end)
{
	struct gpc_codemap_entry *last =
		map->entries.n ? &map->entries.at[map->entries.n - 1] : NULL;
	struct gpc_codemap_entry piece = {start, (uint32_t)(end - start), code->value};

	if (last && last->value == code->value && last->start + last->size == start) {
		last->size += piece.size;
		return true;
	}
	return vec_push(&map->entries, piece);
}

/* Sweeps over the pieces from low to high addresses: the newest one that covers
 * a place owns it, up to where it ends or another begins. */
static bool cut(struct gpc_codemap *map, const struct gpc_code *list, size_t n, struct heap *heap)
{
	size_t next = 0;
	uint64_t at = 0;

	while (next < n || heap->n) {
		uint64_t stop;

		if (!heap->n)
			at = list[next].start;
		while (next < n && list[next].start <= at)
			heap_push(heap, &list[next++]);
		while (heap->n && heap->at[0]->end <= at)
			heap_pop(heap);
		if (!heap->n)
			continue;
		stop = heap->at[0]->end;
		if (next < n && list[next].start < stop)
			stop = list[next].start;
		if (!add_piece(map, heap->at[0], at, stop))
			return false;
		at = stop;
	}
	return true;
}

bool gpc_codemap_init(struct gpc_codemap *map, struct gpc_code *list, size_t n)
{
	autofree const struct gpc_code **room = malloc((n + 1) * sizeof *room);
	struct heap heap = {room, 0};

	*map = (struct gpc_codemap){0};
	if (n)
		qsort(list, n, sizeof *list, by_start);
	if (room && cut(map, list, n, &heap))
		return true;
	gpc_codemap_deinit(map);
	return false;
}

void gpc_codemap_deinit(struct gpc_codemap *map)
{
	vec_deinit(&map->entries);
}

bool gpc_codemap_find(const struct gpc_codemap *map, uint64_t address, uint32_t *value)
{
	size_t low = 0, high = map->entries.n;
	const struct gpc_codemap_entry *e;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (map->entries.at[mid].start <= address)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low)
		return false;
	e = &map->entries.at[low - 1];
	*value = e->value;
	return address - e->start < e->size;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/space.h"

#include <stdlib.h>
#include <string.h>

#define MAX_AREAS 65536

struct gpc_space *gpc_space_new(void)
{
	struct gpc_space *s = calloc(1, sizeof *s);

	if (s)
		s->refs = 1;
	return s;
}

struct gpc_space *gpc_space_get(struct gpc_space *s)
{
	if (s)
		s->refs++;
	return s;
}

void gpc_space_put(struct gpc_space *s)
{
	if (!s || --s->refs)
		return;
	free(s->areas);
	free(s);
}

/* Index of the first area that ends after address. */
static uint32_t lower_bound(const struct gpc_space *s, uint64_t address)
{
	uint32_t from = 0, to = s->n;

	while (from < to) {
		uint32_t mid = from + (to - from) / 2;

		if (s->areas[mid].end <= address)
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

/* A new space: the old one with area in the place of what it covers. What is
 * left of a split area keeps its meaning: the offset moves with the start. */
static struct gpc_space *with_area(const struct gpc_space *old, const struct gpc_area *area)
{
	struct gpc_space *s = gpc_space_new();
	uint32_t first = lower_bound(old, area->start), i;

	if (!s)
		return NULL;
	s->room = old->n + 3;
	s->areas = calloc(s->room, sizeof *s->areas);
	if (!s->areas) {
		free(s);
		return NULL;
	}
	if (first)
		memcpy(s->areas, old->areas, first * sizeof *s->areas);
	s->n = first;
	if (first < old->n && old->areas[first].start < area->start) {
		s->areas[s->n] = old->areas[first];
		s->areas[s->n++].end = area->start;
	}
	s->areas[s->n++] = *area;
	for (i = first; i < old->n && old->areas[i].start < area->end; i++) {
		struct gpc_area rest = old->areas[i];

		if (rest.end <= area->end)
			continue;
		rest.offset += area->end - rest.start;
		rest.start = area->end;
		s->areas[s->n++] = rest;
	}
	if (i < old->n)
		memcpy(s->areas + s->n, old->areas + i, (old->n - i) * sizeof *s->areas);
	s->n += old->n - i;
	return s;
}

bool gpc_space_map(struct gpc_space **s, const struct gpc_area *area)
{
	const struct gpc_area *known = gpc_space_find(*s, area->start);
	struct gpc_space *next;

	if (area->start >= area->end || (*s)->n >= MAX_AREAS)
		return false;
	if (known && memcmp(known, area, sizeof *area) == 0)
		return true;
	/* The common case, a new last area, needs no copy of the others. */
	if ((*s)->refs == 1 && (*s)->n < (*s)->room &&
	    ((*s)->n == 0 || (*s)->areas[(*s)->n - 1].end <= area->start)) {
		(*s)->areas[(*s)->n++] = *area;
		return true;
	}
	next = with_area(*s, area);
	if (!next)
		return false;
	gpc_space_put(*s);
	*s = next;
	return true;
}

const struct gpc_area *gpc_space_find(const struct gpc_space *s, uint64_t address)
{
	uint32_t i = lower_bound(s, address);

	return i < s->n && s->areas[i].start <= address ? &s->areas[i] : NULL;
}

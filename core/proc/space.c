/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/space.h"

#include <stdlib.h>
#include <string.h>

#include "base/hot.h"

#define MAX_AREAS 16384 /* executable ones; what a browser has is some hundred */

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

/* Between its neighbours, which it does not touch. */
static bool insert(struct gpc_space *s, uint32_t at, const struct gpc_area *area)
{
	if (s->n == s->room) {
		uint32_t room = s->n + s->n / 2 + 4;
		struct gpc_area *areas = realloc(s->areas, room * sizeof *areas);

		if (!areas)
			return false;
		s->areas = areas;
		s->room = room;
	}
	memmove(s->areas + at + 1, s->areas + at, (s->n - at) * sizeof *s->areas);
	s->areas[at] = *area;
	s->n++;
	return true;
}

bool gpc_space_map(struct gpc_space **s, const struct gpc_area *area)
{
	uint32_t at = lower_bound(*s, area->start);
	struct gpc_space *next;

	if (area->start >= area->end || (*s)->n >= MAX_AREAS)
		return false;
	if (at < (*s)->n && memcmp(&(*s)->areas[at], area, sizeof *area) == 0)
		return true;
	/* The common case: nobody shares the space, and nothing was there. */
	if ((*s)->refs == 1 && (at == (*s)->n || (*s)->areas[at].start >= area->end))
		return insert(*s, at, area);
	next = with_area(*s, area);
	if (!next)
		return false;
	gpc_space_put(*s);
	*s = next;
	return true;
}

GPC_HOT const struct gpc_area *gpc_space_find(const struct gpc_space *s, uint64_t address)
{
	uint32_t i = lower_bound(s, address);

	return i < s->n && s->areas[i].start <= address ? &s->areas[i] : NULL;
}

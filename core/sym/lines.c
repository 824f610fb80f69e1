/* SPDX-License-Identifier: Apache-2.0 */
#include "sym/lines.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define COUNT_BITS 8 /* of a value of known */

/* The text, kept once. NULL stays NULL. */
static const char *keep(struct gpc_lines *l, const char *text)
{
	size_t n = text ? strlen(text) : 0;
	uint64_t hash, cursor = 0, place;
	autofree char *copy = NULL;

	if (!text)
		return NULL;
	hash = gpc_hash(text, n);
	while (gpc_u64map_probe(&l->index, hash, &cursor, &place))
		if (strcmp(l->texts.at[place], text) == 0)
			return l->texts.at[place];
	copy = strdup(text);
	if (!copy || !vec_reserve(&l->texts, 1) || !gpc_u64map_add(&l->index, hash, l->texts.n))
		return NULL;
	l->text_bytes += n + 1;
	l->texts.at[l->texts.n++] = take(copy);
	return l->texts.at[l->texts.n - 1];
}

bool gpc_lines_known(const struct gpc_lines *l, uint64_t vaddr, struct gpc_line_list *ret)
{
	uint64_t place;

	if (!gpc_u64map_get(&l->known, vaddr, &place))
		return false;
	ret->n = place & ((1u << COUNT_BITS) - 1);
	ret->at = ret->n ? l->list.at + (place >> COUNT_BITS) : NULL;
	return true;
}

bool gpc_lines_add(struct gpc_lines *l, uint64_t vaddr, const struct gpc_dwarf_place *places,
		   size_t n)
{
	if (!vec_reserve(&l->list, n) ||
	    !gpc_u64map_set(&l->known, vaddr, (uint64_t)l->list.n << COUNT_BITS | n))
		return false;
	for (size_t i = 0; i < n; i++)
		l->list.at[l->list.n++] =
			(struct gpc_source_line){.function = keep(l, places[i].function),
						 .file = keep(l, places[i].file),
						 .line = places[i].line};
	return true;
}

void gpc_lines_close(struct gpc_lines *l)
{
	gpc_dwarf_free(take(l->dwarf));
	l->is_opened = false;
}

void gpc_lines_drop(struct gpc_lines *l)
{
	gpc_lines_close(l);
	for (size_t i = 0; i < l->texts.n; i++)
		free(l->texts.at[i]);
	vec_deinit(&l->texts);
	vec_deinit(&l->list);
	gpc_u64map_deinit(&l->known);
	gpc_u64map_deinit(&l->index);
	l->text_bytes = 0;
}

size_t gpc_lines_bytes(const struct gpc_lines *l)
{
	return (l->dwarf ? gpc_dwarf_bytes(l->dwarf) : 0) + l->text_bytes +
	       l->list.room * sizeof *l->list.at + l->texts.room * sizeof *l->texts.at +
	       (l->known.room + l->index.room) * sizeof(struct gpc_map_slot);
}

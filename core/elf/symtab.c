/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/symtab.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "elf/symtab_impl.h"

#define MAX_ALIASES 1024 /* names compared for one address */
#define MAX_NESTING 32   /* functions that begin within another */

static bool find_entry(const struct gpc_symtab *t, uint64_t vaddr, struct gpc_symtab_hit *ret)
{
	size_t low = 0, high = t->entries.n;
	uint64_t at = vaddr - t->base;

	if (vaddr < t->base)
		return false;
	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (t->entries.at[mid].start <= at)
			low = mid + 1;
		else
			high = mid;
	}
	for (int depth = 0; low && depth < MAX_NESTING; depth++) {
		const struct gpc_symtab_entry *e = &t->entries.at[--low];

		while (low && t->entries.at[low - 1].start == e->start)
			low--;
		if (at - e->start >= (e->bits & GPC_SYMTAB_LARGEST))
			continue;
		*ret = (struct gpc_symtab_hit){t->base + e->start, (e->bits & GPC_SYMTAB_LARGEST),
					       (uint32_t)low};
		return true;
	}
	return false;
}

/* Stubs take the numbers after all entries. */
static bool find_stub(const struct gpc_symtab *t, uint64_t vaddr, struct gpc_symtab_hit *ret)
{
	const struct gpc_elf_plt *plt = &t->plt;
	uint64_t stub;

	if (!plt->count || vaddr < plt->start)
		return false;
	stub = (vaddr - plt->start) / plt->size;
	if (stub >= plt->count)
		return false;
	ret->start = plt->start + stub * plt->size;
	ret->size = plt->size;
	ret->index = (uint32_t)(t->entries.n + stub);
	return true;
}

static void cut_version(char *name)
{
	name[1 + strcspn(name + 1, "@")] = '\0';
}

/* Shorter is better, then lexical order. */
static bool is_better_name(const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b);

	return n != m ? n < m : strcmp(a, b) < 0;
}

/* The best name of the function at an index, without a version. */
static char *name_of_entry(const struct gpc_symtab *t, const struct gpc_elf_source *source,
			   const struct gpc_elf_source *debug, uint32_t index)
{
	autofree char *best = NULL;

	for (size_t i = index; i < t->entries.n && i - index < MAX_ALIASES; i++) {
		const struct gpc_symtab_entry *e = &t->entries.at[i];
		bool is_dynamic = e->bits & GPC_SYMTAB_DYNAMIC;
		const struct gpc_elf_source *from = t->is_debug && !is_dynamic ? debug : source;
		autofree char *name = NULL;

		if (e->start != t->entries.at[index].start)
			break;
		name = from ? gpc_elf_string(from, &t->strings[is_dynamic], e->name) : NULL;
		if (!name || !*name)
			continue;
		cut_version(name);
		if (!best || is_better_name(name, best)) {
			free(best);
			best = take(name);
		}
	}
	return take(best);
}

/* A stub that calls what a resolver chooses is named after the resolver, which
 * bears the function's name. */
static char *name_of_stub(const struct gpc_symtab *t, const struct gpc_elf_source *source,
			  const struct gpc_elf_source *debug, uint32_t stub)
{
	autofree char *name = NULL;
	struct gpc_symtab_hit hit;
	uint64_t resolver;
	char *ret;

	gpc_elf_plt_target(&t->plt, source, stub, &name, &resolver);
	if (!name && find_entry(t, resolver, &hit))
		name = name_of_entry(t, source, debug, hit.index);
	if (!name || !*name)
		return NULL;
	cut_version(name);
	return asprintf(&ret, "%s@plt", name) < 0 ? NULL : ret;
}

void gpc_symtab_free(struct gpc_symtab *t)
{
	if (!t)
		return;
	vec_deinit(&t->code);
	vec_deinit(&t->entries);
	free(t);
}

bool gpc_symtab_find(const struct gpc_symtab *t, uint64_t vaddr, struct gpc_symtab_hit *ret)
{
	return find_entry(t, vaddr, ret) || find_stub(t, vaddr, ret);
}

char *gpc_symtab_name(const struct gpc_symtab *t, const struct gpc_elf_source *source,
		      const struct gpc_elf_source *debug, uint32_t index)
{
	if (index < t->entries.n)
		return name_of_entry(t, source, debug, index);
	return name_of_stub(t, source, debug, (uint32_t)(index - t->entries.n));
}

bool gpc_symtab_vaddr(const struct gpc_symtab *t, uint64_t file_offset, uint64_t *ret)
{
	for (size_t i = 0; i < t->code.n; i++)
		if (gpc_elf_segment_vaddr(&t->code.at[i], file_offset, ret))
			return true;
	return false;
}

size_t gpc_symtab_count(const struct gpc_symtab *t)
{
	return t->entries.n;
}

size_t gpc_symtab_bytes(const struct gpc_symtab *t)
{
	return sizeof *t + t->code.room * sizeof *t->code.at +
	       t->entries.room * sizeof *t->entries.at;
}

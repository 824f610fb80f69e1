/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/symtab.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "elf/plt.h"
#include "elf/symbols.h"

#define MAX_CODE    64         /* executable segments */
#define MAX_ENTRIES (4u << 20) /* 48 MB */
#define MAX_ALIASES 1024       /* names compared for one address */
#define MAX_NESTING 32         /* functions that begin within another */

/* What the order of names at one address depends on, best first. */
enum {
	DYNAMIC = 1u << 28, /* named in .dynsym: .symtab has it too, usually */
	BIND = 3u << 29,    /* 0 global, 1 weak, 2 local */
	LABEL = 1u << 31,   /* no type given */
	LARGEST = (1u << 28) - 1
};
#define RANK(e)       ((e)->bits & ~(uint32_t)LARGEST)
#define ENTRY_SIZE(e) ((e)->bits & LARGEST)

struct entry {
	uint32_t start; /* from base */
	uint32_t bits;  /* rank and size */
	uint32_t name;
};

struct extent {
	uint64_t start, end; /* addresses as linked */
};

struct gpc_symtab {
	uint64_t base;
	vec(struct gpc_elf_segment) code;
	vec(struct entry) entries;       /* by start; those of one start are aliases */
	struct gpc_elf_range strings[2]; /* of .symtab, of .dynsym */
	struct gpc_elf_plt plt;
};

struct loader {
	const struct gpc_elf *elf;
	struct gpc_symtab *t;
	struct gpc_elf_window window;
	vec(struct extent) code; /* executable sections, else segments; by start */
	uint32_t table;          /* DYNAMIC or 0 */
	bool has_mapping_symbols, no_memory;
};

static int by_start_of_extent(const void *a, const void *b)
{
	const struct extent *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static int by_start_and_rank(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (RANK(x) != RANK(y))
		return RANK(x) < RANK(y) ? -1 : 1;
	return (x->name > y->name) - (x->name < y->name);
}

static const struct gpc_elf_segment *code_at(const struct gpc_symtab *t, uint64_t vaddr)
{
	for (size_t i = 0; i < t->code.n; i++)
		if (vaddr >= t->code.at[i].vaddr &&
		    vaddr - t->code.at[i].vaddr < t->code.at[i].memsz)
			return &t->code.at[i];
	return NULL;
}

static bool is_code_section(const struct gpc_elf *elf, uint16_t section)
{
	return section < elf->sections.n && elf->sections.at[section].flags & SHF_EXECINSTR;
}

/* Where assemblers mark with $x, $d where code and data begin. */
static bool marks_code_and_data(uint16_t machine)
{
	return machine == EM_ARM || machine == EM_AARCH64 || machine == EM_RISCV;
}

static bool is_wanted(struct loader *l, const struct gpc_elf_symbol *s)
{
	bool is_label = s->type == STT_NOTYPE && is_code_section(l->elf, s->section);

	if (s->type != STT_FUNC && s->type != STT_GNU_IFUNC && !is_label)
		return false;
	if (s->section == SHN_UNDEF || !s->name)
		return false;
	return !is_label || !l->has_mapping_symbols ||
	       !gpc_elf_window_is(&l->window, &l->t->strings[l->table == DYNAMIC], s->name, "$", 1);
}

static uint32_t bind_rank(uint8_t bind)
{
	switch (bind) {
	case STB_LOCAL:
		return 2u << 29;
	case STB_WEAK:
		return 1u << 29;
	default:
		return 0;
	}
}

static bool add_symbol(void *ctx, const struct gpc_elf_symbol *s)
{
	struct loader *l = ctx;
	struct gpc_symtab *t = l->t;
	uint64_t vaddr = s->value;
	struct entry e = {.name = s->name, .bits = bind_rank(s->bind) | l->table};

	if (!is_wanted(l, s))
		return true;
	if (l->elf->machine == EM_ARM)
		vaddr &= ~UINT64_C(1); /* says Thumb */
	if (!code_at(t, vaddr) || vaddr - t->base > UINT32_MAX)
		return true;
	if (s->type == STT_NOTYPE)
		e.bits |= LABEL;
	e.start = (uint32_t)(vaddr - t->base);
	e.bits |= s->size < LARGEST ? (uint32_t)s->size : LARGEST;
	if (t->entries.n >= MAX_ENTRIES)
		return false;
	if (vec_push(&t->entries, e))
		return true;
	l->no_memory = true;
	return false;
}

static gpc_status add_table(struct loader *l, uint32_t type, struct gpc_err *err)
{
	struct gpc_elf_symbols symbols;

	if (!gpc_elf_symbols_find(l->elf, type, &symbols))
		return GPC_OK;
	l->table = type == SHT_DYNSYM ? DYNAMIC : 0;
	l->t->strings[type == SHT_DYNSYM] = symbols.strings;
	gpc_try(gpc_elf_symbols_each(l->elf, &symbols, add_symbol, l, err));
	return l->no_memory ? gpc_err_nomem(err) : GPC_OK;
}

static bool note_segments(struct gpc_symtab *t, const struct gpc_elf *elf)
{
	t->base = UINT64_MAX;
	for (size_t i = 0; i < elf->segments.n && t->code.n < MAX_CODE; i++) {
		const struct gpc_elf_segment *s = &elf->segments.at[i];

		if (s->type != PT_LOAD || !(s->flags & PF_X))
			continue;
		if (!vec_push(&t->code, *s))
			return false;
		if (s->vaddr < t->base)
			t->base = s->vaddr;
	}
	return true;
}

static bool note_code(struct loader *l)
{
	for (size_t i = 1; i < l->elf->sections.n; i++) {
		const struct gpc_elf_section *s = &l->elf->sections.at[i];

		if (s->flags & SHF_EXECINSTR && s->addr + s->size > s->addr &&
		    !vec_push(&l->code, (struct extent){s->addr, s->addr + s->size}))
			return false;
	}
	for (size_t i = 0; i < l->t->code.n && !l->elf->sections.n; i++) {
		const struct gpc_elf_segment *s = &l->t->code.at[i];

		if (!vec_push(&l->code, (struct extent){s->vaddr, s->vaddr + s->memsz}))
			return false;
	}
	if (l->code.n)
		qsort(l->code.at, l->code.n, sizeof *l->code.at, by_start_of_extent);
	return true;
}

static size_t group_end(const struct gpc_symtab *t, size_t first)
{
	size_t end = first + 1;

	while (end < t->entries.n && t->entries.at[end].start == t->entries.at[first].start)
		end++;
	return end;
}

static uint32_t group_size(const struct gpc_symtab *t, size_t first, size_t end)
{
	uint32_t size = 0;

	for (size_t i = first; i < end; i++) {
		const struct entry *e = &t->entries.at[i];

		if ((e->bits & LABEL) == (t->entries.at[first].bits & LABEL) &&
		    ENTRY_SIZE(e) > size)
			size = ENTRY_SIZE(e);
	}
	return size;
}

/* Of each address keeps the names of the best rank, all with the largest size
 * that any of its names claims, and drops labels inside of functions. */
static void keep_best(struct gpc_symtab *t)
{
	uint64_t covered = 0; /* by functions, up to here */
	size_t out = 0;

	for (size_t first = 0, end; first < t->entries.n; first = end) {
		struct entry best = t->entries.at[first];
		uint32_t size;

		end = group_end(t, first);
		size = group_size(t, first, end);
		if (best.bits & LABEL && best.start < covered)
			continue;
		if (!(best.bits & LABEL) && (uint64_t)best.start + size > covered)
			covered = (uint64_t)best.start + size;
		for (size_t i = first; i < end; i++) {
			struct entry e = t->entries.at[i];

			if (RANK(&e) != RANK(&best))
				break;
			e.bits = RANK(&e) | size;
			t->entries.at[out++] = e;
		}
	}
	t->entries.n = out;
}

/* Where the section (or segment) ends that vaddr lies in. */
static uint64_t end_of_code(const struct loader *l, uint64_t vaddr)
{
	const struct gpc_elf_segment *s = code_at(l->t, vaddr);
	size_t low = 0, high = l->code.n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (l->code.at[mid].start <= vaddr)
			low = mid + 1;
		else
			high = mid;
	}
	if (low && vaddr < l->code.at[low - 1].end)
		return l->code.at[low - 1].end;
	return s ? s->vaddr + s->memsz : vaddr;
}

/* A symbol without a size reaches to the next one in its section. */
static void extend_unsized(struct loader *l)
{
	struct gpc_symtab *t = l->t;

	for (size_t first = 0, end; first < t->entries.n; first = end) {
		uint64_t start = t->entries.at[first].start, stop, size;

		end = group_end(t, first);
		if (ENTRY_SIZE(&t->entries.at[first]))
			continue;
		stop = end_of_code(l, t->base + start) - t->base;
		if (end < t->entries.n && t->entries.at[end].start < stop)
			stop = t->entries.at[end].start;
		size = stop > start ? stop - start : 0;
		if (size > LARGEST)
			size = LARGEST;
		for (size_t i = first; i < end; i++)
			t->entries.at[i].bits |= (uint32_t)size;
	}
}

static void shrink(struct gpc_symtab *t)
{
	void *smaller;

	if (!t->entries.n) {
		vec_deinit(&t->entries);
		return;
	}
	smaller = realloc(t->entries.at, t->entries.n * sizeof *t->entries.at);
	if (!smaller)
		return;
	t->entries.at = smaller;
	t->entries.room = t->entries.n;
}

static gpc_status load(struct loader *l, struct gpc_err *err)
{
	struct gpc_symtab *t = l->t;

	if (!note_segments(t, l->elf) || !note_code(l))
		return gpc_err_nomem(err);
	gpc_try(add_table(l, SHT_SYMTAB, err));
	gpc_try(add_table(l, SHT_DYNSYM, err));
	if (t->entries.n)
		qsort(t->entries.at, t->entries.n, sizeof *t->entries.at, by_start_and_rank);
	keep_best(t);
	extend_unsized(l);
	gpc_elf_plt_find(l->elf, &t->plt);
	shrink(t);
	return GPC_OK;
}

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
		const struct entry *e = &t->entries.at[--low];

		while (low && t->entries.at[low - 1].start == e->start)
			low--;
		if (at - e->start >= ENTRY_SIZE(e))
			continue;
		*ret = (struct gpc_symtab_hit){t->base + e->start, ENTRY_SIZE(e), (uint32_t)low};
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
			   uint32_t index)
{
	autofree char *best = NULL;

	for (size_t i = index; i < t->entries.n && i - index < MAX_ALIASES; i++) {
		const struct entry *e = &t->entries.at[i];
		autofree char *name = NULL;

		if (e->start != t->entries.at[index].start)
			break;
		name = gpc_elf_string(source, &t->strings[!!(e->bits & DYNAMIC)], e->name);
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
			  uint32_t stub)
{
	autofree char *name = NULL;
	struct gpc_symtab_hit hit;
	uint64_t resolver;
	char *ret;

	gpc_elf_plt_target(&t->plt, source, stub, &name, &resolver);
	if (!name && find_entry(t, resolver, &hit))
		name = name_of_entry(t, source, hit.index);
	if (!name || !*name)
		return NULL;
	cut_version(name);
	return asprintf(&ret, "%s@plt", name) < 0 ? NULL : ret;
}

gpc_status gpc_symtab_load(const struct gpc_elf *elf, struct gpc_symtab **ret, struct gpc_err *err)
{
	struct loader l = {
		.elf = elf,
		.t = calloc(1, sizeof *l.t),
		.window.source = &elf->source,
		.has_mapping_symbols = marks_code_and_data(elf->machine),
	};
	gpc_status st;

	if (!l.t)
		return gpc_err_nomem(err);
	st = load(&l, err);
	vec_deinit(&l.code);
	if (st < 0)
		gpc_symtab_free(l.t);
	else
		*ret = l.t;
	return st;
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
		      uint32_t index)
{
	if (index < t->entries.n)
		return name_of_entry(t, source, index);
	return name_of_stub(t, source, (uint32_t)(index - t->entries.n));
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

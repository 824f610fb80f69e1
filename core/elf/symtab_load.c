/* SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "elf/symbols.h"
#include "elf/symtab.h"
#include "elf/symtab_impl.h"

#define MAX_CODE    64         /* executable segments */
#define MAX_ENTRIES (4u << 20) /* 48 MB */
#define FEW         16         /* sorted in the simplest way */
#define KEY_BITS    36         /* address and rank */
#define RANK(e)     ((e)->bits & ~(uint32_t)GPC_SYMTAB_LARGEST)
#define SIZE(e)     ((e)->bits & GPC_SYMTAB_LARGEST)

struct extent {
	uint64_t start, end; /* addresses as linked */
};

struct loader {
	const struct gpc_elf *elf;
	const struct gpc_elf *debug; /* may be NULL */
	const struct gpc_elf *of;    /* whose table is being read */
	struct gpc_symtab *t;
	struct gpc_elf_window window;
	vec(struct extent) code; /* executable sections, else segments; by start */
	uint32_t table;          /* GPC_SYMTAB_DYNAMIC or 0 */
	bool has_mapping_symbols, no_memory;
};

static int by_start_of_extent(const void *a, const void *b)
{
	const struct extent *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static uint64_t sort_key(const struct gpc_symtab_entry *e)
{
	return (uint64_t)e->start << 4 | e->bits >> 28;
}

static void sort_few(struct gpc_symtab_entry *at, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		struct gpc_symtab_entry moved = at[i];
		size_t k = i;

		for (; k && sort_key(&at[k - 1]) > sort_key(&moved); k--)
			at[k] = at[k - 1];
		at[k] = moved;
	}
}

/* By address and rank, bit by bit from bit down. In place, where qsort() would
 * take as much memory again, and a million symbols in whatever order take no
 * longer than a hostile file's. */
static void sort_entries(struct gpc_symtab_entry *at, size_t n, int bit)
{
	while (n > FEW && bit >= 0) {
		size_t zeros = 0, end = n;

		while (zeros < end) {
			struct gpc_symtab_entry moved = at[zeros];

			if (!(sort_key(&moved) >> bit & 1)) {
				zeros++;
				continue;
			}
			at[zeros] = at[--end];
			at[end] = moved;
		}
		sort_entries(at, zeros, bit - 1);
		at += zeros;
		n -= zeros;
		bit--;
	}
	if (bit >= 0)
		sort_few(at, n);
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
	bool is_label = s->type == STT_NOTYPE && is_code_section(l->of, s->section);

	if (s->type != STT_FUNC && s->type != STT_GNU_IFUNC && !is_label)
		return false;
	if (s->section == SHN_UNDEF || !s->name)
		return false;
	return !is_label || !l->has_mapping_symbols ||
	       !gpc_elf_window_is(&l->window, &l->t->strings[l->table == GPC_SYMTAB_DYNAMIC],
				  s->name, "$", 1);
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
	struct gpc_symtab_entry e = {.name = s->name, .bits = bind_rank(s->bind) | l->table};

	if (!is_wanted(l, s))
		return true;
	if (l->elf->machine == EM_ARM)
		vaddr &= ~UINT64_C(1); /* says Thumb */
	if (!code_at(t, vaddr) || vaddr - t->base > UINT32_MAX)
		return true;
	if (s->type == STT_NOTYPE)
		e.bits |= GPC_SYMTAB_LABEL;
	e.start = (uint32_t)(vaddr - t->base);
	e.bits |= s->size < GPC_SYMTAB_LARGEST ? (uint32_t)s->size : GPC_SYMTAB_LARGEST;
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

	l->of = l->elf;
	if (!gpc_elf_symbols_find(l->elf, type, &symbols)) {
		if (type != SHT_SYMTAB || !l->debug ||
		    !gpc_elf_symbols_find(l->debug, type, &symbols))
			return GPC_OK;
		l->of = l->debug;
		l->t->is_debug = true;
	}
	l->window.source = &l->of->source;
	l->window.n = 0;
	l->table = type == SHT_DYNSYM ? GPC_SYMTAB_DYNAMIC : 0;
	l->t->strings[type == SHT_DYNSYM] = symbols.strings;
	gpc_try(gpc_elf_symbols_each(l->of, &symbols, add_symbol, l, err));
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
		const struct gpc_symtab_entry *e = &t->entries.at[i];

		if ((e->bits & GPC_SYMTAB_LABEL) ==
			    (t->entries.at[first].bits & GPC_SYMTAB_LABEL) &&
		    SIZE(e) > size)
			size = SIZE(e);
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
		struct gpc_symtab_entry best = t->entries.at[first];
		uint32_t size;

		end = group_end(t, first);
		size = group_size(t, first, end);
		if (best.bits & GPC_SYMTAB_LABEL && best.start < covered)
			continue;
		if (!(best.bits & GPC_SYMTAB_LABEL) && (uint64_t)best.start + size > covered)
			covered = (uint64_t)best.start + size;
		for (size_t i = first; i < end; i++) {
			struct gpc_symtab_entry e = t->entries.at[i];

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
		if (SIZE(&t->entries.at[first]))
			continue;
		stop = end_of_code(l, t->base + start) - t->base;
		if (end < t->entries.n && t->entries.at[end].start < stop)
			stop = t->entries.at[end].start;
		size = stop > start ? stop - start : 0;
		if (size > GPC_SYMTAB_LARGEST)
			size = GPC_SYMTAB_LARGEST;
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
	sort_entries(t->entries.at, t->entries.n, KEY_BITS - 1);
	keep_best(t);
	extend_unsized(l);
	gpc_elf_plt_find(l->elf, &t->plt);
	shrink(t);
	return GPC_OK;
}

gpc_status gpc_symtab_load(const struct gpc_elf *elf, const struct gpc_elf *debug,
			   struct gpc_symtab **ret, struct gpc_err *err)
{
	struct loader l = {
		.elf = elf,
		.debug = debug,
		.t = calloc(1, sizeof *l.t),
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

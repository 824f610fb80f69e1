/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/dwarf.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "elf/dwarf_impl.h"

#define UNPACKED_MAX ((size_t)16 << 20)
#define WORK         (INT64_C(1) << 27) /* entries, their attributes, rows: a few seconds */
#define MAX_HOPS     8                  /* from an inlined function to its name */
#define ITEMS_TO_ONE 64                 /* functions and sequences that are looked at in a list */

static const char *const part_names[GPC_DW_PARTS] = {
	[GPC_DW_INFO] = "info",
	[GPC_DW_ABBREV] = "abbrev",
	[GPC_DW_LINE] = "line",
	[GPC_DW_STR] = "str",
	[GPC_DW_LINE_STR] = "line_str",
	[GPC_DW_RANGES] = "ranges",
	[GPC_DW_RNGLISTS] = "rnglists",
	[GPC_DW_ADDR] = "addr",
	[GPC_DW_STR_OFFSETS] = "str_offsets",
};

static gpc_status open_parts(struct gpc_dwarf *d, const struct gpc_elf *elf, struct gpc_err *err)
{
	size_t room = UNPACKED_MAX;

	for (int i = 0; i < GPC_DW_PARTS; i++) {
		gpc_try(gpc_elf_part_init(elf, part_names[i], &room, &d->parts[i], err));
		if (!d->parts[i].range.size && (i == GPC_DW_INFO || i == GPC_DW_ABBREV))
			return gpc_err_set(err, GPC_E_GONE, "no debug information");
	}
	return GPC_OK;
}

gpc_status gpc_dwarf_add_shared(struct gpc_dwarf *d, const struct gpc_elf *elf, struct gpc_err *err)
{
	if (d->shared)
		return GPC_OK;
	return gpc_dwarf_open(elf, &d->shared, err);
}

gpc_status gpc_dwarf_open(const struct gpc_elf *elf, struct gpc_dwarf **ret, struct gpc_err *err)
{
	struct gpc_dwarf *d = calloc(1, sizeof *d);
	gpc_status st;

	if (!d)
		return gpc_err_nomem(err);
	d->work = WORK;
	st = open_parts(d, elf, err);
	if (st == GPC_OK)
		st = gpc_dw_list_units(d, err);
	if (st < 0)
		gpc_dwarf_free(d);
	else
		*ret = d;
	return st;
}

void gpc_dwarf_forget(struct gpc_dwarf *d)
{
	if (d->shared)
		gpc_dwarf_forget(d->shared);
	d->has_unit = false;
	vec_deinit(&d->functions);
	vec_deinit(&d->rows);
	vec_deinit(&d->sequences);
	vec_deinit(&d->files);
	vec_deinit(&d->folders);
	for (int i = 0; i < 2; i++) {
		vec_deinit(&d->tables[i].list);
		vec_deinit(&d->tables[i].attributes);
		d->tables[i].is_loaded = false;
	}
}

void gpc_dwarf_free(struct gpc_dwarf *d)
{
	if (!d)
		return;
	gpc_dwarf_free(take(d->shared));
	gpc_dwarf_forget(d);
	for (int i = 0; i < GPC_DW_PARTS; i++)
		gpc_elf_part_deinit(&d->parts[i]);
	vec_deinit(&d->units);
	vec_deinit(&d->spans);
	free(d);
}

void gpc_dwarf_rest(struct gpc_dwarf *d)
{
	gpc_dwarf_forget(d);
	d->work = WORK;
	if (d->shared)
		d->shared->work = WORK;
}

int64_t gpc_dwarf_spent(const struct gpc_dwarf *d)
{
	return WORK - d->work + (d->shared ? WORK - d->shared->work : 0);
}

bool gpc_dwarf_is_tired(const struct gpc_dwarf *d)
{
	return d->work <= 0 || (d->shared && d->shared->work <= 0);
}

size_t gpc_dwarf_bytes(const struct gpc_dwarf *d)
{
	size_t n = sizeof *d + d->units.room * sizeof *d->units.at +
		   d->spans.room * sizeof *d->spans.at +
		   d->functions.room * sizeof *d->functions.at + d->rows.room * sizeof *d->rows.at +
		   d->sequences.room * sizeof *d->sequences.at +
		   d->files.room * sizeof *d->files.at + d->folders.room * sizeof *d->folders.at;

	n += d->shared ? gpc_dwarf_bytes(d->shared) : 0;
	for (int i = 0; i < GPC_DW_PARTS; i++)
		n += d->parts[i].unpacked ? d->parts[i].range.size : 0;
	for (int i = 0; i < 2; i++)
		n += d->tables[i].list.room * sizeof *d->tables[i].list.at +
		     d->tables[i].attributes.room * sizeof *d->tables[i].attributes.at;
	return n;
}

/* ---- names ---------------------------------------------------------------------------- */

/* The unit that an entry lies in. */
static bool unit_of(const struct gpc_dwarf *d, uint64_t offset, uint64_t *ret)
{
	size_t low = 0, high = d->units.n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (d->units.at[mid] <= offset)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low)
		return false;
	*ret = d->units.at[low - 1];
	return true;
}

/* Reads the entry at an offset, whose unit becomes *unit. */
static bool entry_at(struct gpc_dwarf *d, uint64_t offset, struct gpc_dw_unit *unit,
		     struct gpc_dw_entry *ret)
{
	autofree struct gpc_dw_cursor *c = malloc(sizeof *c);
	struct gpc_dw_entry root;
	uint64_t start;

	if (!c || !unit_of(d, offset, &start))
		return false;
	if (start != unit->offset && (!gpc_dw_unit(d, start, unit, &root) || !root.abbrev))
		return false;
	if (offset < unit->first || offset >= unit->end)
		return false;
	gpc_dw_cursor_init(c, &d->parts[GPC_DW_INFO], offset);
	return gpc_dw_entry(d, c, unit, gpc_dw_abbrevs(d, unit->abbrevs), ret) && ret->abbrev;
}

/* The name that the linker would know it by, else its plain one: the entry's own,
 * or that of what it was made from. */
static char *name_of(struct gpc_dwarf *d, const struct gpc_dw_function *f)
{
	struct gpc_dw_unit unit = d->unit;
	uint64_t at = f->origin ? f->origin : f->offset;
	autofree char *name = NULL;

	for (int hop = 0; hop < MAX_HOPS && at; hop++) {
		struct gpc_dw_entry e;
		char *linkage;

		if (at & GPC_DW_SHARED && d->shared) {
			d = d->shared;
			unit = (struct gpc_dw_unit){.offset = UINT64_MAX};
		}
		if (!entry_at(d, at & ~GPC_DW_SHARED, &unit, &e))
			break;
		linkage = gpc_dw_text(d, &unit, GPC_DW_INFO, &e.linkage);
		if (linkage && *linkage)
			return linkage;
		free(linkage);
		if (!name)
			name = gpc_dw_text(d, &unit, GPC_DW_INFO, &e.name);
		at = gpc_dw_reference(&unit, &e.origin);
	}
	return name && *name ? take(name) : NULL;
}

/* ---- answers --------------------------------------------------------------------------- */

/* Spans are few that overlap: the last one that begins before vaddr, and some
 * before it. */
static bool find_unit(const struct gpc_dwarf *d, uint64_t vaddr, uint64_t *ret)
{
	size_t low = 0, high = d->spans.n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (d->spans.at[mid].low <= vaddr)
			low = mid + 1;
		else
			high = mid;
	}
	for (int i = 0; low && i < 16; i++) {
		const struct gpc_dw_span *s = &d->spans.at[--low];

		if (vaddr >= s->high)
			continue;
		*ret = s->unit;
		return true;
	}
	return false;
}

static bool enter_unit(struct gpc_dwarf *d, uint64_t offset)
{
	struct gpc_dw_entry root;

	if (d->has_unit && d->unit.offset == offset)
		return true;
	d->has_unit = false;
	if (!gpc_dw_unit(d, offset, &d->unit, &root) || !root.abbrev)
		return false;
	gpc_dw_load_functions(d);
	gpc_dw_load_lines(d);
	d->has_unit = true;
	return true;
}

/* The function and what was inlined into it at an address, outermost first. */
static size_t chain_at(const struct gpc_dwarf *d, uint64_t vaddr,
		       const struct gpc_dw_function *ret[GPC_DWARF_DEPTH])
{
	size_t n = 0;

	for (size_t i = 0; i < d->functions.n; i++) {
		const struct gpc_dw_function *f = &d->functions.at[i];

		if (vaddr < f->low || vaddr >= f->high)
			continue;
		if (!f->is_inlined)
			n = 0;
		while (n && ret[n - 1]->depth >= f->depth)
			n--;
		if (n < GPC_DWARF_DEPTH)
			ret[n++] = f;
	}
	return n;
}

size_t gpc_dwarf_find(struct gpc_dwarf *d, uint64_t vaddr,
		      struct gpc_dwarf_place ret[GPC_DWARF_DEPTH])
{
	const struct gpc_dw_function *chain[GPC_DWARF_DEPTH];
	const struct gpc_dw_row *row;
	uint32_t file = GPC_DW_END, line = 0;
	size_t n, out = 0;
	uint64_t unit;

	if (gpc_dwarf_is_tired(d) || !find_unit(d, vaddr, &unit) || !enter_unit(d, unit))
		return 0;
	if (d->work <= 0) { /* only a part of the unit was read */
		d->has_unit = false;
		return 0;
	}
	d->work -= (int64_t)((d->functions.n + d->sequences.n) / ITEMS_TO_ONE);
	row = gpc_dw_row(d, vaddr);
	if (row) {
		file = row->file;
		line = row->line;
	}
	n = chain_at(d, vaddr, chain);
	for (; n && chain[n - 1]->is_inlined; n--) {
		char *name = name_of(d, chain[n - 1]);

		/* Without a name it stays part of its caller. */
		if (name && out < GPC_DWARF_DEPTH - 1)
			ret[out++] = (struct gpc_dwarf_place){name, gpc_dw_path(d, file), line};
		else
			free(name);
		file = chain[n - 1]->call_file;
		line = chain[n - 1]->call_line;
	}
	ret[out++] = (struct gpc_dwarf_place){NULL, gpc_dw_path(d, file), line};
	return out;
}

void gpc_dwarf_places_deinit(struct gpc_dwarf_place *places, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(places[i].function);
		free(places[i].file);
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "elf/dwarf_impl.h"
#include "elf/dwarf_numbers.h"

#define MAX_UNITS     (1u << 18)
#define MAX_SPANS     (1u << 19)
#define MAX_RANGES    65536 /* of one entry */
#define MAX_FUNCTIONS (1u << 17)
#define MAX_DEPTH     256

struct span {
	uint64_t low, high;
};

/* Called for each range of an entry; false ends it. */
typedef bool (*range_fn)(void *ctx, uint64_t low, uint64_t high);

/* ---- headers ---------------------------------------------------------------------- */

static bool read_header(struct gpc_dw_cursor *c, struct gpc_dw_unit *u)
{
	uint64_t length = gpc_dw_uint(c, 4);
	uint8_t type = DW_UT_compile;

	u->offset_size = 4;
	if (length == 0xffffffff) {
		length = gpc_dw_uint(c, 8);
		u->offset_size = 8;
	}
	if (c->is_bad || length > c->part->range.size - c->at)
		return false;
	u->end = c->at + length;
	u->version = (uint8_t)gpc_dw_uint(c, 2);
	if (u->version >= 5) {
		type = (uint8_t)gpc_dw_uint(c, 1);
		u->address_size = (uint8_t)gpc_dw_uint(c, 1);
		u->abbrevs = gpc_dw_uint(c, u->offset_size);
	} else {
		u->abbrevs = gpc_dw_uint(c, u->offset_size);
		u->address_size = (uint8_t)gpc_dw_uint(c, 1);
	}
	if (type == DW_UT_skeleton || type == DW_UT_split_compile)
		gpc_dw_skip(c, 8);
	else if (type == DW_UT_type || type == DW_UT_split_type)
		gpc_dw_skip(c, 8 + u->offset_size);
	u->first = c->at;
	return !c->is_bad;
}

static bool is_known(const struct gpc_dw_unit *u)
{
	return u->version >= 2 && u->version <= 5 && (u->address_size == 4 || u->address_size == 8);
}

/* What the unit's entry says for all others. */
static void note_root(struct gpc_dwarf *d, struct gpc_dw_unit *u, const struct gpc_dw_entry *root)
{
	/* Where the tables begin behind their headers, if nothing is said. */
	u->str_offsets =
		root->str_offsets.form ? root->str_offsets.n : 2 * (uint64_t)u->offset_size;
	u->addr = root->addr.form ? root->addr.n : 0;
	u->rnglists = root->rnglists.form ? root->rnglists.n : 0;
	u->lines = root->lines;
	u->folder = root->folder;
	u->low = 0;
	gpc_dw_address(d, u, &root->low, &u->low);
}

/* True with root->abbrev NULL for a unit that we cannot read on, but over. */
bool gpc_dw_unit(struct gpc_dwarf *d, uint64_t offset, struct gpc_dw_unit *ret,
		 struct gpc_dw_entry *root)
{
	autofree struct gpc_dw_cursor *c = malloc(sizeof *c);

	*ret = (struct gpc_dw_unit){.offset = offset};
	*root = (struct gpc_dw_entry){0};
	if (!c)
		return false;
	gpc_dw_cursor_init(c, &d->parts[GPC_DW_INFO], offset);
	if (!read_header(c, ret))
		return false;
	if (!is_known(ret))
		return true;
	if (!gpc_dw_entry(d, c, ret, gpc_dw_abbrevs(d, ret->abbrevs), root)) {
		root->abbrev = NULL;
		return true;
	}
	note_root(d, ret, root);
	return true;
}

/* ---- ranges ----------------------------------------------------------------------- */

static void ranges_4(struct gpc_dwarf *d, const struct gpc_dw_unit *u, uint64_t at, range_fn fn,
		     void *ctx)
{
	autofree struct gpc_dw_cursor *c = malloc(sizeof *c);
	uint64_t base = u->low, max = u->address_size == 8 ? UINT64_MAX : UINT32_MAX;

	if (!c)
		return;
	gpc_dw_cursor_init(c, &d->parts[GPC_DW_RANGES], at);
	for (int i = 0; i < MAX_RANGES && d->work-- > 0; i++) {
		uint64_t low = gpc_dw_uint(c, u->address_size);
		uint64_t high = gpc_dw_uint(c, u->address_size);

		if (c->is_bad || (!low && !high))
			return;
		if (low == max)
			base = high;
		else if (low < high && !fn(ctx, base + low, base + high))
			return;
	}
}

static bool addressx(struct gpc_dwarf *d, const struct gpc_dw_unit *u, struct gpc_dw_cursor *c,
		     uint64_t *ret)
{
	struct gpc_dw_value v = {.n = gpc_dw_uleb(c), .form = DW_FORM_addrx};

	return gpc_dw_address(d, u, &v, ret);
}

/* One item of a list. False: its end. high 0: no range, but perhaps a new base. */
static bool next_range(struct gpc_dwarf *d, const struct gpc_dw_unit *u, struct gpc_dw_cursor *c,
		       uint64_t *base, struct span *ret)
{
	uint8_t kind = (uint8_t)gpc_dw_uint(c, 1);

	*ret = (struct span){0};
	if (c->is_bad)
		return false;
	switch (kind) {
	case DW_RLE_base_addressx:
		return addressx(d, u, c, base);
	case DW_RLE_startx_endx:
		return addressx(d, u, c, &ret->low) && addressx(d, u, c, &ret->high);
	case DW_RLE_startx_length:
		if (!addressx(d, u, c, &ret->low))
			return false;
		ret->high = ret->low + gpc_dw_uleb(c);
		return true;
	case DW_RLE_offset_pair:
		ret->low = *base + gpc_dw_uleb(c);
		ret->high = *base + gpc_dw_uleb(c);
		return true;
	case DW_RLE_base_address:
		*base = gpc_dw_uint(c, u->address_size);
		return true;
	case DW_RLE_start_end:
		ret->low = gpc_dw_uint(c, u->address_size);
		ret->high = gpc_dw_uint(c, u->address_size);
		return true;
	case DW_RLE_start_length:
		ret->low = gpc_dw_uint(c, u->address_size);
		ret->high = ret->low + gpc_dw_uleb(c);
		return true;
	default:
		return false;
	}
}

static void ranges_5(struct gpc_dwarf *d, const struct gpc_dw_unit *u, const struct gpc_dw_value *v,
		     range_fn fn, void *ctx)
{
	autofree struct gpc_dw_cursor *c = malloc(sizeof *c);
	uint64_t base = u->low, at = v->n;
	struct span span;

	if (!c)
		return;
	if (v->form == DW_FORM_rnglistx) {
		if (v->n > UINT32_MAX)
			return;
		gpc_dw_cursor_init(c, &d->parts[GPC_DW_RNGLISTS],
				   u->rnglists + v->n * u->offset_size);
		at = u->rnglists + gpc_dw_uint(c, u->offset_size);
		if (c->is_bad)
			return;
	}
	gpc_dw_cursor_init(c, &d->parts[GPC_DW_RNGLISTS], at);
	for (int i = 0; i < MAX_RANGES && d->work-- > 0; i++)
		if (!next_range(d, u, c, &base, &span) || c->is_bad ||
		    (span.low < span.high && !fn(ctx, span.low, span.high)))
			return;
}

static void each_range(struct gpc_dwarf *d, const struct gpc_dw_unit *u,
		       const struct gpc_dw_entry *e, range_fn fn, void *ctx)
{
	uint64_t low, high;

	if (e->ranges.form && u->version >= 5)
		ranges_5(d, u, &e->ranges, fn, ctx);
	else if (e->ranges.form)
		ranges_4(d, u, e->ranges.n, fn, ctx);
	else if (gpc_dw_address(d, u, &e->low, &low)) {
		if (!gpc_dw_address(d, u, &e->high, &high))
			high = e->high.form ? low + e->high.n : low;
		if (low < high)
			fn(ctx, low, high);
	}
}

/* ---- the list of units --------------------------------------------------------------- */

struct listing {
	struct gpc_dwarf *d;
	uint64_t unit;
	bool no_memory;
};

static bool add_span(void *ctx, uint64_t low, uint64_t high)
{
	struct listing *l = ctx;
	struct gpc_dwarf *d = l->d;

	/* Functions that the linker dropped are left at 0. */
	if (!low)
		return true;
	if (d->spans.n >= MAX_SPANS)
		return false;
	if (d->spans.n && d->spans.at[d->spans.n - 1].unit == l->unit &&
	    d->spans.at[d->spans.n - 1].high == low) {
		d->spans.at[d->spans.n - 1].high = high;
		return true;
	}
	if (vec_push(&d->spans, (struct gpc_dw_span){low, high, l->unit}))
		return true;
	l->no_memory = true;
	return false;
}

static int by_low(const void *a, const void *b)
{
	const struct gpc_dw_span *x = a, *y = b;

	if (x->low != y->low)
		return x->low < y->low ? -1 : 1;
	return (x->unit > y->unit) - (x->unit < y->unit);
}

gpc_status gpc_dw_list_units(struct gpc_dwarf *d, struct gpc_err *err)
{
	struct listing l = {.d = d};
	struct gpc_dw_unit unit;
	struct gpc_dw_entry root;

	for (uint64_t at = 0; at < d->parts[GPC_DW_INFO].range.size && d->units.n < MAX_UNITS;
	     at = unit.end) {
		if (d->work <= 0 || !gpc_dw_unit(d, at, &unit, &root))
			break;
		if (!vec_push(&d->units, at))
			return gpc_err_nomem(err);
		l.unit = at;
		if (root.abbrev)
			each_range(d, &unit, &root, add_span, &l);
		if (l.no_memory)
			return gpc_err_nomem(err);
	}
	if (d->spans.n)
		qsort(d->spans.at, d->spans.n, sizeof *d->spans.at, by_low);
	return GPC_OK;
}

/* ---- functions ------------------------------------------------------------------------ */

struct adding {
	struct gpc_dwarf *d;
	struct gpc_dw_function function;
};

static bool add_function(void *ctx, uint64_t low, uint64_t high)
{
	struct adding *a = ctx;

	if (!low || a->d->functions.n >= MAX_FUNCTIONS)
		return false;
	a->function.low = low;
	a->function.high = high;
	return vec_push(&a->d->functions, a->function);
}

uint64_t gpc_dw_reference(const struct gpc_dw_unit *u, const struct gpc_dw_value *v)
{
	switch (v->form) {
	case DW_FORM_ref1:
	case DW_FORM_ref2:
	case DW_FORM_ref4:
	case DW_FORM_ref8:
	case DW_FORM_ref_udata:
		return v->n < GPC_DW_SHARED ? u->offset + v->n : 0;
	case DW_FORM_ref_addr:
		return v->n < GPC_DW_SHARED ? v->n : 0;
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_ref_sup4:
	case DW_FORM_ref_sup8:
		return v->n < GPC_DW_SHARED ? v->n | GPC_DW_SHARED : 0;
	default:
		return 0;
	}
}

static void note_function(struct gpc_dwarf *d, const struct gpc_dw_entry *e, uint32_t depth)
{
	struct adding a = {.d = d};

	a.function.offset = e->offset;
	a.function.origin = gpc_dw_reference(&d->unit, &e->origin);
	a.function.depth = depth;
	a.function.call_file = (uint32_t)e->call_file.n;
	a.function.call_line = (uint32_t)e->call_line.n;
	a.function.is_inlined = e->abbrev->tag == DW_TAG_inlined_subroutine;
	each_range(d, &d->unit, e, add_function, &a);
}

void gpc_dw_load_functions(struct gpc_dwarf *d)
{
	const struct gpc_dw_abbrevs *abbrevs = gpc_dw_abbrevs(d, d->unit.abbrevs);
	autofree struct gpc_dw_cursor *c = malloc(sizeof *c);
	struct gpc_dw_entry e;
	uint32_t depth = 0;

	d->functions.n = 0;
	if (!c)
		return;
	gpc_dw_cursor_init(c, &d->parts[GPC_DW_INFO], d->unit.first);
	while (c->at < d->unit.end && gpc_dw_entry(d, c, &d->unit, abbrevs, &e)) {
		if (!e.abbrev) {
			if (depth-- <= 1)
				break;
			continue;
		}
		if (e.abbrev->tag == DW_TAG_subprogram ||
		    e.abbrev->tag == DW_TAG_inlined_subroutine)
			note_function(d, &e, depth);
		depth += e.abbrev->has_children;
		if (depth > MAX_DEPTH)
			break;
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "elf/dwarf_impl.h"
#include "elf/dwarf_numbers.h"

#define MAX_ABBREVS    65536
#define MAX_ATTRIBUTES 524288
#define ITEMS_FOR_ONE  8 /* abbreviations that are searched, in the time of an attribute */

void gpc_dw_cursor_init(struct gpc_dw_cursor *c, const struct gpc_elf_part *part, uint64_t at)
{
	c->part = part;
	c->at = at;
	c->window = 0;
	c->n = 0;
	c->is_bad = false;
}

/* n bytes, or NULL; n is at most the size of the window. */
static const uint8_t *bytes(struct gpc_dw_cursor *c, size_t n)
{
	uint64_t size = c->part->range.size;

	if (c->is_bad || c->at > size || n > size - c->at) {
		c->is_bad = true;
		return NULL;
	}
	if (c->at < c->window || c->at + n > c->window + c->n) {
		uint64_t left = size - c->at;

		c->window = c->at;
		c->n = gpc_elf_read_array(&c->part->source, c->part->range.offset + c->at, c->bytes,
					  1,
					  left < sizeof c->bytes ? (size_t)left : sizeof c->bytes);
		if (c->n < n) {
			c->is_bad = true;
			return NULL;
		}
	}
	c->at += n;
	return c->bytes + (c->at - n - c->window);
}

void gpc_dw_skip(struct gpc_dw_cursor *c, uint64_t n)
{
	if (c->at > c->part->range.size || n > c->part->range.size - c->at)
		c->is_bad = true;
	else
		c->at += n;
}

uint64_t gpc_dw_uint(struct gpc_dw_cursor *c, unsigned size)
{
	const uint8_t *at = bytes(c, size);
	uint64_t ret = 0;

	if (!at)
		return 0;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	memcpy(&ret, at, size < 8 ? size : 8);
#else
	for (unsigned i = 0; i < size; i++)
		ret = ret << 8 | at[i];
#endif
	return ret;
}

uint64_t gpc_dw_uleb(struct gpc_dw_cursor *c)
{
	uint64_t ret = 0;

	for (unsigned shift = 0;; shift += 7) {
		const uint8_t *at = bytes(c, 1);

		if (!at)
			return 0;
		if (shift < 64)
			ret |= (uint64_t)(*at & 0x7f) << shift;
		if (!(*at & 0x80))
			return ret;
	}
}

int64_t gpc_dw_sleb(struct gpc_dw_cursor *c)
{
	uint64_t ret = 0;

	for (unsigned shift = 0;;) {
		const uint8_t *at = bytes(c, 1);

		if (!at)
			return 0;
		if (shift < 64)
			ret |= (uint64_t)(*at & 0x7f) << shift;
		shift += 7;
		if (*at & 0x80)
			continue;
		if (*at & 0x40 && shift < 64)
			ret |= ~UINT64_C(0) << shift;
		return (int64_t)ret;
	}
}

void gpc_dw_skip_text(struct gpc_dw_cursor *c)
{
	const uint8_t *at;

	do
		at = bytes(c, 1);
	while (at && *at);
}

/* ---- values -------------------------------------------------------------------- */

/* Bytes of a form of fixed size; 0: another. */
static unsigned fixed_size(const struct gpc_dw_unit *u, uint16_t form)
{
	switch (form) {
	case DW_FORM_addr:
		return u->address_size;
	case DW_FORM_data1:
	case DW_FORM_ref1:
	case DW_FORM_flag:
	case DW_FORM_strx1:
	case DW_FORM_addrx1:
		return 1;
	case DW_FORM_data2:
	case DW_FORM_ref2:
	case DW_FORM_strx2:
	case DW_FORM_addrx2:
		return 2;
	case DW_FORM_strx3:
	case DW_FORM_addrx3:
		return 3;
	case DW_FORM_data4:
	case DW_FORM_ref4:
	case DW_FORM_strx4:
	case DW_FORM_addrx4:
	case DW_FORM_ref_sup4:
		return 4;
	case DW_FORM_data8:
	case DW_FORM_ref8:
	case DW_FORM_ref_sig8:
	case DW_FORM_ref_sup8:
		return 8;
	case DW_FORM_data16:
		return 16;
	case DW_FORM_ref_addr:
		return u->version < 3 ? u->address_size : u->offset_size;
	case DW_FORM_strp:
	case DW_FORM_line_strp:
	case DW_FORM_sec_offset:
	case DW_FORM_strp_sup:
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_GNU_strp_alt:
		return u->offset_size;
	default:
		return 0;
	}
}

/* False: a form that we do not know, behind which nothing can be read. */
static bool read_varying(struct gpc_dw_cursor *c, const struct gpc_dw_attribute *a,
			 struct gpc_dw_value *ret)
{
	switch (a->form) {
	case DW_FORM_flag_present:
		ret->n = 1;
		return true;
	case DW_FORM_implicit_const:
		ret->n = (uint64_t)a->implicit;
		return true;
	case DW_FORM_sdata:
		ret->n = (uint64_t)gpc_dw_sleb(c);
		return true;
	case DW_FORM_udata:
	case DW_FORM_ref_udata:
	case DW_FORM_strx:
	case DW_FORM_addrx:
	case DW_FORM_loclistx:
	case DW_FORM_rnglistx:
	case DW_FORM_GNU_addr_index:
	case DW_FORM_GNU_str_index:
		ret->n = gpc_dw_uleb(c);
		return true;
	case DW_FORM_string:
		ret->n = c->at;
		gpc_dw_skip_text(c);
		return true;
	case DW_FORM_block1:
		gpc_dw_skip(c, gpc_dw_uint(c, 1));
		return true;
	case DW_FORM_block2:
		gpc_dw_skip(c, gpc_dw_uint(c, 2));
		return true;
	case DW_FORM_block4:
		gpc_dw_skip(c, gpc_dw_uint(c, 4));
		return true;
	case DW_FORM_block:
	case DW_FORM_exprloc:
		gpc_dw_skip(c, gpc_dw_uleb(c));
		return true;
	default:
		return false;
	}
}

bool gpc_dw_value(struct gpc_dw_cursor *c, const struct gpc_dw_unit *u,
		  const struct gpc_dw_attribute *a, struct gpc_dw_value *ret)
{
	struct gpc_dw_attribute real = *a;
	unsigned size;

	if (real.form == DW_FORM_indirect)
		real.form = (uint16_t)gpc_dw_uleb(c);
	*ret = (struct gpc_dw_value){.form = real.form};
	size = fixed_size(u, real.form);
	if (size == 16)
		gpc_dw_skip(c, 16);
	else if (size)
		ret->n = gpc_dw_uint(c, size);
	else if (!read_varying(c, &real, ret))
		c->is_bad = true;
	return !c->is_bad;
}

static bool read_at(const struct gpc_elf_part *part, uint64_t at, unsigned size, uint64_t *ret)
{
	uint8_t raw[8] = {0};

	if (at > part->range.size || size > part->range.size - at ||
	    !gpc_elf_read(&part->source, part->range.offset + at, raw, size))
		return false;
	*ret = 0;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	memcpy(ret, raw, size);
#else
	for (unsigned i = 0; i < size; i++)
		*ret = *ret << 8 | raw[i];
#endif
	return true;
}

static bool read_indexed(const struct gpc_elf_part *part, uint64_t base, uint64_t index,
			 unsigned size, uint64_t *ret)
{
	return index < (UINT64_C(1) << 40) && base < (UINT64_C(1) << 48) &&
	       read_at(part, base + index * size, size, ret);
}

char *gpc_dw_text(const struct gpc_dwarf *d, const struct gpc_dw_unit *u, enum gpc_dw_part from,
		  const struct gpc_dw_value *v)
{
	uint64_t at = v->n;

	switch (v->form) {
	case DW_FORM_string:
		break;
	case DW_FORM_strp:
		from = GPC_DW_STR;
		break;
	case DW_FORM_line_strp:
		from = GPC_DW_LINE_STR;
		break;
	case DW_FORM_GNU_strp_alt:
	case DW_FORM_strp_sup:
		if (!d->shared)
			return NULL;
		d = d->shared;
		from = GPC_DW_STR;
		break;
	case DW_FORM_strx:
	case DW_FORM_strx1:
	case DW_FORM_strx2:
	case DW_FORM_strx3:
	case DW_FORM_strx4:
	case DW_FORM_GNU_str_index:
		from = GPC_DW_STR;
		if (!read_indexed(&d->parts[GPC_DW_STR_OFFSETS], u->str_offsets, v->n,
				  u->offset_size, &at))
			return NULL;
		break;
	default:
		return NULL;
	}
	return gpc_elf_string(&d->parts[from].source, &d->parts[from].range, at);
}

bool gpc_dw_address(const struct gpc_dwarf *d, const struct gpc_dw_unit *u,
		    const struct gpc_dw_value *v, uint64_t *ret)
{
	switch (v->form) {
	case DW_FORM_addr:
		*ret = v->n;
		return true;
	case DW_FORM_addrx:
	case DW_FORM_addrx1:
	case DW_FORM_addrx2:
	case DW_FORM_addrx3:
	case DW_FORM_addrx4:
	case DW_FORM_GNU_addr_index:
		return read_indexed(&d->parts[GPC_DW_ADDR], u->addr, v->n, u->address_size, ret);
	default:
		return false;
	}
}

/* ---- abbreviations --------------------------------------------------------------- */

static bool read_abbrev(struct gpc_dw_abbrevs *t, struct gpc_dw_cursor *c)
{
	struct gpc_dw_abbrev b = {.code = gpc_dw_uleb(c), .first = (uint32_t)t->attributes.n};

	if (!b.code || c->is_bad || t->list.n >= MAX_ABBREVS)
		return false;
	b.tag = (uint16_t)gpc_dw_uleb(c);
	b.has_children = gpc_dw_uint(c, 1);
	for (;;) {
		struct gpc_dw_attribute a = {.name = (uint16_t)gpc_dw_uleb(c)};

		a.form = (uint16_t)gpc_dw_uleb(c);
		if (a.form == DW_FORM_implicit_const)
			a.implicit = gpc_dw_sleb(c);
		if (c->is_bad || (!a.name && !a.form))
			break;
		if (t->attributes.n >= MAX_ATTRIBUTES || !vec_push(&t->attributes, a))
			return false;
	}
	b.n = (uint32_t)t->attributes.n - b.first;
	return !c->is_bad && vec_push(&t->list, b);
}

const struct gpc_dw_abbrevs *gpc_dw_abbrevs(struct gpc_dwarf *d, uint64_t offset)
{
	struct gpc_dw_abbrevs *t = d->tables;
	struct gpc_dw_cursor c;

	for (int i = 0; i < 2; i++) {
		struct gpc_dw_abbrevs found = t[i];

		if (!found.is_loaded || found.offset != offset)
			continue;
		t[i] = t[0];
		t[0] = found;
		return t;
	}
	/* The one used longest ago makes room. */
	struct gpc_dw_abbrevs old = t[1];
	t[1] = t[0];
	t[0] = old;
	t->offset = offset;
	t->is_loaded = true;
	t->list.n = t->attributes.n = 0;
	gpc_dw_cursor_init(&c, &d->parts[GPC_DW_ABBREV], offset);
	while (d->work > 0 && read_abbrev(t, &c))
		;
	d->work -= (int64_t)(t->list.n + t->attributes.n + (c.at - offset) / GPC_DW_BYTES_FOR_ONE);
	return t;
}

/* Compilers number them from 1 on; others are searched for, which is work. */
static const struct gpc_dw_abbrev *abbrev_of(struct gpc_dwarf *d, const struct gpc_dw_abbrevs *t,
					     uint64_t code)
{
	size_t i = 0;

	if (code - 1 < t->list.n && t->list.at[code - 1].code == code)
		return &t->list.at[code - 1];
	while (i < t->list.n && t->list.at[i].code != code)
		i++;
	d->work -= (int64_t)(i / ITEMS_FOR_ONE);
	return i < t->list.n ? &t->list.at[i] : NULL;
}

static struct gpc_dw_value *slot_of(struct gpc_dw_entry *e, uint16_t name)
{
	switch (name) {
	case DW_AT_low_pc:
		return &e->low;
	case DW_AT_high_pc:
		return &e->high;
	case DW_AT_ranges:
		return &e->ranges;
	case DW_AT_abstract_origin:
	case DW_AT_specification:
		return &e->origin;
	case DW_AT_linkage_name:
	case DW_AT_MIPS_linkage_name:
		return &e->linkage;
	case DW_AT_name:
		return &e->name;
	case DW_AT_call_file:
		return &e->call_file;
	case DW_AT_call_line:
		return &e->call_line;
	case DW_AT_stmt_list:
		return &e->lines;
	case DW_AT_comp_dir:
		return &e->folder;
	case DW_AT_str_offsets_base:
		return &e->str_offsets;
	case DW_AT_addr_base:
	case DW_AT_GNU_addr_base:
		return &e->addr;
	case DW_AT_rnglists_base:
		return &e->rnglists;
	default:
		return NULL;
	}
}

bool gpc_dw_entry(struct gpc_dwarf *d, struct gpc_dw_cursor *c, const struct gpc_dw_unit *u,
		  const struct gpc_dw_abbrevs *abbrevs, struct gpc_dw_entry *ret)
{
	struct gpc_dw_value skipped;
	uint64_t code;

	memset(ret, 0, sizeof *ret);
	ret->offset = c->at;
	code = gpc_dw_uleb(c);
	if (c->is_bad || d->work-- <= 0)
		return false;
	if (!code)
		return true;
	ret->abbrev = abbrev_of(d, abbrevs, code);
	if (!ret->abbrev)
		return false;
	d->work -= ret->abbrev->n;
	for (uint32_t i = 0; i < ret->abbrev->n; i++) {
		const struct gpc_dw_attribute *a = &abbrevs->attributes.at[ret->abbrev->first + i];
		struct gpc_dw_value *slot = slot_of(ret, a->name);

		if (!gpc_dw_value(c, u, a, slot ? slot : &skipped))
			return false;
	}
	d->work -= (int64_t)((c->at - ret->offset) / GPC_DW_BYTES_FOR_ONE);
	return true;
}

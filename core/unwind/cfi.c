/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/cfi.h"

#include "unwind/cursor.h"

/* Linux Standard Base 5.0, Core, chapter 10.5: DW_EH_PE_ */
#define PE_FORMAT   0x0f
#define PE_PLACE    0x70
#define PE_PCREL    0x10
#define PE_INDIRECT 0x80
#define PE_OMIT     0xff

/* It is read again for each of its entries, of which there can be many; real ones have
 * some thirty bytes. */
#define CIE_MAX  4096
#define HEAD_MAX 256 /* of it: what comes before its program */

uint64_t gpc_cfi_address(const struct gpc_cfi_section *s, struct gpc_cursor *c, uint8_t encoding)
{
	uint64_t base = 0, value = 0;

	if ((encoding & PE_PLACE) == PE_PCREL)
		base = s->vaddr + (uint64_t)(c->at - s->bytes);
	else if (encoding & (PE_PLACE | PE_INDIRECT))
		c->is_bad = true;
	switch (encoding & PE_FORMAT) {
	case 0x00:
	case 0x04:
	case 0x0c:
		value = gpc_cursor_fixed(c, 8);
		break;
	case 0x01:
		value = gpc_cursor_uleb(c);
		break;
	case 0x02:
		value = gpc_cursor_fixed(c, 2);
		break;
	case 0x03:
		value = gpc_cursor_fixed(c, 4);
		break;
	case 0x09:
		value = (uint64_t)gpc_cursor_sleb(c);
		break;
	case 0x0a:
		value = (uint64_t)gpc_cursor_signed(c, 2);
		break;
	case 0x0b:
		value = (uint64_t)gpc_cursor_signed(c, 4);
		break;
	default:
		c->is_bad = true;
	}
	return base + value;
}

/* A length and what follows it. False: no more. */
static bool open_entry(const struct gpc_cfi_section *s, size_t at, struct gpc_cursor *ret,
		       bool *is_wide)
{
	struct gpc_cursor c = {s->bytes + at, s->bytes + s->n, false};
	uint64_t length;

	if (at >= s->n)
		return false;
	length = gpc_cursor_fixed(&c, 4);
	*is_wide = length == UINT32_MAX;
	if (*is_wide)
		length = gpc_cursor_fixed(&c, 8);
	if (c.is_bad || !length || length > (uint64_t)(c.end - c.at))
		return false;
	*ret = (struct gpc_cursor){c.at, c.at + length, false};
	return true;
}

struct cie {
	struct gpc_cfi_entry e; /* what its entries have from it */
	bool has_augmentation_data;
	uint8_t address_bytes;
};

/* The texts after "z" say in their order what the augmentation data holds. */
static bool read_augmentation(const struct gpc_cfi_section *s, struct gpc_cursor *c,
			      const char *text, struct cie *ret)
{
	uint64_t length = gpc_cursor_uleb(c);
	struct gpc_cursor data = *c;

	if (!gpc_cursor_has(c, length))
		return false;
	data.end = c->at + length;
	c->at += length;
	for (; *text; text++) {
		if (*text == 'R') {
			ret->e.encoding = (uint8_t)gpc_cursor_fixed(&data, 1);
		} else if (*text == 'P') {
			uint8_t encoding = (uint8_t)gpc_cursor_fixed(&data, 1);
			struct gpc_cursor skipped = data;

			/* Whose address it is does not matter here, its length does. */
			if (encoding != PE_OMIT)
				gpc_cfi_address(s, &skipped, encoding & PE_FORMAT);
			data.at = skipped.at;
			data.is_bad |= skipped.is_bad;
		} else if (*text == 'L') {
			gpc_cursor_fixed(&data, 1);
		} else if (*text == 'S') {
			ret->e.is_signal = true;
		} else if (*text != 'B' && *text != 'G') { /* arm64: keys, tags */
			return false;
		}
	}
	return !data.is_bad;
}

static bool read_cie(const struct gpc_cfi_section *s, uint64_t at, struct cie *ret)
{
	struct gpc_cursor c;
	const uint8_t *end;
	bool is_wide;
	uint8_t version;
	const char *text;
	uint64_t ra;

	*ret = (struct cie){0};
	if (at >= s->n || !open_entry(s, (size_t)at, &c, &is_wide) || c.end - c.at > CIE_MAX)
		return false;
	end = c.end;
	if (c.end - c.at > HEAD_MAX)
		c.end = c.at + HEAD_MAX;
	gpc_cursor_skip(&c, is_wide && !s->is_eh ? 8 : 4);
	version = (uint8_t)gpc_cursor_fixed(&c, 1);
	text = (const char *)c.at;
	if (!memchr(c.at, 0, (size_t)(c.end - c.at)))
		return false;
	c.at += strlen(text) + 1;
	if (version == 4) {
		ret->address_bytes = (uint8_t)gpc_cursor_fixed(&c, 1);
		gpc_cursor_skip(&c, 1); /* segments */
		if (ret->address_bytes != 8)
			return false;
	} else if (version != 1 && version != 3) {
		return false;
	}
	ret->e.code_align = gpc_cursor_uleb(&c);
	ret->e.data_align = gpc_cursor_sleb(&c);
	ra = version == 1 ? gpc_cursor_fixed(&c, 1) : gpc_cursor_uleb(&c);
	if (ra >= GPC_UNWIND_REGS)
		return false;
	ret->e.ra = (uint8_t)ra;
	ret->has_augmentation_data = *text == 'z';
	if (*text == 'z' ? !read_augmentation(s, &c, text + 1, ret) : *text != '\0')
		return false;
	ret->e.first = c.at;
	ret->e.first_n = (size_t)(end - c.at);
	return !c.is_bad;
}

/* The entry's CIE: by its distance in .eh_frame, by its place in .debug_frame. */
static bool find_cie(const struct gpc_cfi_section *s, struct gpc_cursor *c, bool is_wide,
		     uint64_t *ret)
{
	uint64_t here = (uint64_t)(c->at - s->bytes);
	uint64_t value = gpc_cursor_fixed(c, is_wide && !s->is_eh ? 8 : 4);

	if (s->is_eh) {
		*ret = here - value;
		return value && value <= here;
	}
	*ret = value;
	return value != (is_wide ? UINT64_MAX : UINT32_MAX);
}

static bool read_entry(const struct gpc_cfi_section *s, struct gpc_cursor *c, uint64_t cie_at,
		       struct gpc_cfi_entry *ret)
{
	struct cie cie;

	if (!read_cie(s, cie_at, &cie))
		return false;
	*ret = cie.e;
	ret->start = gpc_cfi_address(s, c, ret->encoding);
	ret->end = ret->start + gpc_cfi_address(s, c, ret->encoding & PE_FORMAT);
	if (cie.has_augmentation_data)
		gpc_cursor_skip(c, gpc_cursor_uleb(c));
	ret->ops = c->at;
	ret->ops_n = (size_t)(c->end - c->at);
	return !c->is_bad && ret->end > ret->start;
}

bool gpc_cfi_next(const struct gpc_cfi_section *s, size_t *at, struct gpc_cfi_entry *ret)
{
	struct gpc_cursor c;
	uint64_t cie_at;
	bool is_wide;

	if (!open_entry(s, *at, &c, &is_wide))
		return false;
	*at = (size_t)(c.end - s->bytes);
	if (!find_cie(s, &c, is_wide, &cie_at) || !read_entry(s, &c, cie_at, ret))
		*ret = (struct gpc_cfi_entry){0};
	return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/pbread.h"

#include <string.h>

static gpc_status expected(const struct gpc_pbread *r, const char *what, struct gpc_err *err)
{
	return gpc_err_set(err, GPC_E_CORRUPT, "byte %zu: expected %s", (size_t)(r->at - r->begin),
			   what);
}

static gpc_status read_varint(struct gpc_pbread *r, uint64_t *ret, struct gpc_err *err)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint8_t byte;

		if (r->at == r->end)
			return expected(r, "more of a number", err);
		byte = *r->at++;
		value |= (uint64_t)(byte & 0x7F) << shift;
		if (byte < 0x80) {
			*ret = value;
			return GPC_OK;
		}
	}
	return expected(r, "a number of at most ten bytes", err);
}

static gpc_status read_fixed(struct gpc_pbread *r, size_t n, uint64_t *ret, struct gpc_err *err)
{
	uint64_t value = 0;

	if ((size_t)(r->end - r->at) < n)
		return expected(r, "more of a number", err);
	for (size_t i = 0; i < n; i++)
		value |= (uint64_t)r->at[i] << (8 * i);
	r->at += n;
	*ret = value;
	return GPC_OK;
}

static gpc_status read_bytes(struct gpc_pbread *r, struct gpc_pbread *ret, struct gpc_err *err)
{
	uint64_t n = 0;

	gpc_try(read_varint(r, &n, err));
	if (n > (uint64_t)(r->end - r->at))
		return expected(r, "as many bytes as the length before says", err);
	*ret = (struct gpc_pbread){r->begin, r->at, r->at + n};
	r->at += n;
	return GPC_OK;
}

gpc_status gpc_pbread_next(struct gpc_pbread *r, struct gpc_pbfield *ret, struct gpc_err *err)
{
	uint64_t key = 0;

	if (r->at == r->end)
		return 0;
	gpc_try(read_varint(r, &key, err));
	*ret = (struct gpc_pbfield){.number = (uint32_t)(key >> 3),
				    .wire = key & 7,
				    .part = {r->begin, r->at, r->at}};
	if (key >> 3 > UINT32_MAX || !(key >> 3))
		return expected(r, "a field's number", err);
	switch (ret->wire) {
	case GPC_PB_VARINT:
		gpc_try(read_varint(r, &ret->value, err));
		return 1;
	case GPC_PB_FIXED64:
		gpc_try(read_fixed(r, 8, &ret->value, err));
		return 1;
	case GPC_PB_FIXED32:
		gpc_try(read_fixed(r, 4, &ret->value, err));
		return 1;
	case GPC_PB_BYTES:
		gpc_try(read_bytes(r, &ret->part, err));
		return 1;
	default:
		return expected(r, "a field of a known wire type", err);
	}
}

gpc_status gpc_pbfield_number(const struct gpc_pbfield *f, uint64_t *ret, struct gpc_err *err)
{
	if (f->wire == GPC_PB_BYTES)
		return expected(&f->part, "a number in this field", err);
	*ret = f->value;
	return GPC_OK;
}

gpc_status gpc_pbfield_part(const struct gpc_pbfield *f, struct gpc_pbread *ret,
			    struct gpc_err *err)
{
	if (f->wire != GPC_PB_BYTES)
		return expected(&f->part, "a text or a message in this field", err);
	*ret = f->part;
	return GPC_OK;
}

gpc_status gpc_pbfield_numbers(const struct gpc_pbfield *f, struct gpc_numbers *to,
			       struct gpc_err *err)
{
	struct gpc_pbread part = f->part;
	uint64_t value = f->value;

	if (f->wire != GPC_PB_BYTES)
		return vec_push(&to->list, value) ? GPC_OK : gpc_err_nomem(err);
	while (part.at < part.end) {
		gpc_try(read_varint(&part, &value, err));
		if (!vec_push(&to->list, value))
			return gpc_err_nomem(err);
	}
	return GPC_OK;
}

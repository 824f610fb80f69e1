/* SPDX-License-Identifier: Apache-2.0 */
#include "encode/pbuf.h"

#include <string.h>

enum { WIRE_VARINT = 0, WIRE_BYTES = 2 };

void gpc_pbuf_deinit(struct gpc_pbuf *b)
{
	vec_deinit(&b->bytes);
}

void gpc_pbuf_clear(struct gpc_pbuf *b)
{
	b->bytes.n = 0;
}

void gpc_pbuf_varint(struct gpc_pbuf *b, uint64_t value)
{
	bool is_last = false;

	while (!is_last) {
		is_last = value < 0x80;
		if (!vec_push(&b->bytes, (uint8_t)(value & 0x7F) | (is_last ? 0 : 0x80)))
			b->is_short_of_memory = true;
		value >>= 7;
	}
}

void gpc_pbuf_u64(struct gpc_pbuf *b, uint32_t field, uint64_t value)
{
	if (!value)
		return;
	gpc_pbuf_varint(b, (uint64_t)field << 3 | WIRE_VARINT);
	gpc_pbuf_varint(b, value);
}

void gpc_pbuf_bytes(struct gpc_pbuf *b, uint32_t field, const void *bytes, size_t n)
{
	gpc_pbuf_varint(b, (uint64_t)field << 3 | WIRE_BYTES);
	gpc_pbuf_varint(b, n);
	if (!vec_reserve(&b->bytes, n)) {
		b->is_short_of_memory = true;
		return;
	}
	if (n)
		memcpy(b->bytes.at + b->bytes.n, bytes, n);
	b->bytes.n += n;
}

void gpc_pbuf_part(struct gpc_pbuf *b, uint32_t field, const struct gpc_pbuf *part)
{
	gpc_pbuf_bytes(b, field, part->bytes.at, part->bytes.n);
	b->is_short_of_memory |= part->is_short_of_memory;
}

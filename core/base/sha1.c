/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sha1.h"

#include <string.h>

static uint32_t left(uint32_t x, unsigned n)
{
	return x << n | x >> (32 - n);
}

static uint32_t big_endian(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* FIPS 180-4, 4.1.1 and 4.2.1. */
static uint32_t mix(unsigned t, uint32_t b, uint32_t c, uint32_t d)
{
	if (t < 20)
		return ((b & c) | (~b & d)) + 0x5A827999;
	if (t < 40)
		return (b ^ c ^ d) + 0x6ED9EBA1;
	if (t < 60)
		return ((b & c) | (b & d) | (c & d)) + 0x8F1BBCDC;
	return (b ^ c ^ d) + 0xCA62C1D6;
}

static void take_block(struct gpc_sha1 *s, const uint8_t *block)
{
	uint32_t w[80], v[5];

	for (unsigned t = 0; t < 16; t++)
		w[t] = big_endian(block + 4 * t);
	for (unsigned t = 16; t < 80; t++)
		w[t] = left(w[t - 3] ^ w[t - 8] ^ w[t - 14] ^ w[t - 16], 1);
	memcpy(v, s->h, sizeof v);
	for (unsigned t = 0; t < 80; t++) {
		uint32_t x = left(v[0], 5) + mix(t, v[1], v[2], v[3]) + v[4] + w[t];

		v[4] = v[3];
		v[3] = v[2];
		v[2] = left(v[1], 30);
		v[1] = v[0];
		v[0] = x;
	}
	for (unsigned i = 0; i < 5; i++)
		s->h[i] += v[i];
}

void gpc_sha1_init(struct gpc_sha1 *s)
{
	*s = (struct gpc_sha1){.h = {0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0}};
}

void gpc_sha1_add(struct gpc_sha1 *s, const void *bytes, size_t n)
{
	const uint8_t *at = bytes;

	while (n) {
		size_t used = s->n % sizeof s->block, room = sizeof s->block - used;
		size_t part = n < room ? n : room;

		memcpy(s->block + used, at, part);
		s->n += part;
		at += part;
		n -= part;
		if (part == room)
			take_block(s, s->block);
	}
}

void gpc_sha1_end(struct gpc_sha1 *s, uint8_t ret[GPC_SHA1_BYTES])
{
	static const uint8_t zero[64] = {0}, one = 0x80;
	uint64_t bits = s->n * 8;
	uint8_t length[8];

	gpc_sha1_add(s, &one, 1);
	gpc_sha1_add(s, zero, (120 - s->n % 64) % 64);
	for (unsigned i = 0; i < 8; i++)
		length[i] = (uint8_t)(bits >> (56 - 8 * i));
	gpc_sha1_add(s, length, sizeof length);
	for (unsigned i = 0; i < GPC_SHA1_BYTES; i++)
		ret[i] = (uint8_t)(s->h[i / 4] >> (24 - 8 * (i % 4)));
}

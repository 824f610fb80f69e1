/* SPDX-License-Identifier: Apache-2.0 */
/* Built twice: HERE and THERE are deep_a and deep_b, or the other way round. */
#include "deep.h"

#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))

static int compare(const void *a, const void *b)
{
	return memcmp(a, b, 1);
}

NOINLINE static uint64_t hash_bytes(uint64_t seed)
{
	for (int i = 0; i < 8000; i++)
		seed = (seed ^ (seed >> 29)) * UINT64_C(0xBF58476D1CE4E5B9) + 1;
	return seed;
}

NOINLINE static uint64_t sort_bytes(uint64_t seed)
{
	char text[256];

	for (size_t i = 0; i < sizeof text; i++)
		text[i] = (char)(seed >> (i % 57));
	qsort(text, sizeof text, 1, compare);
	return seed + (unsigned char)text[17];
}

NOINLINE static uint64_t copy_bytes(uint64_t seed)
{
	char from[2048], to[2048];

	memset(from, (int)seed, sizeof from);
	for (int i = 0; i < 200; i++) {
		memcpy(to, from, sizeof to);
		from[i] = (char)(to[2047 - i] + 1);
	}
	return seed + (unsigned char)to[3];
}

NOINLINE static uint64_t leaf(uint64_t seed)
{
	switch (seed % 5) {
	case 0:
		return sort_bytes(seed);
	case 1:
		return copy_bytes(seed);
	default:
		return hash_bytes(seed);
	}
}

#define STEP(name)                                                            \
	NOINLINE static uint64_t name(unsigned depth, uint64_t seed)          \
	{                                                                     \
		uint64_t r = depth ? THERE(depth - 1, seed / 3) : leaf(seed); \
		__asm__ volatile("" ::: "memory");                            \
		return r + 1;                                                 \
	}
STEP(parse)
STEP(plan)
STEP(query)

uint64_t HERE(unsigned depth, uint64_t seed)
{
	uint64_t (*const next[])(unsigned, uint64_t) = {parse, plan, query};
	uint64_t r = depth ? next[seed % 3](depth - 1, seed) : leaf(seed);

	__asm__ volatile("" ::: "memory");
	return r + 1;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Reading DWARF's numbers from bytes that others wrote: behind the end all are 0
 * and the cursor is bad. */
#ifndef GPC_UNWIND_CURSOR_H
#define GPC_UNWIND_CURSOR_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct gpc_cursor {
	const uint8_t *at, *end;
	bool is_bad;
};

static inline bool gpc_cursor_has(struct gpc_cursor *c, uint64_t n)
{
	if (n > (uint64_t)(c->end - c->at)) {
		c->is_bad = true;
		c->at = c->end;
		return false;
	}
	return true;
}

static inline void gpc_cursor_skip(struct gpc_cursor *c, uint64_t n)
{
	if (gpc_cursor_has(c, n))
		c->at += n;
}

/* n: 1, 2, 4 or 8. */
static inline uint64_t gpc_cursor_fixed(struct gpc_cursor *c, unsigned n)
{
	uint64_t value = 0;

	if (!gpc_cursor_has(c, n))
		return 0;
	for (unsigned i = 0; i < n; i++)
		value |= (uint64_t)c->at[i] << 8 * i;
	c->at += n;
	return value;
}

static inline int64_t gpc_cursor_signed(struct gpc_cursor *c, unsigned n)
{
	uint64_t value = gpc_cursor_fixed(c, n);
	unsigned shift = 64 - 8 * n;

	return (int64_t)(value << shift) >> shift;
}

static inline uint64_t gpc_cursor_uleb(struct gpc_cursor *c)
{
	uint64_t value = 0;

	for (unsigned shift = 0;; shift += 7) {
		uint64_t byte = gpc_cursor_fixed(c, 1);

		if (shift < 64)
			value |= (byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
}

static inline int64_t gpc_cursor_sleb(struct gpc_cursor *c)
{
	uint64_t value = 0, byte;
	unsigned shift = 0;

	do {
		byte = gpc_cursor_fixed(c, 1);
		if (shift < 64)
			value |= (byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (shift < 64 && byte & 0x40)
		value |= UINT64_MAX << shift;
	return (int64_t)value;
}

#endif

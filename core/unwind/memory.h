/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a sampled thread: the copy of its stack that came with the sample,
 * and whatever else can be had. */
#ifndef GPC_UNWIND_MEMORY_H
#define GPC_UNWIND_MEMORY_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "unwind/arch.h"

struct gpc_unwind_memory {
	uint64_t start; /* of the copy: the stack pointer */
	uint64_t n;
	const uint8_t *bytes;
	/* Beyond the copy; NULL: there is nothing. */
	bool (*more)(void *ctx, uint64_t addr, void *buf, uint32_t n);
	void *ctx;
	bool was_short; /* something above the copy was wanted and not there */
};

static inline bool gpc_unwind_fetch(struct gpc_unwind_memory *m, uint64_t addr, void *buf,
				    uint32_t n)
{
	uint64_t at = addr - m->start;

	if (addr >= m->start && m->n >= n && at <= m->n - n) {
		memcpy(buf, m->bytes + at, n);
		return true;
	}
	if (m->more && m->more(m->ctx, addr, buf, n))
		return true;
	if (addr >= m->start)
		m->was_short = true;
	return false;
}

static inline bool gpc_unwind_word(struct gpc_unwind_memory *m, uint64_t addr, uint64_t *ret)
{
	return gpc_unwind_fetch(m, addr, ret, sizeof *ret);
}

#endif

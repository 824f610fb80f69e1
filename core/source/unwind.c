/* SPDX-License-Identifier: Apache-2.0 */
#include "source/unwind.h"

#include <string.h>

#include "base/hot.h"

#define FRAME_MAX (1u << 20) /* bytes; no real frame is larger */

GPC_HOT bool gpc_unwind_read(const struct gpc_unwind_source *src, uint64_t addr, void *buf,
			     uint32_t n)
{
	const struct gpc_pull_sample *s = src->sample;

	/* The copy is of the sampled moment: it goes before what is there now. */
	if (s && s->stack_bytes >= n && addr >= s->sp && addr - s->sp <= s->stack_bytes - n) {
		memcpy(buf, s->stack + (addr - s->sp), n);
		return true;
	}
	return gpc_mem_read(src->mem, src->target, 0, addr, buf, n) == n;
}

/* On x86-64 and arm64 alike: [fp] is the caller's fp, [fp + 8] where to return. */
GPC_HOT bool gpc_unwind_up(const struct gpc_unwind_source *src, struct gpc_step_state *state)
{
	uint64_t frame[2];

	if (state->fp % 8 || state->fp < state->sp || state->fp - state->sp > FRAME_MAX)
		return false;
	if (!gpc_unwind_read(src, state->fp, frame, sizeof frame) || !frame[1])
		return false;
	/* The caller's fp may be anything: generated code uses the register as it
	 * likes. The next step finds out. */
	state->pc = frame[1];
	state->sp = state->fp + 16;
	state->fp = frame[0];
	state->is_leaf = 0;
	return true;
}

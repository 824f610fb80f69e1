/* SPDX-License-Identifier: Apache-2.0 */
#include "walk.h"

#define CHECK_BYTES 64

JAVA_HOT uint64_t gpc_java_register(const struct gpc_pull_sample *s, unsigned number)
{
	uint64_t bit = UINT64_C(1) << number;
	uint32_t at = (uint32_t)__builtin_popcountll(s->regs_mask & (bit - 1));

	return s->regs && s->regs_mask & bit && at < s->n_regs ? s->regs[at] : 0;
}

/* A thread that has run on may have returned from the frames that were copied; then
 * what is above them is of another moment. When the end of the copy is still what
 * is there, the frames it belongs to are. */
static bool is_consistent(struct walk *w)
{
	const struct gpc_pull_sample *s = w->sample;
	uint8_t now[CHECK_BYTES];

	if (s->flags & GPC_PULL_EXACT)
		return true;
	if (s->stack_bytes < CHECK_BYTES)
		return false;
	return gpc_java_read(&w->vm->mem, s->sp + s->stack_bytes - CHECK_BYTES, now, sizeof now) &&
	       memcmp(now, s->stack + s->stack_bytes - CHECK_BYTES, sizeof now) == 0;
}

JAVA_HOT static bool read_chunk(struct walk *w, uint64_t addr)
{
	if (w->is_stale)
		return false;
	if (!w->chunk_n && !is_consistent(w)) {
		w->is_stale = true;
		return false;
	}
	w->chunk_at = addr;
	w->chunk_n = gpc_java_read_some(&w->vm->mem, addr, w->chunk, sizeof w->chunk);
	return w->chunk_n >= 8;
}

JAVA_HOT bool gpc_java_stack(struct walk *w, uint64_t addr, uint64_t *ret)
{
	const struct gpc_pull_sample *s = w->sample;

	if (addr % 8)
		return false;
	if (s->stack_bytes >= 8 && addr >= s->sp && addr - s->sp <= s->stack_bytes - 8) {
		memcpy(ret, s->stack + (addr - s->sp), 8);
		return true;
	}
	/* Frames lie upwards; a little below is looked at as well. */
	if (!(w->chunk_n >= 8 && addr >= w->chunk_at && addr - w->chunk_at <= w->chunk_n - 8) &&
	    !read_chunk(w, addr >= 64 ? addr - 64 : addr))
		return false;
	if (addr < w->chunk_at || addr - w->chunk_at > w->chunk_n - 8)
		return false;
	memcpy(ret, w->chunk + (addr - w->chunk_at), 8);
	return true;
}

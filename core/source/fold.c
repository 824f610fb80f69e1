/* SPDX-License-Identifier: Apache-2.0 */
#include "source/fold.h"

#include "source/frames.h"

/* Markers in a callchain are small negative numbers: PERF_CONTEXT_MAX is -4095. */
static bool is_marker(uint64_t ip)
{
	return ip >= (uint64_t)PERF_CONTEXT_MAX;
}

struct folder {
	struct gpc_table *table;
	struct gpc_process *process;
	const struct gpc_space *space;
	const struct gpc_area *last; /* neighbours in a stack are often in one file */
	struct gpc_folded *out;
};

static uint64_t fold_user(struct folder *f, uint64_t address, bool is_caller)
{
	if (!f->space)
		f->space = gpc_table_space(f->table, f->process);
	if (!f->last || address < f->last->start || address >= f->last->end) {
		f->last = gpc_space_find(f->space, address);
		if (f->last)
			gpc_table_met(f->table, f->process, f->last);
	}
	/* Code runs where it is mapped; a caller that lies nowhere comes from a chain
	 * that was broken, and no perf map has a name for it. */
	if (f->last ? f->last->kind == GPC_AREA_ANON : !is_caller)
		f->out->has_jit = true;
	return gpc_raw_of(f->last, address);
}

static void fold_one(struct folder *f, uint64_t ip, bool in_kernel, bool is_return)
{
	uint64_t address = is_return && ip ? ip - 1 : ip;

	if (f->out->n == GPC_FOLD_MAX)
		return;
	/* A user address with high bits set is garbage from a broken chain. */
	if (!in_kernel && address >> 56)
		address = 0;
	f->out->frames[f->out->n++] = in_kernel ? address : fold_user(f, address, is_return);
}

static void fold_pulled(struct folder *f, const struct gpc_pulled *pulled)
{
	for (uint32_t i = 0; i < pulled->n && f->out->n < GPC_FOLD_MAX; i++) {
		uint64_t frame = pulled->frames[i];

		if ((frame & GPC_FRAME_MASK) == GPC_FRAME_TAG || frame == GPC_RAW_CUT)
			f->out->frames[f->out->n++] = frame;
		else
			fold_one(f, frame, false, false);
	}
}

void gpc_fold(struct gpc_table *t, struct gpc_process *p, const struct gpc_space *space,
	      const struct gpc_perf_sample *s, const struct gpc_pulled *pulled,
	      struct gpc_folded *ret)
{
	struct folder f = {.table = t, .process = p, .space = space, .out = ret};
	bool in_kernel = false, is_first = true, is_known = false;

	ret->n = 0;
	ret->has_jit = false;
	for (uint32_t i = 0; i < s->n_ips; i++) {
		uint64_t ip = s->ips[i];

		if (is_marker(ip)) {
			is_known = ip == (uint64_t)PERF_CONTEXT_KERNEL ||
				   (ip == (uint64_t)PERF_CONTEXT_USER && !pulled);
			in_kernel = ip == (uint64_t)PERF_CONTEXT_KERNEL;
			is_first = true;
			continue;
		}
		/* Only the first frame of each part was executing. */
		if (is_known)
			fold_one(&f, ip, in_kernel, !is_first);
		is_first = false;
	}
	if (pulled)
		fold_pulled(&f, pulled);
	/* No chain (or not its kernel part, for want of rights): the place itself. */
	if (!ret->n)
		fold_one(&f, s->ip, s->ip >> 63, false);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* gpc.walk/1: the Python frames of the thread that was sampled. */
#include "join.h"
#include "python.h"

PY_HOT struct py_threads_of gpc_py_threads_of(const struct py_target *t, const struct py_memory *m)
{
	return (struct py_threads_of){.memory = m,
				      .layout = &t->runtime.layout,
				      .list = t->runtime.list,
				      .elf = t->elf,
				      .native = t->native};
}

/* Frames by number, in their places: one that is none leaves no gap in the
 * others' groups. False: too many make no sense. */
static bool name_frames(struct py_target *t, const struct py_memory *m, struct py_stack *stack,
			struct gpc_pull_out *out)
{
	uint32_t bad = 0, group = 0, n = stack->n < out->room ? stack->n : out->room;

	gpc_py_codes_known(t->codes, stack->frames, n, m->sample->time_ns, out->writer->epoch,
			   out->frames);
	for (uint32_t i = 0; i < stack->n; i++) {
		gpc_frame frame = i < n ? out->frames[i] : 0;

		if (!frame && i < n)
			frame = gpc_py_codes_frame(t->codes, m, &t->runtime.layout,
						   &stack->frames[i], out->writer);
		if (frame)
			out->frames[out->n++] = frame;
		else
			bad++;
		while (group < stack->n_groups && stack->groups[group].end == i + 1)
			stack->groups[group++].end = out->n;
	}
	return !bad;
}

PY_HOT gpc_status gpc_py_walk(void *self, void *tctx, const struct gpc_pull_sample *s,
			      struct gpc_pull_out *out)
{
	struct python *p = self;
	struct py_target *t = tctx;
	struct py_memory m = {p->host, t->target, s};
	struct py_threads_of of = gpc_py_threads_of(t, &m);
	struct py_thread_state state;
	struct py_stack stack;
	gpc_status st;

	if (!s->ns_tid)
		return GPC_E_UNSUPPORTED;
	st = gpc_py_threads_find(&t->threads, &of, s->ns_tid, &state);
	if (st < 0 || !state.at)
		return st;
	st = gpc_py_frames_of(&m, &t->runtime.layout, &state, &stack);
	if (st < 0 || !stack.n)
		return st;
	if (!name_frames(t, &m, &stack, out)) {
		out->n = 0;
		return GPC_E_CORRUPT;
	}
	gpc_py_join(t, s, &stack, out);
	return GPC_OK;
}

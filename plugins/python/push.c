/* SPDX-License-Identifier: Apache-2.0 */
#include "push.h"

uint32_t gpc_py_push_threads(void *self, void *tctx, int32_t *ns_tids, uint32_t room)
{
	const struct python *p = self;
	struct py_target *t = tctx;
	struct py_memory m = {p->host, t->target, NULL};
	struct py_threads_of of = gpc_py_threads_of(t, &m);
	uint64_t holders[PY_GILS_MAX];
	unsigned n = gpc_py_gil_holders(&t->gils, &m, &t->runtime, holders);
	uint32_t found = 0;

	for (unsigned i = 0; i < n && found < room; i++) {
		int32_t ns_tid = gpc_py_thread_tid(&of, holders[i]);

		if (ns_tid > 0)
			ns_tids[found++] = ns_tid;
	}
	return found;
}

/* n 0: it executes no Python code now. */
static gpc_status stack_of(struct py_target *t, const struct py_memory *m, int32_t ns_tid,
			   struct py_stack *ret)
{
	struct py_threads_of of = gpc_py_threads_of(t, m);
	struct py_thread_state state;
	gpc_status st = gpc_py_threads_find(&t->threads, &of, ns_tid, &state);

	ret->n = 0;
	return st < 0 || !state.at ? st : gpc_py_frames_of(m, &t->runtime.layout, &state, ret);
}

/* What is torn is left out, and counted: the next tick is near. */
gpc_status gpc_py_push_tick(void *self, void *tctx, const struct gpc_pull_sample *s,
			    struct gpc_writer *w)
{
	const struct python *p = self;
	struct py_target *t = tctx;
	struct py_memory m = {p->host, t->target, s};
	struct gpc_sample sample = {.target = t->target->id,
				    .time_ns = s->time_ns,
				    .value = 1,
				    .tid = s->tid,
				    .cpu = s->cpu,
				    .event = PY_EVENT_CPU};
	gpc_frame frames[PY_FRAMES_MAX];
	struct py_stack stack;
	gpc_status st = stack_of(t, &m, s->ns_tid, &stack);
	uint32_t n = 0;

	if (st < 0 || !stack.n)
		return st;
	for (uint32_t i = 0; i < stack.n; i++) {
		frames[n] =
			gpc_py_codes_frame(t->codes, &m, &t->runtime.layout, &stack.frames[i], w);
		if (!frames[n++])
			return GPC_E_CORRUPT;
	}
	return gpc_write(w, &sample, frames, n);
}

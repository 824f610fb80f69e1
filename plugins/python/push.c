/* SPDX-License-Identifier: Apache-2.0 */
#include "push.h"

#include "gil.h"

#define SECOND_NS      UINT64_C(1000000000)
#define SHARE_PERMILLE 100 /* of a CPU, where the session sets no budget */

gpc_status gpc_py_push_start(struct python *p, const struct gpc_session *s, uint64_t token)
{
	uint64_t every = s->hz ? SECOND_NS / s->hz : s->interval;

	p->push.permille = s->cpu_permille ? s->cpu_permille : SHARE_PERMILLE;
	return p->host->set_timer(p->host, NULL, every ? every : SECOND_NS / 11, token);
}

static gpc_status sample(struct py_target *t, const struct py_memory *m, uint64_t state,
			 struct gpc_writer *w)
{
	struct gpc_sample s = {.target = t->target->id,
			       .value = 1,
			       .cpu = -1,
			       .event = PY_EVENT_CPU};
	gpc_frame frames[PY_FRAMES_MAX];
	struct py_stack stack;
	uint32_t n = 0;
	gpc_status st = gpc_py_frames(m, &t->runtime.layout, state, &stack);

	/* What is torn is left out: the next tick is near. */
	if (st < 0 || !stack.n)
		return GPC_OK;
	for (uint32_t i = 0; i < stack.n; i++) {
		frames[n] =
			gpc_py_codes_frame(t->codes, m, &t->runtime.layout, &stack.frames[i], w);
		if (!frames[n++])
			return GPC_OK;
	}
	return gpc_write(w, &s, frames, n);
}

static gpc_status look(struct python *p, struct py_target *t, struct gpc_writer *w)
{
	struct py_memory m = {p->host, t->target, NULL};
	uint64_t holders[PY_GILS_MAX];
	unsigned n = gpc_py_gil_holders(&m, &t->runtime, holders);

	for (unsigned i = 0; i < n; i++) {
		gpc_status st = sample(t, &m, holders[i], w);

		if (st < 0)
			return st;
	}
	return GPC_OK;
}

gpc_status gpc_py_push_tick(struct python *p, struct gpc_writer *w)
{
	uint64_t begin = p->host->now_ns(p->host);
	gpc_status st = GPC_OK;

	/* Over the budget: samples are left out, not caught up with. */
	if (begin < p->push.rests_until_ns)
		return GPC_OK;
	for (unsigned i = 0; i < p->n_targets && st == GPC_OK; i++)
		st = look(p, p->targets[i], w);
	p->push.rests_until_ns =
		begin + (p->host->now_ns(p->host) - begin) * 1000 / p->push.permille;
	return st;
}

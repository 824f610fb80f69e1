/* SPDX-License-Identifier: Apache-2.0 */
#include "join.h"

static bool is_loop(const struct py_target *t, const struct gpc_pull_sample *s, uint32_t i)
{
	/* A return address may be the first one after the function. */
	uint64_t at = s->native[i] - (i > 0);

	return at >= t->runtime.eval && at < t->runtime.eval_end;
}

/* The thread has not run on, and each C frame of the loop has one group of Python
 * frames: then they are each other's, from either end. */
void gpc_py_join(const struct py_target *t, const struct gpc_pull_sample *s,
		 const struct py_stack *stack, struct gpc_pull_out *out)
{
	uint32_t loops = 0, from = 0, n = 0;

	if (!(s->flags & GPC_PULL_EXACT) || !t->runtime.eval_end || stack->is_cut ||
	    stack->has_open_group)
		return;
	for (uint32_t i = 0; i < s->n_native; i++)
		loops += (uint32_t)is_loop(t, s, i);
	if (!loops || loops != stack->n_groups || loops > out->room_runs)
		return;
	for (uint32_t i = 0; i < s->n_native; i++) {
		if (!is_loop(t, s, i))
			continue;
		out->runs[n] = (struct gpc_pull_run){.frames_at = from,
						     .frames_n = stack->groups[n].end - from,
						     .native_at = i,
						     .native_n = 1};
		from = stack->groups[n++].end;
	}
	out->n_runs = n;
}

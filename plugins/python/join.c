/* SPDX-License-Identifier: Apache-2.0 */
#include "join.h"

static bool is_loop(const struct py_target *t, const struct gpc_pull_sample *s, uint32_t i)
{
	/* A return address may be the first one after the function. */
	uint64_t at = s->native[i] - (i > 0);

	for (unsigned k = 0; k < t->runtime.n_loop; k++)
		if (at >= t->runtime.loop[k].start && at < t->runtime.loop[k].end)
			return true;
	return false;
}

static uint32_t count_loops(const struct py_target *t, const struct gpc_pull_sample *s)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->n_native; i++)
		n += (uint32_t)is_loop(t, s, i);
	return n;
}

/* Each C frame of the loop has one group of Python frames: then they are each
 * other's, from either end. Where the native stack is cut there are groups
 * without their loop, from the root on. */
static bool is_proven(const struct gpc_pull_sample *s, const struct py_stack *stack, uint32_t loops)
{
	if (stack->is_cut || stack->has_open_group || !stack->n_groups)
		return false;
	if (s->flags & GPC_PULL_NATIVE_CUT)
		return loops <= stack->n_groups;
	return loops == stack->n_groups;
}

/* The thread has not run on, or nothing can be said of what belongs together. */
void gpc_py_join(const struct py_target *t, const struct gpc_pull_sample *s,
		 const struct py_stack *stack, struct gpc_pull_out *out)
{
	uint32_t loops = count_loops(t, s), from = 0, n = 0;

	if (!(s->flags & GPC_PULL_EXACT) || !t->runtime.n_loop || loops >= out->room_runs ||
	    !is_proven(s, stack, loops))
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
	if (from < out->n)
		out->runs[n++] = (struct gpc_pull_run){.frames_at = from,
						       .frames_n = out->n - from,
						       .native_at = s->n_native};
	out->n_runs = n;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "join.h"

static bool is_loop(const struct py_target *t, const struct gpc_pull_sample *s, uint32_t i)
{
	/* A return address may be the first one after the function. */
	uint64_t at = s->native[i] - (i > 0);
	const struct py_loop *l = &t->runtime.loop;

	for (unsigned k = 0; k < l->n; k++)
		if (at >= l->parts[k].start && at < l->parts[k].end)
			return true;
	return false;
}

/* What is told of the answer's frames so far. */
struct joining {
	const struct py_target *t;
	const struct gpc_pull_sample *s;
	const struct py_stack *stack;
	struct gpc_pull_out *out;
	uint32_t from, group, native; /* the next of each */
	uint32_t n;                   /* runs */
};

/* The next group is of native[i]. With tail calls the frame that it called is one of
 * the instructions, and the interpreter's as well. */
PY_HOT static bool put(struct joining *j, uint32_t i)
{
	bool has_callee = j->t->runtime.loop.has_tail_calls && i > j->native;
	uint32_t first = i - has_callee;

	/* One more is kept for what is left at the end. */
	if (i < j->native || j->n + 1 >= j->out->room_runs)
		return false;
	j->out->runs[j->n++] =
		(struct gpc_pull_run){.frames_at = j->from,
				      .frames_n = j->stack->groups[j->group].end - j->from,
				      .native_at = first,
				      .native_n = i + 1 - first};
	j->from = j->stack->groups[j->group++].end;
	j->native = i + 1;
	return true;
}

/* Frames without a native one go before the stack's root. */
static void end(struct joining *j)
{
	if (j->from < j->out->n)
		j->out->runs[j->n++] = (struct gpc_pull_run){.frames_at = j->from,
							     .frames_n = j->out->n - j->from,
							     .native_at = j->s->n_native};
	j->out->n_runs = j->n;
}

/* From 3.15 on a thread's list ends with a frame of the thread itself, in no call of
 * the loop and with nothing to show. */
static uint32_t count_groups(const struct py_stack *stack)
{
	uint32_t n = stack->n_groups;

	return n && stack->groups[n - 1].end == (n > 1 ? stack->groups[n - 2].end : 0) ? n - 1 : n;
}

static bool is_cut(const struct joining *j)
{
	return (j->s->flags & GPC_PULL_NATIVE_CUT) != 0;
}

/* From 3.11 on each group names an address within its call's C frame; the native
 * frame that it lies in is the loop, wherever its code is. False: that does not say. */
static bool by_place(struct joining *j)
{
	const struct gpc_pull_sample *s = j->s;
	uint32_t i = 0, groups = count_groups(j->stack);

	if (!GPC_HAS(s, native_sp) || !s->native_sp)
		return false;
	while (j->group < groups) {
		uint64_t at = j->stack->groups[j->group].c_stack;

		while (i < s->n_native && s->native_sp[i] && s->native_sp[i] <= at)
			i++;
		if (!at || at < (i ? s->native_sp[i - 1] : s->sp))
			return false;
		if (i == s->n_native)
			break; /* above what is known */
		/* The last frame that is known, of which it is not known where it ends. */
		if (!s->native_sp[i]) {
			if (is_loop(j->t, s, i))
				(void)put(j, i);
			break;
		}
		if (!put(j, i))
			return false;
	}
	return j->from == j->out->n || is_cut(j);
}

static uint32_t count_loops(const struct joining *j)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < j->s->n_native; i++)
		n += (uint32_t)is_loop(j->t, j->s, i);
	return n;
}

/* Each C frame of the loop has one group of Python frames: then they are each
 * other's, from either end. Where the native stack is cut there are groups
 * without their loop, from the root on. */
static bool by_number(struct joining *j)
{
	uint32_t loops = count_loops(j), groups = count_groups(j->stack);

	if (!j->t->runtime.loop.n || (is_cut(j) ? loops > groups : loops != groups))
		return false;
	for (uint32_t i = 0; i < j->s->n_native; i++)
		if (is_loop(j->t, j->s, i) && !put(j, i))
			return false;
	return true;
}

/* Does a call of the loop have this frame object? It keeps its address in a register,
 * which functions that it calls may have saved, or in its own part of the stack. */
static bool holds(const struct gpc_pull_sample *s, uint32_t i, uint64_t frame)
{
	uint64_t end = s->native_sp[i] - s->sp, word;

	for (uint32_t k = 0; k < s->n_regs && s->regs; k++)
		if (s->regs[k] == frame)
			return true;
	if (s->native_sp[i] < s->sp || end > s->stack_bytes)
		return false;
	for (uint64_t at = 0; at + sizeof word <= end; at += sizeof word) {
		memcpy(&word, s->stack + at, sizeof word);
		if (word == frame)
			return true;
	}
	return false;
}

/* To 3.10, where numbers differ: loops of another greenlet or interpreter stand
 * above, or the innermost one has not begun with its frame. */
static bool by_frame(struct joining *j)
{
	const struct gpc_pull_sample *s = j->s;

	if (!GPC_HAS(s, native_sp) || !s->native_sp)
		return false;
	for (uint32_t i = 0; i < s->n_native && j->group < j->stack->n_groups; i++) {
		uint64_t frame = j->stack->groups[j->group].frame;

		if (!is_loop(j->t, s, i))
			continue;
		if (!frame || !s->native_sp[i])
			return false;
		if (holds(s, i, frame) && !put(j, i))
			return false;
	}
	return j->from == j->out->n;
}

/* The thread has not run on, or nothing can be said of what belongs together. */
PY_HOT void gpc_py_join(const struct py_target *t, const struct gpc_pull_sample *s,
			const struct py_stack *stack, struct gpc_pull_out *out)
{
	struct joining place = {t, s, stack, out, 0, 0, 0, 0}, number = place, frame = place;

	if (!(s->flags & GPC_PULL_EXACT) || stack->is_cut || stack->has_open_group ||
	    !stack->n_groups)
		return;
	if (by_place(&place))
		end(&place);
	else if (by_number(&number))
		end(&number);
	else if (by_frame(&frame))
		end(&frame);
}

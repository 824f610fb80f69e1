/* SPDX-License-Identifier: Apache-2.0 */
/* What the ways through a method's code tell of an instruction. */
#include <stddef.h>
#include <string.h>

#include "code.h"
#include "flow.h"

#define NONE      GPC_JAVA_FLOW_NONE
#define PARTS_MAX 5

/* ---- what follows ------------------------------------------------------------------------- */

/* The next instruction with a scope on the way that code is laid out for; within loop, if
 * it is not NULL. */
static uint32_t next_scope(const struct flow *f, uint32_t i, const struct flow_loop *loop)
{
	for (uint32_t steps = 0; steps <= f->n && i < f->n; steps++) {
		const struct flow_insn *in = &f->insns[i];
		uint32_t next = gpc_java_flow_falls(in) ? i + 1 : in->to;

		if (loop && !gpc_java_flow_in(loop, i))
			return NONE;
		if (in->scope)
			return i;
		if (loop && in->kind == FLOW_BRANCH &&
		    (next >= f->n || !gpc_java_flow_in(loop, next)))
			next = in->to;
		i = next;
	}
	return NONE;
}

static uint32_t scope_at(const struct flow *f, uint32_t i)
{
	return i == NONE ? 0 : f->insns[i].scope;
}

/* ---- which loops ------------------------------------------------------------------------ */

/* The smallest loop around an instruction that is larger than so many. */
static const struct flow_loop *loop_around(const struct flow *f, uint32_t insn, uint32_t larger)
{
	const struct flow_loop *found = NULL;

	for (uint32_t k = 0; k < f->n_loops; k++) {
		const struct flow_loop *l = &f->loops[k];

		if (l->n > larger && gpc_java_flow_in(l, insn) && (!found || l->n < found->n))
			found = l;
	}
	return found;
}

/* The smallest loop that i is in and l, which i leads to, is not. */
static const struct flow_loop *other_loop(const struct flow *f, const struct flow_loop *l,
					  uint32_t i)
{
	const struct flow_loop *found = NULL;

	for (uint32_t k = 0; k < f->n_loops; k++) {
		const struct flow_loop *other = &f->loops[k];

		if (gpc_java_flow_in(other, i) && !gpc_java_flow_in(other, l->head) &&
		    (!found || other->n < found->n))
			found = other;
	}
	return found;
}

/* ---- loops without a scope --------------------------------------------------------------------
 */

static void take_scope(struct flow_answer *a, uint32_t scope)
{
	for (uint32_t i = 0; i < a->n; i++)
		if (a->scopes[i] == scope)
			return;
	if (a->n == GPC_JAVA_FLOW_SCOPES)
		a->is_more = true;
	else
		a->scopes[a->n++] = scope;
}

/* From a loop on, up to the next scopes. What was come by is marked as seen only. */
static void search_around(struct flow *f, const struct flow_loop *l, struct flow_answer *a,
			  bool is_back)
{
	struct flow_search s = {.f = f};

	memset(f->marks, 0, f->n);
	for (uint32_t i = 0; i < f->n; i++)
		if (gpc_java_flow_in(l, i))
			gpc_java_flow_push(&s, i);
	for (; s.next < s.n; s.next++) {
		uint32_t i = f->queue[s.next];

		if (f->insns[i].scope) {
			take_scope(a, f->insns[i].scope);
			continue;
		}
		a->is_more |= is_back && i == 0;
		if (is_back)
			gpc_java_flow_before(&s, i);
		else
			gpc_java_flow_behind(&s, i);
	}
}

/* The registers that a loop counts with: compared where it is left, and written in it. */
static uint32_t counters(const struct flow *f, const struct flow_loop *l)
{
	uint32_t compared = 0, written = 0;

	for (uint32_t i = 1; i < f->n; i++) {
		const struct flow_insn *in = &f->insns[i], *before = in - 1;

		if (!gpc_java_flow_in(l, i))
			continue;
		written |= gpc_java_code_writes(f->code + in->at, in->len);
		if (in->kind == FLOW_BRANCH && in->to != NONE && i + 1 < f->n &&
		    !(gpc_java_flow_in(l, i + 1) && gpc_java_flow_in(l, in->to)))
			compared |= gpc_java_code_compared(f->code + before->at, before->len);
	}
	return compared & written;
}

/* The loop before it that counts on with the same register: of one loop the compiler
 * makes several, one behind the other (OpenJDK opto/loopTransform.cpp,
 * insert_pre_post_loops). NULL: none. */
static const struct flow_loop *part_before(struct flow *f, const struct flow_loop *l)
{
	struct flow_search s = {.f = f};
	uint32_t counter = counters(f, l);

	memset(f->marks, 0, f->n);
	f->marks[l->head] = 1;
	gpc_java_flow_before(&s, l->head);
	for (; counter && s.next < s.n; s.next++) {
		uint32_t i = f->queue[s.next];
		const struct flow_insn *in = &f->insns[i];
		const struct flow_loop *other = other_loop(f, l, i);

		if (other)
			return counters(f, other) & counter ? other : NULL;
		if (!gpc_java_flow_in(l, i) && !in->scope &&
		    !(gpc_java_code_writes(f->code + in->at, in->len) & counter))
			gpc_java_flow_before(&s, i);
	}
	return NULL;
}

/* All that lies between the loop and its guards is other parts of it. */
static bool is_guarded(struct flow *f, const struct flow_loop *l)
{
	for (int parts = 0; l && parts < PARTS_MAX; parts++) {
		struct flow_answer a = {0};
		bool is_first = true;

		search_around(f, l, &a, true);
		for (uint32_t i = 0; i < f->n; i++) {
			const struct flow_insn *in = &f->insns[i];

			if (!f->marks[i] || gpc_java_flow_in(l, i))
				continue;
			is_first = is_first && !other_loop(f, l, i);
			if (in->scope && !(in->is_branch && f->loop_reasons >> in->reason & 1))
				return false;
		}
		if (is_first)
			return true;
		l = part_before(f, l);
	}
	return false;
}

static bool is_poll(const struct flow *f, const struct flow_insn *in)
{
	return in->kind == FLOW_ON && gpc_java_code_is_poll(f->code + in->at, in->len);
}

/* A poll tells the method of all that its loop does, or one that calls it. The nearest
 * loop around l that has one: where a loop is executed in strips there is one around it
 * for nothing else (OpenJDK opto/loopnode.hpp, OuterStripMinedLoopNode). */
static uint32_t poll_around(const struct flow *f, const struct flow_loop *l)
{
	const struct flow_loop *outer = l;

	while ((outer = loop_around(f, l->head, outer->n)))
		for (uint32_t i = 0; outer->has_scope && i < f->n; i++) {
			const struct flow_insn *in = &f->insns[i];

			if (in->scope && is_poll(f, in) && gpc_java_flow_in(outer, i) &&
			    !other_loop(f, l, i))
				return in->scope;
		}
	return 0;
}

void gpc_java_flow_ask(struct flow *f, uint32_t insn, struct flow_answer *ret)
{
	const struct flow_loop *l = loop_around(f, insn, 0);

	*ret = (struct flow_answer){0};
	if (!l || l->has_scope) {
		ret->own = scope_at(f, next_scope(f, insn, l));
		return;
	}
	search_around(f, l, ret, true);
	ret->n_before = ret->n;
	search_around(f, l, ret, false);
	ret->is_guarded = ret->n_before && !ret->is_more && is_guarded(f, l);
	ret->around = poll_around(f, l);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "flow.h"

#include <stdlib.h>
#include <string.h>

#include "code.h"

#define NONE       GPC_JAVA_FLOW_NONE
#define LOOPS_MAX  128
#define STUB_STEPS 64 /* instructions from a branch to the trap's call */

/* ---- instructions ---------------------------------------------------------------------- */

static enum flow_kind kind_of(const uint8_t *code, uint32_t len)
{
	uint32_t i = 0;

	if (len == 6 && code[0] == 0x0f && (code[1] & 0xf0) == 0x80)
		return FLOW_BRANCH;
	if (len == 2 && (code[0] & 0xf0) == 0x70)
		return FLOW_BRANCH;
	if ((len == 5 && code[0] == 0xe9) || (len == 2 && code[0] == 0xeb))
		return FLOW_JUMP;
	if (len == 5 && code[0] == 0xe8)
		return FLOW_CALL;
	while (i + 1 < len && ((code[i] & 0xf0) == 0x40 || code[i] == 0x66 || code[i] == 0xf3))
		i++;
	if (code[i] == 0xff && i + 1 < len)
		return (code[i + 1] & 0x38) == 0x10   ? FLOW_CALL
		       : (code[i + 1] & 0x38) == 0x20 ? FLOW_END
						      : FLOW_ON;
	return code[i] == 0xc3 || code[i] == 0xc2 || code[i] == 0xf4 || code[i] == 0xcc ||
			       (code[i] == 0x0f && i + 1 < len && code[i + 1] == 0x0b)
		       ? FLOW_END
		       : FLOW_ON;
}

/* Where an instruction with a relative operand at its end leads. */
static int64_t target_of(const uint8_t *code, uint32_t at, uint32_t len)
{
	int32_t far;

	if (len == 2)
		return (int64_t)at + 2 + (int8_t)code[at + 1];
	memcpy(&far, code + at + len - 4, sizeof far);
	return (int64_t)at + len + far;
}

uint32_t gpc_java_flow_find(const struct flow *f, uint32_t offset)
{
	uint32_t from = 0, to = f->n;

	while (from < to) {
		uint32_t mid = from + (to - from) / 2;

		if (f->insns[mid].at < offset)
			from = mid + 1;
		else
			to = mid;
	}
	return from < f->n && f->insns[from].at == offset ? from : NONE;
}

/* The number of instructions, into f when it has room. */
static uint32_t decode(const uint8_t *code, uint32_t n, int64_t trap, struct flow_insn *ret)
{
	uint32_t k = 0, len;

	for (uint32_t at = 0; at < n; at += len, k++) {
		struct flow_insn i = {.at = at, .to = NONE};

		len = gpc_java_code_length(code + at, n - at);
		if (!len)
			break;
		if (!ret)
			continue;
		i.len = (uint8_t)len;
		i.kind = (uint8_t)kind_of(code + at, len);
		if (i.kind == FLOW_CALL && code[at] == 0xe8 && target_of(code, at, len) == trap)
			i.kind = FLOW_TRAP;
		ret[k] = i;
	}
	return k;
}

static void take_entries(struct flow *f, const struct flow_entry *entries, uint32_t n)
{
	uint32_t k = 0;

	for (uint32_t i = 0; i < f->n; i++) {
		struct flow_insn *in = &f->insns[i];
		bool is_call = in->kind == FLOW_CALL || in->kind == FLOW_TRAP;
		uint32_t wanted = is_call ? in->at + in->len : in->at;

		/* One at a call's end is not of the instruction that begins there. */
		while (k < n && (entries[k].offset < 0 || (uint32_t)entries[k].offset < wanted))
			k++;
		if (k == n || (uint32_t)entries[k].offset != wanted)
			continue;
		in->scope = entries[k++].scope;
	}
}

/* A trap's call has its reason and what to do in esi, when no class is meant (OpenJDK
 * runtime/deoptimization.hpp, make_trap_request). */
static uint8_t reason_of(const uint8_t *code, uint32_t len, uint8_t before)
{
	int32_t request;

	if (len != 5 || code[0] != 0xbe)
		return before;
	memcpy(&request, code + 1, sizeof request);
	return request < 0 ? (uint8_t)(~request >> 3 & 31) : 0;
}

/* The scope of the trap that a branch leads to, over moves and jumps; 0: to none. */
static uint32_t trap_from(const struct flow *f, uint32_t i, uint8_t *reason)
{
	*reason = 0;
	for (int step = 0; step < STUB_STEPS && i < f->n; step++) {
		const struct flow_insn *in = &f->insns[i];

		if (in->kind == FLOW_TRAP)
			return in->scope;
		if (in->kind == FLOW_CALL || in->kind == FLOW_END || in->scope)
			return 0;
		*reason = reason_of(f->code + in->at, in->len, *reason);
		i = in->kind == FLOW_JUMP ? in->to : i + 1;
	}
	return 0;
}

/* The two ways of a trap's own comparisons meet again before its call. */
static void take_guards(struct flow *f)
{
	for (uint32_t i = 0; i < f->n; i++) {
		struct flow_insn *in = &f->insns[i];
		uint32_t scope;
		uint8_t reason;

		if (in->kind != FLOW_BRANCH || in->to == NONE || trap_from(f, i + 1, &reason))
			continue;
		scope = trap_from(f, in->to, &reason);
		if (!scope)
			continue;
		in->scope = scope;
		in->reason = reason;
		in->is_branch = true;
	}
}

static void sift(const struct flow *f, uint32_t at, uint32_t n)
{
	for (;;) {
		uint32_t child = 2 * at + 1, t;

		if (child >= n)
			return;
		if (child + 1 < n &&
		    f->insns[f->sources[child]].to < f->insns[f->sources[child + 1]].to)
			child++;
		if (f->insns[f->sources[at]].to >= f->insns[f->sources[child]].to)
			return;
		t = f->sources[at];
		f->sources[at] = f->sources[child];
		f->sources[child] = t;
		at = child;
	}
}

static void sort_sources(const struct flow *f)
{
	for (uint32_t i = f->n_sources / 2; i-- > 0;)
		sift(f, i, f->n_sources);
	for (uint32_t n = f->n_sources; n-- > 1;) {
		uint32_t t = f->sources[0];

		f->sources[0] = f->sources[n];
		f->sources[n] = t;
		sift(f, 0, n);
	}
}

static void take_jumps(struct flow *f)
{
	const struct flow_insn *last = &f->insns[f->n - 1];

	for (uint32_t i = 0; i < f->n; i++) {
		struct flow_insn *in = &f->insns[i];
		int64_t to;

		if (in->kind != FLOW_BRANCH && in->kind != FLOW_JUMP)
			continue;
		to = target_of(f->code, in->at, in->len);
		if (to >= 0 && to <= last->at)
			in->to = gpc_java_flow_find(f, (uint32_t)to);
		if (in->to != NONE)
			f->sources[f->n_sources++] = i;
		else if (in->kind == FLOW_JUMP)
			in->kind = FLOW_END;
	}
	sort_sources(f);
}

/* ---- ways ---------------------------------------------------------------------------------- */

/* The first of the sources that jump to i, or behind. */
static uint32_t first_source(const struct flow *f, uint32_t i)
{
	uint32_t from = 0, to = f->n_sources;

	while (from < to) {
		uint32_t mid = from + (to - from) / 2;

		if (f->insns[f->sources[mid]].to < i)
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

void gpc_java_flow_push(struct flow_search *s, uint32_t i)
{
	if (s->f->marks[i] & 1)
		return;
	s->f->marks[i] |= 1;
	s->f->queue[s->n++] = i;
}

void gpc_java_flow_before(struct flow_search *s, uint32_t i)
{
	const struct flow *f = s->f;

	if (i && gpc_java_flow_falls(&f->insns[i - 1]))
		gpc_java_flow_push(s, i - 1);
	for (uint32_t k = first_source(f, i); k < f->n_sources; k++) {
		if (f->insns[f->sources[k]].to != i)
			break;
		gpc_java_flow_push(s, f->sources[k]);
	}
}

void gpc_java_flow_behind(struct flow_search *s, uint32_t i)
{
	const struct flow_insn *in = &s->f->insns[i];

	if (gpc_java_flow_falls(in) && i + 1 < s->f->n)
		gpc_java_flow_push(s, i + 1);
	if (in->to != NONE)
		gpc_java_flow_push(s, in->to);
}

/* ---- loops ------------------------------------------------------------------------------- */

struct edge {
	uint32_t from, to;
};

static uint32_t successors(const struct flow *f, uint32_t i, uint32_t ret[2])
{
	const struct flow_insn *in = &f->insns[i];
	uint32_t n = 0;

	if (gpc_java_flow_falls(in) && i + 1 < f->n)
		ret[n++] = i + 1;
	if (in->to != NONE)
		ret[n++] = in->to;
	return n;
}

struct edges {
	struct edge at[LOOPS_MAX];
	uint32_t n;
};

enum { FRESH, FIRST, SECOND, DONE }; /* how many successors were gone to */

/* Edges to where the way to them came by: each closes a loop. */
static void follow(struct flow *f, uint32_t from, struct edges *ret)
{
	uint32_t depth = 1;

	f->queue[0] = from;
	f->marks[from] = FIRST;
	while (depth) {
		uint32_t i = f->queue[depth - 1], to[2], k = f->marks[i] - FIRST;

		if (k >= successors(f, i, to)) {
			f->marks[i] = DONE;
			depth--;
			continue;
		}
		f->marks[i]++;
		if (f->marks[to[k]] == FRESH) {
			f->marks[to[k]] = FIRST;
			f->queue[depth++] = to[k];
		} else if (f->marks[to[k]] != DONE && ret->n < LOOPS_MAX) {
			ret->at[ret->n++] = (struct edge){i, to[k]};
		}
	}
}

/* From the method's begin, and from what no jump leads to: handlers of exceptions. */
static void find_backs(struct flow *f, struct edges *ret)
{
	memset(f->marks, FRESH, f->n);
	for (uint32_t i = 0; i < f->n; i++)
		if (f->marks[i] == FRESH)
			follow(f, i, ret);
}

/* The loop with this head; a new one, if there is none. NULL: no room. */
static struct flow_loop *loop_of(struct flow *f, uint32_t head)
{
	struct flow_loop *l = f->loops;

	for (; l < f->loops + f->n_loops; l++)
		if (l->head == head)
			return l;
	l->has = calloc(f->n / 8 + 1, 1);
	if (!l->has)
		return NULL;
	l->head = head;
	f->n_loops++;
	return l;
}

/* All that leads to the edge without passing its head. What the method's begin leads to so
 * is not one loop. */
static void take_loop(struct flow *f, struct edge back)
{
	struct flow_search s = {.f = f};
	struct flow_loop *l;
	bool is_loop = true;

	memset(f->marks, 0, f->n);
	f->marks[back.to] = 1;
	gpc_java_flow_push(&s, back.from);
	for (; s.next < s.n && is_loop; s.next++) {
		is_loop = f->queue[s.next] != 0;
		gpc_java_flow_before(&s, f->queue[s.next]);
	}
	l = is_loop ? loop_of(f, back.to) : NULL;
	for (uint32_t i = 0; l && i < f->n; i++) {
		if (!f->marks[i] || gpc_java_flow_in(l, i))
			continue;
		l->has[i / 8] |= (uint8_t)(1u << i % 8);
		l->n++;
		l->has_scope |= f->insns[i].scope != 0;
	}
}

static bool take_loops(struct flow *f)
{
	struct edges backs = {.n = 0};

	find_backs(f, &backs);
	f->loops = calloc(backs.n + 1, sizeof *f->loops);
	for (uint32_t i = 0; f->loops && i < backs.n; i++)
		take_loop(f, backs.at[i]);
	return f->loops != NULL;
}

/* ---- the whole ----------------------------------------------------------------------------- */

bool gpc_java_flow_init(struct flow *f, const uint8_t *code, uint32_t n,
			const struct flow_tables *tables)
{
	*f = (struct flow){.code = code, .loop_reasons = tables->loop_reasons};
	if (n > GPC_JAVA_FLOW_BYTES)
		return false;
	f->n = decode(code, n, tables->trap, NULL);
	if (!f->n)
		return false;
	f->insns = malloc(f->n * sizeof *f->insns);
	f->sources = malloc(f->n * sizeof *f->sources);
	f->queue = malloc(f->n * sizeof *f->queue);
	f->marks = malloc(f->n);
	if (!f->insns || !f->sources || !f->queue || !f->marks)
		return false;
	decode(code, n, tables->trap, f->insns);
	take_entries(f, tables->entries, tables->n);
	take_jumps(f);
	take_guards(f);
	return take_loops(f);
}

void gpc_java_flow_deinit(struct flow *f)
{
	for (uint32_t i = 0; i < f->n_loops; i++)
		free(f->loops[i].has);
	free(f->loops);
	free(f->insns);
	free(f->sources);
	free(f->queue);
	free(f->marks);
	*f = (struct flow){0};
}

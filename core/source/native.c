/* SPDX-License-Identifier: Apache-2.0 */
#include "source/native.h"

#include "base/hot.h"
#include "source/frames.h"
#include "source/regs.h"

#define CHAIN_MAX 512 /* kernel.perf_event_max_stack is 127 by default */

#define HELD (sizeof(((struct gpc_native *)0)->held) / sizeof(((struct gpc_native *)0)->held[0]))

GPC_HOT static enum gpc_code_state hold(struct gpc_native *n, uint32_t image,
					const struct gpc_unwind_table **ret)
{
	size_t i = image % HELD;
	enum gpc_code_state state;

	if (n->held[i].image == image) {
		*ret = n->held[i].table;
		return GPC_CODE_KNOWN;
	}
	state = gpc_unwind_tables_get(n->tables, image, ret);
	if (state != GPC_CODE_KNOWN)
		return state;
	if (n->held[i].image)
		gpc_unwind_tables_put(n->tables, n->held[i].image);
	n->held[i].image = image;
	n->held[i].table = *ret;
	return state;
}

GPC_HOT void gpc_native_let_go(struct gpc_native *n, uint32_t image)
{
	size_t i = image % HELD;

	if (!image || n->held[i].image != image)
		return;
	gpc_unwind_tables_put(n->tables, image);
	n->held[i].image = 0;
}

void gpc_native_rest(struct gpc_native *n)
{
	for (size_t i = 0; i < HELD; i++)
		gpc_native_let_go(n, n->held[i].image);
}

_Static_assert(GPC_NATIVE_RULES == UINT8_MAX + 1, "a place has a number of eight bits");

GPC_HOT static void expect_the_same(struct gpc_native_rules *recent)
{
	for (unsigned i = 0; i < recent->n_met; i++)
		__builtin_prefetch(&recent->at[recent->met[i]]);
	recent->n_met = 0;
}

GPC_HOT static void learn(struct gpc_native_place *place, const struct gpc_code *code)
{
	const struct gpc_packed_rule *rule;

	place->has_rule = true;
	place->rule = gpc_unwind_table_number(code->table, code->vaddr);
	rule = gpc_unwind_table_rule(code->table, place->rule);
	place->has_words =
		rule && sizeof *rule + rule->n * sizeof *rule->reg <= sizeof place->words;
	if (place->has_words)
		memcpy(place->words, rule, sizeof *rule + rule->n * sizeof *rule->reg);
}

GPC_HOT const struct gpc_packed_rule *gpc_native_rule(void *ctx, const struct gpc_code *code)
{
	struct gpc_native_rules *recent = ((struct gpc_native_look *)ctx)->n->recent;
	struct gpc_native_place *place = code->known;

	if (!place)
		return gpc_unwind_table_find(code->table, code->vaddr);
	if (recent->n_met < GPC_NATIVE_MET)
		recent->met[recent->n_met++] = (uint8_t)(place - recent->at);
	if (!place->has_rule)
		learn(place, code);
	return place->has_words ? (const void *)place->words
				: gpc_unwind_table_rule(code->table, place->rule);
}

/* Code may have been replaced since the file was read: it is to be read after the sample
 * was taken. Once for a sample. */
static bool is_stale(struct gpc_native_look *l)
{
	if (!l->jit_is_checked)
		l->jit_is_stale = gpc_unwind_tables_renew(l->n->tables, l->jit, l->taken_ns);
	l->jit_is_checked = true;
	return l->jit_is_stale;
}

/* Without a file behind it: what the process made, and may tell of. */
static enum gpc_code_state find_made(struct gpc_native_look *l, uint64_t address,
				     struct gpc_code *ret)
{
	enum gpc_code_state state = l->jit          ? hold(l->n, l->jit, &ret->table)
				    : l->awaits_jit ? GPC_CODE_WAITING
						    : GPC_CODE_PLAIN;

	if (state != GPC_CODE_KNOWN)
		return state;
	if (is_stale(l) && !l->is_last)
		return GPC_CODE_WAITING;
	ret->vaddr = address;
	ret->known = NULL;
	return gpc_unwind_table_find(ret->table, address) ? GPC_CODE_KNOWN : GPC_CODE_PLAIN;
}

/* The table of an image is the same whenever it is built, as its file is. That of code
 * which a process makes is not, and is not kept. False: there is no code. */
GPC_HOT static bool find_place(struct gpc_native_rules *recent, uint32_t image, uint64_t offset,
			       struct gpc_code *ret)
{
	uint64_t hash = (offset + image) * UINT64_C(0x9E3779B97F4A7C15);
	struct gpc_native_place *place = &recent->at[(uint8_t)(hash >> 40)];

	ret->known = place;
	ret->vaddr = place->vaddr;
	if (place->image == image && place->offset == offset)
		return true;
	if (!gpc_unwind_table_vaddr(ret->table, offset, &ret->vaddr))
		return false;
	place->image = image;
	place->offset = offset;
	place->vaddr = ret->vaddr;
	place->has_rule = false;
	return true;
}

GPC_HOT static enum gpc_code_state of_image(struct gpc_native_look *l, const struct gpc_area *a,
					    uint64_t address, struct gpc_code *ret)
{
	uint32_t image = a->kind == GPC_AREA_VDSO ? GPC_UNWIND_VDSO : a->image;
	uint64_t offset = address - a->start + a->offset;
	enum gpc_code_state state;
	bool is_code;

	if (!image)
		return GPC_CODE_PLAIN;
	state = hold(l->n, image, &ret->table);
	if (state != GPC_CODE_KNOWN)
		return state;
	ret->known = NULL;
	is_code = l->n->recent ? find_place(l->n->recent, image, offset, ret)
			       : gpc_unwind_table_vaddr(ret->table, offset, &ret->vaddr);
	return is_code ? GPC_CODE_KNOWN : GPC_CODE_PLAIN;
}

GPC_HOT enum gpc_code_state gpc_native_find(void *ctx, uint64_t address, struct gpc_code *ret)
{
	struct gpc_native_look *l = ctx;
	const struct gpc_area *a = l->last;
	enum gpc_code_state state;

	if (!a || address < a->start || address >= a->end)
		a = l->last = gpc_space_find(l->space, address);
	if (!a)
		return GPC_CODE_NOWHERE;
	state = a->kind == GPC_AREA_ANON ? find_made(l, address, ret)
					 : of_image(l, a, address, ret);
	if (state == GPC_CODE_WAITING && l->is_last) {
		l->is_blind = true;
		return GPC_CODE_PLAIN;
	}
	return state;
}

/* ---- the kernel's chain ----------------------------------------------------------- */

struct stack {
	uint32_t n;
	bool is_complete;
	uint64_t *frames;
};

/* Does the frame at this place have no caller, by its table? */
static bool is_root(struct gpc_native_look *l, uint64_t place)
{
	struct gpc_code code = {0};
	const struct gpc_packed_rule *rule;

	if (gpc_native_find(l, place, &code) != GPC_CODE_KNOWN)
		return false;
	rule = gpc_native_rule(l, &code);
	for (uint32_t i = 0; rule && i < rule->n; i++)
		if (gpc_rule_reg(rule->reg[i]) == rule->ra)
			return gpc_rule_kind(rule->reg[i]) == GPC_RULE_UNDEFINED;
	return false;
}

/* Its user part, as far as it lies in code. */
static void take_chain(struct gpc_native_look *l, const struct gpc_perf_sample *s,
		       struct stack *ret)
{
	bool is_user = false;
	uint32_t i = 0;

	ret->n = 0;
	for (; i < s->n_ips && ret->n < CHAIN_MAX; i++) {
		uint64_t ip = s->ips[i];
		struct gpc_code code;

		if (ip >= (uint64_t)PERF_CONTEXT_MAX) {
			is_user = ip == (uint64_t)PERF_CONTEXT_USER;
			continue;
		}
		if (!is_user)
			continue;
		if (ret->n && (!ip || gpc_native_find(l, ip - 1, &code) == GPC_CODE_NOWHERE))
			break;
		ret->frames[ret->n] = ret->n ? ip - 1 : ip;
		ret->n++;
	}
	ret->is_complete = i == s->n_ips && ret->n > 1 && is_root(l, ret->frames[ret->n - 1]);
}

/* At most so many frames can be taken from it. */
static uint32_t longest_chain(const struct gpc_perf_sample *s)
{
	bool is_user = false;
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->n_ips; i++) {
		if (s->ips[i] >= (uint64_t)PERF_CONTEXT_MAX)
			is_user = s->ips[i] == (uint64_t)PERF_CONTEXT_USER;
		else
			n += is_user;
	}
	return n;
}

/* ---- both ------------------------------------------------------------------------- */

static bool is_better(const struct stack *a, const struct stack *b)
{
	if (a->is_complete != b->is_complete)
		return a->is_complete;
	return a->n > b->n;
}

GPC_HOT static void end(struct gpc_native *n, const struct stack *s, struct gpc_pulled *ret)
{
	uint32_t room = GPC_PULLED_MAX;

	ret->n = s->n < room ? s->n : room;
	if (s->frames != ret->frames)
		memcpy(ret->frames, s->frames, ret->n * sizeof *ret->frames);
	/* Only the first need not lie in code: it may look like the number of a name. */
	if (ret->n && ret->frames[0] >> 56)
		ret->frames[0] = 0;
	if (s->is_complete) {
		n->stats.complete++;
		return;
	}
	if (ret->n == room)
		ret->n--;
	ret->frames[ret->n++] = GPC_RAW_CUT;
}

GPC_HOT enum gpc_native_answer gpc_native_unwind(struct gpc_native *n,
						 const struct gpc_native_question *q,
						 struct gpc_pulled *ret)
{
	const struct gpc_perf_sample *s = q->sample;
	struct gpc_native_look l = {.n = n,
				    .space = q->space,
				    .jit = q->jit,
				    .awaits_jit = q->awaits_jit,
				    .taken_ns = q->taken_ns,
				    .is_last = q->is_last};
	struct gpc_unwind_view v = {.arch = gpc_unwind_arch_here(),
				    .find = gpc_native_find,
				    .rule = gpc_native_rule,
				    .ctx = &l,
				    .sps = n->sps};
	struct gpc_unwind_regs regs;
	enum gpc_unwind_result result;
	uint64_t chain_frames[CHAIN_MAX];
	struct stack mine = {.frames = ret->frames}, chain = {.frames = chain_frames};

	/* Of a process that is gone before its mappings were read nothing is known. */
	if (q->mode == GPC_UNWIND_FP || !s->n_regs || !q->space->n)
		return GPC_NATIVE_CHAIN;
	if (n->recent)
		expect_the_same(n->recent);
	gpc_regs_unwind(s->regs, &regs);
	v.mem.start = regs.r[v.arch->sp];
	v.mem.bytes = s->stack;
	v.mem.n = s->stack_bytes;
	result = gpc_unwind_walk(&v, &regs, mine.frames, GPC_PULLED_MAX, &mine.n);
	if (result == GPC_UNWIND_WAITING)
		return GPC_NATIVE_LATER;
	mine.is_complete = result == GPC_UNWIND_END;
	n->stats.samples++;
	n->stats.blind += l.is_blind;
	n->stats.frames += mine.n;
	n->stats.cut_short += result == GPC_UNWIND_SHORT;
	if (q->mode == GPC_UNWIND_SMART && (!mine.is_complete || longest_chain(s) > mine.n))
		take_chain(&l, s, &chain);
	n->is_chain = is_better(&chain, &mine);
	n->stats.chains += n->is_chain;
	end(n, n->is_chain ? &chain : &mine, ret);
	return GPC_NATIVE_DONE;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/step.h"

#include "base/hot.h"
#include "unwind/bottom.h"
#include "unwind/expr.h"

#define NO_PLACE  UINT64_MAX
#define FRAME_MAX (1u << 20) /* bytes between frame pointers; no real frame is larger */

static bool has(const struct gpc_unwind_regs *regs, uint32_t reg)
{
	return reg < GPC_UNWIND_REGS && regs->valid >> reg & 1;
}

static void set(struct gpc_unwind_regs *regs, uint32_t reg, uint64_t value)
{
	regs->r[reg] = value;
	regs->valid |= UINT64_C(1) << reg;
}

struct frame {
	struct gpc_unwind_view *v;
	const struct gpc_rules *rules;
	const struct gpc_packed_rule *rule;
	const struct gpc_unwind_regs *regs;
	uint64_t cfa;
};

GPC_HOT static bool run_expr(const struct frame *f, int32_t expr, const uint64_t *first,
			     uint64_t *ret)
{
	uint32_t left = GPC_UNWIND_OPERATIONS - f->v->operations;
	struct gpc_expr e = {.arch = f->v->arch, .regs = f->regs, .mem = &f->v->mem, .left = &left};
	bool is_known;

	e.ops = gpc_rules_expr(f->rules, expr, &e.n);
	is_known = gpc_expr_run(&e, first, ret);
	f->v->operations = GPC_UNWIND_OPERATIONS - left;
	return is_known;
}

GPC_HOT static bool find_cfa(struct frame *f)
{
	const struct gpc_packed_rule *rule = f->rule;

	if (rule->flags & GPC_RULE_CFA_EXPR)
		return run_expr(f, rule->cfa, NULL, &f->cfa);
	if (!has(f->regs, rule->cfa_reg))
		return false;
	f->cfa = f->regs->r[rule->cfa_reg] + (uint64_t)(int64_t)rule->cfa;
	return true;
}

/* The value that a rule gives. False: there is none. */
GPC_HOT static bool apply(const struct frame *f, uint32_t word, uint64_t *ret)
{
	int32_t value = gpc_rule_value(word);
	uint64_t at = f->cfa + (uint64_t)(int64_t)value;

	switch (gpc_rule_kind(word)) {
	case GPC_RULE_AT:
		return gpc_unwind_word(&f->v->mem, at, ret);
	case GPC_RULE_IS:
		*ret = at;
		return true;
	case GPC_RULE_REGISTER:
		if (value < 0 || !has(f->regs, (uint32_t)value))
			return false;
		*ret = f->regs->r[value];
		return true;
	case GPC_RULE_AT_EXPR:
		return run_expr(f, value, &f->cfa, &at) && gpc_unwind_word(&f->v->mem, at, ret);
	case GPC_RULE_IS_EXPR:
		return run_expr(f, value, &f->cfa, ret);
	default:
		return false;
	}
}

/* The caller's registers but pc. *ra: the rule of the return address, 0: none. */
GPC_HOT static void restore(const struct frame *f, struct gpc_unwind_regs *next, uint32_t *ra)
{
	const struct gpc_unwind_arch *arch = f->v->arch;

	next->valid = f->regs->valid & arch->kept;
	set(next, arch->sp, f->cfa);
	for (uint32_t i = 0; i < f->rule->n; i++) {
		uint32_t word = f->rule->reg[i], reg = gpc_rule_reg(word);
		uint64_t value = 0;

		if (reg == f->rule->ra)
			*ra = word;
		if (reg == f->rule->ra && reg != arch->link)
			continue;
		if (apply(f, word, &value))
			set(next, reg, value);
		else
			next->valid &= ~(UINT64_C(1) << reg);
	}
}

/* Where the frame returns to. */
GPC_HOT static enum gpc_unwind_result return_address(const struct frame *f, uint32_t ra,
						     const struct gpc_unwind_regs *next,
						     uint64_t *ret)
{
	const struct gpc_unwind_arch *arch = f->v->arch;

	if (ra && gpc_rule_kind(ra) == GPC_RULE_UNDEFINED)
		return GPC_UNWIND_END;
	if (f->rule->ra == arch->link) {
		if (!has(next, arch->link))
			return GPC_UNWIND_LOST;
		*ret = next->r[arch->link];
	} else if (!ra || !apply(f, ra, ret)) {
		return GPC_UNWIND_LOST;
	}
	/* Interrupted code can be anywhere; codes are on saved return addresses only. */
	if (f->rule->ra != arch->pc || arch->link == GPC_UNWIND_NO_LINK)
		*ret &= arch->address_mask;
	return *ret ? GPC_UNWIND_UP : GPC_UNWIND_END;
}

/* Stacks grow downwards. Only a signal can have come on another stack; a function
 * that has not yet touched its stack has its caller's. */
static bool goes_up(const struct frame *f, const struct gpc_unwind_regs *next)
{
	uint64_t from = f->regs->r[f->v->arch->sp], to = next->r[f->v->arch->sp];

	if (f->rule->flags & GPC_RULE_SIGNAL)
		return true;
	return to > from || (to == from && f->regs->is_exact && next->pc != f->regs->pc);
}

static bool is_beyond_measure(const struct gpc_unwind_view *v)
{
	return v->operations >= GPC_UNWIND_OPERATIONS || v->signals > GPC_UNWIND_SIGNALS;
}

static enum gpc_unwind_result lost(const struct gpc_unwind_view *v)
{
	return v->mem.was_short ? GPC_UNWIND_SHORT : GPC_UNWIND_LOST;
}

GPC_HOT static enum gpc_unwind_result by_table(struct gpc_unwind_view *v,
					       const struct gpc_rules *rules,
					       const struct gpc_packed_rule *rule,
					       struct gpc_unwind_regs *regs)
{
	struct frame f = {v, rules, rule, regs, 0};
	struct gpc_unwind_regs next = *regs;
	enum gpc_unwind_result result;
	uint32_t ra = 0;

	v->mem.was_short = false;
	if (!find_cfa(&f))
		return lost(v);
	restore(&f, &next, &ra);
	v->signals += (rule->flags & GPC_RULE_SIGNAL) != 0;
	if (is_beyond_measure(v))
		return GPC_UNWIND_LOST;
	result = return_address(&f, ra, &next, &next.pc);
	if (result != GPC_UNWIND_UP)
		return result == GPC_UNWIND_LOST ? lost(v) : result;
	if (!goes_up(&f, &next))
		return GPC_UNWIND_LOST;
	next.is_exact = (rule->flags & GPC_RULE_SIGNAL) != 0;
	*regs = next;
	return GPC_UNWIND_UP;
}

/* On x86-64 and arm64 alike: [fp] is the caller's fp, [fp + 8] where to return. Both
 * ABIs end the chain with a frame pointer of 0. */
static enum gpc_unwind_result by_frame_pointer(struct gpc_unwind_view *v,
					       struct gpc_unwind_regs *regs)
{
	const struct gpc_unwind_arch *arch = v->arch;
	uint64_t fp = regs->r[arch->fp], sp = regs->r[arch->sp], frame[2];
	struct gpc_code code;

	if (!has(regs, arch->fp) || !has(regs, arch->sp))
		return GPC_UNWIND_LOST;
	if (!fp && !regs->is_exact)
		return GPC_UNWIND_END;
	if (fp % 8 || fp < sp || fp - sp > FRAME_MAX)
		return GPC_UNWIND_LOST;
	v->mem.was_short = false;
	if (!gpc_unwind_fetch(&v->mem, fp, frame, sizeof frame))
		return lost(v);
	frame[1] &= arch->address_mask;
	/* The caller's own may be anything: the code that called uses the register as it
	 * likes, if it does not need it to be unwound. */
	if (!frame[1] || v->find(v->ctx, frame[1] - 1, &code) == GPC_CODE_NOWHERE)
		return GPC_UNWIND_LOST;
	regs->valid = 0;
	set(regs, arch->sp, fp + 16);
	set(regs, arch->fp, frame[0]);
	regs->pc = frame[1];
	regs->is_exact = false;
	return GPC_UNWIND_UP;
}

/* A program's first functions need not say where their caller is. */
GPC_HOT static enum gpc_unwind_result without_rule(struct gpc_unwind_view *v,
						   struct gpc_unwind_regs *regs)
{
	enum gpc_unwind_result result = by_frame_pointer(v, regs);

	if (result == GPC_UNWIND_LOST && !regs->is_exact && has(regs, v->arch->sp) &&
	    gpc_unwind_is_bottom(&v->mem, regs->r[v->arch->sp]))
		return GPC_UNWIND_END;
	return result;
}

/* What a step found out about the frame that it left. */
struct left {
	bool is_place; /* its pc is no return address, although it looks like one */
};

/* No call leaves the address of a function's first byte behind if what stands before
 * belongs to none: whoever made this stack put it there, and begins it so (as
 * makecontext does, and others that make coroutines). */
static bool is_made(const struct gpc_code *code, const struct gpc_unwind_regs *regs)
{
	return !regs->is_exact && gpc_unwind_table_find(code->table, code->vaddr + 1);
}

GPC_HOT static enum gpc_unwind_result up(struct gpc_unwind_view *v, struct gpc_unwind_regs *regs,
					 enum gpc_code_state state, const struct gpc_code *code,
					 struct left *left)
{
	const struct gpc_packed_rule *rule = NULL;

	left->is_place = false;
	if (state == GPC_CODE_NOWHERE)
		return GPC_UNWIND_LOST;
	if (state == GPC_CODE_WAITING)
		return GPC_UNWIND_WAITING;
	if (state == GPC_CODE_KNOWN)
		rule = v->rule ? v->rule(v->ctx, code)
			       : gpc_unwind_table_find(code->table, code->vaddr);
	if (state == GPC_CODE_KNOWN && !rule && is_made(code, regs)) {
		left->is_place = true;
		return GPC_UNWIND_END;
	}
	if (!rule)
		return without_rule(v, regs);
	left->is_place = (rule->flags & GPC_RULE_SIGNAL) != 0;
	return by_table(v, &code->table->rules, rule, regs);
}

GPC_HOT static enum gpc_unwind_result step(struct gpc_unwind_view *v, struct gpc_unwind_regs *regs,
					   bool is_first, uint64_t *ret)
{
	struct gpc_code code = {0};
	uint64_t pc = regs->pc, at = regs->is_exact ? pc : pc - 1;
	enum gpc_code_state state = v->find(v->ctx, at, &code);
	enum gpc_unwind_result result;
	struct left left;

	result = up(v, regs, state, &code, &left);
	*ret = left.is_place ? pc : at;
	/* What is executed is executed; a caller that lies nowhere is none. */
	if (state == GPC_CODE_NOWHERE && !is_first)
		*ret = NO_PLACE;
	return result;
}

GPC_HOT enum gpc_unwind_result gpc_unwind_step(struct gpc_unwind_view *v,
					       struct gpc_unwind_regs *regs, uint64_t *ret_place)
{
	return step(v, regs, true, ret_place);
}

GPC_HOT enum gpc_unwind_result gpc_unwind_walk(struct gpc_unwind_view *v,
					       const struct gpc_unwind_regs *start,
					       uint64_t *frames, uint32_t max, uint32_t *n)
{
	enum gpc_unwind_result result = GPC_UNWIND_UP;
	struct gpc_unwind_regs regs = *start;

	v->signals = v->operations = 0;
	for (*n = 0; *n < max && result == GPC_UNWIND_UP;) {
		result = step(v, &regs, *n == 0, &frames[*n]);
		if (frames[*n] == NO_PLACE)
			break;
		if (v->sps)
			v->sps[*n] = result == GPC_UNWIND_UP ? regs.r[v->arch->sp] : 0;
		++*n;
	}
	return result;
}

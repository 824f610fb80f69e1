/* SPDX-License-Identifier: Apache-2.0 */
/* The programs of call frame information. Registers that rules are not kept for
 * (vector registers) are read over. */
#include "unwind/cfi.h"
#include "unwind/cursor.h"

#define DEPTH 16 /* of remembered states; compilers nest none */

/* DWARF 5, section 7.24, and what GNU added: DW_CFA_ */
enum {
	OP_ADVANCE = 0x40, /* with a number in the low six bits, as the next two */
	OP_OFFSET = 0x80,
	OP_RESTORE = 0xc0,
	OP_NOP = 0x00,
	OP_SET_LOC = 0x01,
	OP_ADVANCE1 = 0x02,
	OP_ADVANCE2 = 0x03,
	OP_ADVANCE4 = 0x04,
	OP_OFFSET_EXTENDED = 0x05,
	OP_RESTORE_EXTENDED = 0x06,
	OP_UNDEFINED = 0x07,
	OP_SAME_VALUE = 0x08,
	OP_REGISTER = 0x09,
	OP_REMEMBER = 0x0a,
	OP_RESTORE_STATE = 0x0b,
	OP_DEF_CFA = 0x0c,
	OP_DEF_CFA_REGISTER = 0x0d,
	OP_DEF_CFA_OFFSET = 0x0e,
	OP_DEF_CFA_EXPRESSION = 0x0f,
	OP_EXPRESSION = 0x10,
	OP_OFFSET_EXTENDED_SF = 0x11,
	OP_DEF_CFA_SF = 0x12,
	OP_DEF_CFA_OFFSET_SF = 0x13,
	OP_VAL_OFFSET = 0x14,
	OP_VAL_OFFSET_SF = 0x15,
	OP_VAL_EXPRESSION = 0x16,
	OP_NEGATE_RA_STATE = 0x2d, /* arm64; GNU_window_save elsewhere */
	OP_ARGS_SIZE = 0x2e,
	OP_NEGATIVE_OFFSET = 0x2f
};

struct run {
	const struct gpc_unwind_arch *arch;
	const struct gpc_cfi_section *s;
	const struct gpc_cfi_entry *e;
	struct gpc_rules *rules;
	gpc_cfi_row_fn *row;
	void *ctx;
	struct gpc_cursor c;
	uint64_t pc;
	bool in_first; /* the CIE's program runs: no rows yet */
	struct gpc_rule now, initial;
	struct gpc_rule remembered[DEPTH];
	unsigned depth;
};

static void set_reg(struct run *r, uint64_t reg, enum gpc_rule_kind kind, int64_t value)
{
	if (reg >= r->arch->n_regs)
		return;
	/* Out of what can be packed, so that adding the rule fails. */
	if (value > INT32_MAX || value < -INT32_MAX)
		value = INT32_MAX;
	r->now.reg[reg].kind = (uint8_t)kind;
	r->now.reg[reg].value = (int32_t)value;
}

/* uint64_t arithmetic wraps; numbers of hostile files must not overflow. */
static int64_t scaled(const struct run *r, uint64_t n)
{
	return (int64_t)(n * (uint64_t)r->e->data_align);
}

static void set_offset(struct run *r, uint64_t reg, uint64_t n)
{
	set_reg(r, reg, GPC_RULE_AT, scaled(r, n));
}

static void restore(struct run *r, uint64_t reg)
{
	if (reg < r->arch->n_regs)
		r->now.reg[reg] = r->initial.reg[reg];
}

static int32_t take_expr(struct run *r)
{
	uint64_t n = gpc_cursor_uleb(&r->c);
	const uint8_t *ops = r->c.at;
	int32_t expr;

	if (!gpc_cursor_has(&r->c, n))
		return 0;
	r->c.at += n;
	expr = gpc_rules_add_expr(r->rules, ops, (size_t)n);
	if (expr < 0)
		r->now.is_unknown = true;
	return expr < 0 ? 0 : expr;
}

static void set_expr(struct run *r, enum gpc_rule_kind kind)
{
	uint64_t reg = gpc_cursor_uleb(&r->c);

	set_reg(r, reg, kind, take_expr(r));
}

static void define_cfa(struct run *r, uint64_t reg, int64_t offset)
{
	/* Only registers whose values are kept. */
	r->now.is_unknown = reg >= r->arch->n_regs;
	r->now.cfa_reg = r->now.is_unknown ? 0 : (uint8_t)reg;
	r->now.cfa_is_expr = false;
	r->now.cfa = offset;
}

static void define_cfa_expr(struct run *r)
{
	r->now.is_unknown = false;
	r->now.cfa = take_expr(r);
	r->now.cfa_is_expr = true;
	r->now.cfa_reg = 0;
}

/* The row so far ends here. */
static bool advance(struct run *r, uint64_t pc)
{
	uint16_t rule;

	if (r->in_first || pc < r->pc || r->c.is_bad)
		return false;
	if (pc == r->pc)
		return true;
	rule = gpc_rules_add(r->rules, &r->now);
	if (!r->row(r->ctx, r->pc, rule))
		return false;
	r->pc = pc;
	return pc < r->e->end;
}

static bool step(struct run *r, uint64_t delta)
{
	return advance(r, r->pc + delta * r->e->code_align);
}

static bool remember(struct run *r)
{
	if (r->depth == DEPTH)
		return false;
	r->remembered[r->depth++] = r->now;
	return true;
}

static bool restore_state(struct run *r)
{
	if (!r->depth)
		return false;
	r->now = r->remembered[--r->depth];
	return true;
}

static bool set_location(struct run *r)
{
	return advance(r, gpc_cfi_address(r->s, &r->c, r->e->encoding));
}

/* size: decoder */
static bool extended(struct run *r, uint8_t op)
{
	struct gpc_cursor *c = &r->c;
	uint64_t reg;

	switch (op) {
	case OP_NOP:
		return true;
	case OP_SET_LOC:
		return set_location(r);
	case OP_ADVANCE1:
		return step(r, gpc_cursor_fixed(c, 1));
	case OP_ADVANCE2:
		return step(r, gpc_cursor_fixed(c, 2));
	case OP_ADVANCE4:
		return step(r, gpc_cursor_fixed(c, 4));
	case OP_OFFSET_EXTENDED:
		reg = gpc_cursor_uleb(c);
		set_offset(r, reg, gpc_cursor_uleb(c));
		return true;
	case OP_OFFSET_EXTENDED_SF:
		reg = gpc_cursor_uleb(c);
		set_offset(r, reg, (uint64_t)gpc_cursor_sleb(c));
		return true;
	case OP_NEGATIVE_OFFSET:
		reg = gpc_cursor_uleb(c);
		set_offset(r, reg, -gpc_cursor_uleb(c));
		return true;
	case OP_RESTORE_EXTENDED:
		restore(r, gpc_cursor_uleb(c));
		return true;
	case OP_UNDEFINED:
		set_reg(r, gpc_cursor_uleb(c), GPC_RULE_UNDEFINED, 0);
		return true;
	case OP_SAME_VALUE:
		set_reg(r, gpc_cursor_uleb(c), GPC_RULE_SAME, 0);
		return true;
	case OP_REGISTER:
		reg = gpc_cursor_uleb(c);
		set_reg(r, reg, GPC_RULE_REGISTER, (int64_t)(gpc_cursor_uleb(c) & INT32_MAX));
		return true;
	case OP_REMEMBER:
		return remember(r);
	case OP_RESTORE_STATE:
		return restore_state(r);
	case OP_DEF_CFA:
		reg = gpc_cursor_uleb(c);
		define_cfa(r, reg, (int64_t)gpc_cursor_uleb(c));
		return true;
	case OP_DEF_CFA_SF:
		reg = gpc_cursor_uleb(c);
		define_cfa(r, reg, scaled(r, (uint64_t)gpc_cursor_sleb(c)));
		return true;
	case OP_DEF_CFA_REGISTER:
		define_cfa(r, gpc_cursor_uleb(c), r->now.cfa_is_expr ? 0 : r->now.cfa);
		return true;
	case OP_DEF_CFA_OFFSET:
		define_cfa(r, r->now.cfa_reg, (int64_t)gpc_cursor_uleb(c));
		return true;
	case OP_DEF_CFA_OFFSET_SF:
		define_cfa(r, r->now.cfa_reg, scaled(r, (uint64_t)gpc_cursor_sleb(c)));
		return true;
	case OP_DEF_CFA_EXPRESSION:
		define_cfa_expr(r);
		return true;
	case OP_EXPRESSION:
		set_expr(r, GPC_RULE_AT_EXPR);
		return true;
	case OP_VAL_EXPRESSION:
		set_expr(r, GPC_RULE_IS_EXPR);
		return true;
	case OP_VAL_OFFSET:
		reg = gpc_cursor_uleb(c);
		set_reg(r, reg, GPC_RULE_IS, scaled(r, gpc_cursor_uleb(c)));
		return true;
	case OP_VAL_OFFSET_SF:
		reg = gpc_cursor_uleb(c);
		set_reg(r, reg, GPC_RULE_IS, scaled(r, (uint64_t)gpc_cursor_sleb(c)));
		return true;
	case OP_NEGATE_RA_STATE:
		r->now.is_signed = !r->now.is_signed;
		return true;
	case OP_ARGS_SIZE:
		gpc_cursor_uleb(c);
		return true;
	default:
		return false;
	}
}

static bool one(struct run *r)
{
	uint8_t op = (uint8_t)gpc_cursor_fixed(&r->c, 1);
	uint8_t low = op & 0x3f;

	switch (op & 0xc0) {
	case OP_ADVANCE:
		return step(r, low);
	case OP_OFFSET:
		set_offset(r, low, gpc_cursor_uleb(&r->c));
		return true;
	case OP_RESTORE:
		restore(r, low);
		return true;
	default:
		return extended(r, op);
	}
}

static bool program(struct run *r, const uint8_t *ops, size_t n)
{
	r->c = (struct gpc_cursor){ops, ops + n, false};
	r->rules->work += n;
	while (r->c.at < r->c.end)
		if (!one(r))
			return false;
	return !r->c.is_bad;
}

bool gpc_cfi_run(const struct gpc_unwind_arch *arch, const struct gpc_cfi_section *s,
		 const struct gpc_cfi_entry *e, struct gpc_rules *rules, gpc_cfi_row_fn *row,
		 void *ctx)
{
	struct run r = {.arch = arch,
			.s = s,
			.e = e,
			.rules = rules,
			.row = row,
			.ctx = ctx,
			.pc = e->start,
			.in_first = true,
			.now = {.is_unknown = true, .ra = e->ra, .is_signal = e->is_signal}};

	if (!program(&r, e->first, e->first_n))
		return false;
	r.initial = r.now;
	r.in_first = false;
	if (!program(&r, e->ops, e->ops_n) && r.pc < e->end) {
		row(ctx, r.pc, GPC_NO_RULE);
		return false;
	}
	r.c.is_bad = false;
	advance(&r, e->end);
	return true;
}

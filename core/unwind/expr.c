/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/expr.h"

#include "unwind/cursor.h"

#define DEPTH     32
#define STEPS_MAX 512

/* DWARF 5, section 7.7.1: DW_OP_ */
enum {
	OP_ADDR = 0x03,
	OP_DEREF = 0x06,
	OP_CONST1U = 0x08, /* then 1s, 2u, 2s, 4u, 4s, 8u, 8s */
	OP_CONST8S = 0x0f,
	OP_CONSTU = 0x10,
	OP_CONSTS = 0x11,
	OP_DUP = 0x12,
	OP_DROP = 0x13,
	OP_OVER = 0x14,
	OP_PICK = 0x15,
	OP_SWAP = 0x16,
	OP_ROT = 0x17,
	OP_ABS = 0x19,
	OP_AND = 0x1a,
	OP_DIV = 0x1b,
	OP_MINUS = 0x1c,
	OP_MOD = 0x1d,
	OP_MUL = 0x1e,
	OP_NEG = 0x1f,
	OP_NOT = 0x20,
	OP_OR = 0x21,
	OP_PLUS = 0x22,
	OP_PLUS_UCONST = 0x23,
	OP_SHL = 0x24,
	OP_SHR = 0x25,
	OP_SHRA = 0x26,
	OP_XOR = 0x27,
	OP_BRA = 0x28,
	OP_EQ = 0x29,
	OP_GE = 0x2a,
	OP_GT = 0x2b,
	OP_LE = 0x2c,
	OP_LT = 0x2d,
	OP_NE = 0x2e,
	OP_SKIP = 0x2f,
	OP_LIT0 = 0x30,
	OP_LIT31 = 0x4f,
	OP_BREG0 = 0x70,
	OP_BREG31 = 0x8f,
	OP_BREGX = 0x92,
	OP_DEREF_SIZE = 0x94,
	OP_NOP = 0x96
};

struct machine {
	const struct gpc_expr *e;
	struct gpc_cursor c;
	uint64_t stack[DEPTH];
	unsigned n;
	bool is_bad;
};

static void push(struct machine *m, uint64_t value)
{
	if (m->n == DEPTH)
		m->is_bad = true;
	else
		m->stack[m->n++] = value;
}

static uint64_t pop(struct machine *m)
{
	if (m->n)
		return m->stack[--m->n];
	m->is_bad = true;
	return 0;
}

/* The value that lies so deep. */
static void pick(struct machine *m, uint64_t depth)
{
	if (depth >= m->n)
		m->is_bad = true;
	else
		push(m, m->stack[m->n - 1 - depth]);
}

static void push_reg(struct machine *m, uint64_t reg)
{
	uint64_t offset = (uint64_t)gpc_cursor_sleb(&m->c);
	const struct gpc_unwind_regs *regs = m->e->regs;

	if (reg == m->e->arch->pc)
		push(m, regs->pc + offset);
	else if (reg < m->e->arch->n_regs && regs->valid >> reg & 1)
		push(m, regs->r[reg] + offset);
	else
		m->is_bad = true;
}

static void deref(struct machine *m, uint64_t n)
{
	uint64_t value = 0;

	if (n < 1 || n > 8 || !gpc_unwind_fetch(m->e->mem, pop(m), &value, (uint32_t)n))
		m->is_bad = true;
	push(m, value);
}

static void push_const(struct machine *m, uint8_t op)
{
	unsigned n = 1u << ((op - OP_CONST1U) / 2);

	push(m, op % 2 ? (uint64_t)gpc_cursor_signed(&m->c, n) : gpc_cursor_fixed(&m->c, n));
}

static void jump(struct machine *m, bool is_taken)
{
	int64_t by = gpc_cursor_signed(&m->c, 2);

	if (!is_taken)
		return;
	if (by < m->e->ops - m->c.at || by > m->c.end - m->c.at)
		m->is_bad = true;
	else
		m->c.at += by;
}

static void rotate(struct machine *m)
{
	uint64_t a = pop(m), b = pop(m), c = pop(m);

	push(m, a);
	push(m, c);
	push(m, b);
}

static void divide(struct machine *m, uint8_t op)
{
	uint64_t b = pop(m), a = pop(m);

	if (!b)
		m->is_bad = true;
	else if (op == OP_MOD)
		push(m, a % b);
	else /* by -1: what overflows stays as it is */
		push(m, b == UINT64_MAX ? -a : (uint64_t)((int64_t)a / (int64_t)b));
}

/* size: decoder */
static uint64_t binary(uint8_t op, uint64_t a, uint64_t b)
{
	int64_t x = (int64_t)a, y = (int64_t)b;

	switch (op) {
	case OP_AND:
		return a & b;
	case OP_MINUS:
		return a - b;
	case OP_MUL:
		return a * b;
	case OP_OR:
		return a | b;
	case OP_PLUS:
		return a + b;
	case OP_SHL:
		return b < 64 ? a << b : 0;
	case OP_SHR:
		return b < 64 ? a >> b : 0;
	case OP_SHRA:
		return (uint64_t)(x >> (b < 64 ? b : 63));
	case OP_XOR:
		return a ^ b;
	case OP_EQ:
		return a == b;
	case OP_GE:
		return x >= y;
	case OP_GT:
		return x > y;
	case OP_LE:
		return x <= y;
	case OP_LT:
		return x < y;
	default:
		return a != b;
	}
}

static bool is_binary(uint8_t op)
{
	return op == OP_AND || op == OP_MINUS || op == OP_MUL || op == OP_OR || op == OP_PLUS ||
	       (op >= OP_SHL && op <= OP_XOR) || (op >= OP_EQ && op <= OP_NE);
}

/* size: decoder */
static void one(struct machine *m, uint8_t op)
{
	uint64_t a, b;

	switch (op) {
	case OP_ADDR:
		push(m, gpc_cursor_fixed(&m->c, 8));
		break;
	case OP_DEREF:
		deref(m, 8);
		break;
	case OP_DEREF_SIZE:
		deref(m, gpc_cursor_fixed(&m->c, 1));
		break;
	case OP_CONSTU:
		push(m, gpc_cursor_uleb(&m->c));
		break;
	case OP_CONSTS:
		push(m, (uint64_t)gpc_cursor_sleb(&m->c));
		break;
	case OP_DUP:
		pick(m, 0);
		break;
	case OP_DROP:
		pop(m);
		break;
	case OP_OVER:
		pick(m, 1);
		break;
	case OP_PICK:
		pick(m, gpc_cursor_fixed(&m->c, 1));
		break;
	case OP_SWAP:
		b = pop(m);
		a = pop(m);
		push(m, b);
		push(m, a);
		break;
	case OP_ROT:
		rotate(m);
		break;
	case OP_ABS:
		a = pop(m);
		push(m, a >> 63 ? -a : a);
		break;
	case OP_DIV:
	case OP_MOD:
		divide(m, op);
		break;
	case OP_NEG:
		push(m, -pop(m));
		break;
	case OP_NOT:
		push(m, ~pop(m));
		break;
	case OP_PLUS_UCONST:
		push(m, pop(m) + gpc_cursor_uleb(&m->c));
		break;
	case OP_BRA:
		jump(m, pop(m) != 0);
		break;
	case OP_SKIP:
		jump(m, true);
		break;
	case OP_BREGX:
		push_reg(m, gpc_cursor_uleb(&m->c));
		break;
	case OP_NOP:
		break;
	default:
		m->is_bad = true;
	}
}

static void step(struct machine *m)
{
	uint8_t op = (uint8_t)gpc_cursor_fixed(&m->c, 1);

	if (op >= OP_LIT0 && op <= OP_LIT31) {
		push(m, op - OP_LIT0);
	} else if (op >= OP_BREG0 && op <= OP_BREG31) {
		push_reg(m, op - OP_BREG0);
	} else if (op >= OP_CONST1U && op <= OP_CONST8S) {
		push_const(m, op);
	} else if (is_binary(op)) {
		uint64_t b = pop(m), a = pop(m);

		push(m, binary(op, a, b));
	} else {
		one(m, op);
	}
}

bool gpc_expr_run(const struct gpc_expr *e, const uint64_t *first, uint64_t *ret)
{
	struct machine m;
	unsigned steps = 0;

	m.e = e;
	m.c = (struct gpc_cursor){e->ops, e->ops + e->n, false};
	m.n = 0;
	m.is_bad = false;
	if (first)
		push(&m, *first);
	while (m.c.at < m.c.end && !m.is_bad && !m.c.is_bad) {
		if (++steps > STEPS_MAX || (e->left && !*e->left))
			return false;
		if (e->left)
			--*e->left;
		step(&m);
	}
	if (m.is_bad || m.c.is_bad || !m.n)
		return false;
	*ret = m.stack[m.n - 1];
	return true;
}

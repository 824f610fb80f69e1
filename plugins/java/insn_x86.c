/* SPDX-License-Identifier: Apache-2.0 */
/* Lengths of x86-64 instructions (Intel SDM, volume 2, chapter 2 and appendix A), as
 * far as HotSpot's compilers make them. */
#include "code.h"

struct cursor {
	const uint8_t *at;
	uint32_t n, used;
	bool is_wide;  /* REX.W */
	bool is_short; /* operands of 16 bits */
	bool is_cut;
};

static uint8_t peek(struct cursor *c)
{
	if (c->used < c->n)
		return c->at[c->used];
	c->is_cut = true;
	return 0;
}

static uint8_t take_byte(struct cursor *c)
{
	uint8_t b = peek(c);

	c->used++;
	return b;
}

/* ModRM, SIB and displacement; returns ModRM's reg field. */
static uint8_t take_modrm(struct cursor *c)
{
	uint8_t modrm = take_byte(c), mod = modrm >> 6, rm = modrm & 7;

	if (mod != 3 && rm == 4) {
		uint8_t base = take_byte(c) & 7;

		if (mod == 0 && base == 5)
			c->used += 4;
	} else if (mod == 0 && rm == 5) {
		c->used += 4;
	}
	c->used += mod == 1 ? 1 : mod == 2 ? 4 : 0;
	return modrm >> 3 & 7;
}

static void skip_prefixes(struct cursor *c)
{
	for (;; c->used++) {
		switch (peek(c)) {
		case 0x66:
			c->is_short = true;
			continue;
		case 0x67:
		case 0xf2:
		case 0xf3:
		case 0xf0:
		case 0x2e:
		case 0x36:
		case 0x3e:
		case 0x26:
		case 0x64:
		case 0x65:
			continue;
		default:
			break;
		}
		if ((peek(c) & 0xf0) == 0x40) { /* REX comes last */
			c->is_wide = peek(c) & 8;
			c->used++;
		}
		return;
	}
}

/* Maps 0F, 0F38, 0F3A. */
static bool skip_escaped(struct cursor *c, int map)
{
	uint8_t op = take_byte(c);

	if (map == 1 && op == 0x38)
		return skip_escaped(c, 2);
	if (map == 1 && op == 0x3a)
		return skip_escaped(c, 3);
	if (map == 1 && (op & 0xf0) == 0x80) {
		c->used += 4; /* jcc */
		return true;
	}
	if (map == 1 && ((op & 0xf8) == 0xc8 || op == 0x05 || op == 0x0b || op == 0x31 ||
			 op == 0x77 || op == 0xa2))
		return true;
	take_modrm(c);
	if (map == 3 || (map == 1 && ((op >= 0x70 && op <= 0x73) || op == 0xa4 || op == 0xac ||
				      op == 0xba || op == 0xc2 || (op >= 0xc4 && op <= 0xc6))))
		c->used++;
	return true;
}

/* C5, C4 and 62: what REX and the escapes say is in the prefix. */
static bool skip_vector(struct cursor *c, uint8_t op)
{
	int map = 1;

	if (op == 0xc5) {
		c->used += 1;
	} else {
		map = peek(c) & (op == 0xc4 ? 0x1f : 0x7);
		c->used += op == 0xc4 ? 2 : 3;
	}
	return map >= 1 && map <= 3 && skip_escaped(c, map);
}

/* size: decoder */
static bool skip_plain(struct cursor *c, uint8_t op)
{
	uint32_t imm = c->is_short ? 2 : 4;
	uint8_t reg;

	if (op < 0x40) {
		if ((op & 7) < 4)
			take_modrm(c);
		else if ((op & 7) < 6)
			c->used += (op & 7) == 4 ? 1 : imm;
		return (op & 7) < 6;
	}
	if ((op >= 0x50 && op < 0x60) || (op >= 0x90 && op < 0xa0) || op == 0xc3 || op == 0xc9 ||
	    op == 0xcc || op == 0xf4 || (op >= 0xa4 && op <= 0xa7) || (op >= 0xaa && op <= 0xaf))
		return op != 0x9a;
	if ((op & 0xf0) == 0x70 || op == 0xeb || op == 0x6a || op == 0xa8 || (op & 0xf8) == 0xb0) {
		c->used += 1;
		return true;
	}
	if (op == 0xe8 || op == 0xe9 || op == 0x68 || op == 0xa9) {
		c->used += op == 0xa9 ? imm : 4;
		return true;
	}
	if ((op & 0xf8) == 0xb8) {
		c->used += c->is_wide ? 8 : imm;
		return true;
	}
	if (op == 0xc2) {
		c->used += 2;
		return true;
	}
	if (op != 0x63 && op != 0x69 && op != 0x6b && (op < 0x80 || op > 0x8f) && op != 0xc0 &&
	    op != 0xc1 && op != 0xc6 && op != 0xc7 && (op < 0xd0 || op > 0xdf) && op < 0xf6)
		return false;
	if (op >= 0xf8 && op < 0xfe) /* clc ... std */
		return true;
	reg = take_modrm(c);
	if (op == 0x6b || op == 0x80 || op == 0x83 || op == 0xc0 || op == 0xc1 || op == 0xc6 ||
	    (op == 0xf6 && reg < 2))
		c->used += 1;
	else if (op == 0x69 || op == 0x81 || op == 0xc7 || (op == 0xf7 && reg < 2))
		c->used += imm;
	return true;
}

uint32_t gpc_java_code_length(const uint8_t *code, uint32_t n)
{
	struct cursor c = {.at = code, .n = n};
	bool is_known;
	uint8_t op;

	skip_prefixes(&c);
	op = take_byte(&c);
	if (op == 0x0f)
		is_known = skip_escaped(&c, 1);
	else if (op == 0xc5 || op == 0xc4 || op == 0x62)
		is_known = skip_vector(&c, op);
	else
		is_known = skip_plain(&c, op);
	return is_known && !c.is_cut && c.used <= n && c.used <= 15 ? c.used : 0;
}

/* ---- registers ------------------------------------------------------------------------- */

#define AX_DX 5u
#define ALL   UINT32_C(0xffff)

struct operands {
	uint8_t op, modrm;
	uint32_t reg, rm;   /* bits of general registers; rm: 0 when it is memory */
	uint32_t in_opcode; /* bit of the register that the opcode's end names */
};

/* Of instructions without a vector prefix. */
static bool read_operands(const uint8_t *code, uint32_t len, struct operands *ret, bool *is_escaped)
{
	struct cursor c = {.at = code, .n = len};
	uint8_t rex = 0;

	skip_prefixes(&c);
	if (c.used && (code[c.used - 1] & 0xf0) == 0x40)
		rex = code[c.used - 1];
	ret->op = take_byte(&c);
	*is_escaped = ret->op == 0x0f;
	if (*is_escaped)
		ret->op = take_byte(&c);
	ret->modrm = c.used < len ? code[c.used] : 0;
	ret->reg = 1u << ((ret->modrm >> 3 & 7) + (rex & 4 ? 8 : 0));
	ret->rm = ret->modrm >> 6 == 3 ? 1u << ((ret->modrm & 7) + (rex & 1 ? 8 : 0)) : 0;
	ret->in_opcode = 1u << ((ret->op & 7) + (rex & 1 ? 8 : 0));
	return !c.is_cut;
}

static bool is_compare(const struct operands *o)
{
	return (o->op >= 0x38 && o->op <= 0x3d) || o->op == 0x84 || o->op == 0x85 ||
	       (o->op >= 0x80 && o->op <= 0x83 && (o->modrm & 0x38) == 0x38);
}

uint32_t gpc_java_code_compared(const uint8_t *code, uint32_t len)
{
	struct operands o;
	bool is_escaped;

	if (!read_operands(code, len, &o, &is_escaped) || is_escaped || !is_compare(&o))
		return 0;
	if (o.op == 0x3c || o.op == 0x3d)
		return 1;
	return o.rm | (o.op < 0x80 || o.op == 0x84 || o.op == 0x85 ? o.reg : 0);
}

uint32_t gpc_java_code_writes(const uint8_t *code, uint32_t len)
{
	struct operands o;
	bool is_escaped;

	if (len && (code[0] == 0xc4 || code[0] == 0xc5 || code[0] == 0x62))
		return code[0] == 0xc4 ? ALL : 0; /* BMI's are of general registers */
	if (!read_operands(code, len, &o, &is_escaped))
		return ALL;
	if (is_escaped) {
		if ((o.op & 0xf0) == 0x80 || o.op == 0x1f)
			return 0;
		return (o.op & 0xf0) == 0x90 ? o.rm : o.reg | o.rm | (o.op == 0xa2 ? ALL : 0);
	}
	if (is_compare(&o) || (o.op & 0xf0) == 0x70 || o.op == 0xe9 || o.op == 0xeb || o.op == 0x90)
		return 0;
	if (o.op < 0x40)
		return (o.op & 7) < 2 ? o.rm : (o.op & 7) < 4 ? o.reg : 1;
	if ((o.op >= 0x50 && o.op < 0x60) || (o.op & 0xf0) == 0xb0)
		return o.in_opcode;
	if (o.op == 0x88 || o.op == 0x89 || (o.op >= 0x80 && o.op <= 0x83) || o.op == 0xc0 ||
	    o.op == 0xc1 || o.op == 0xc6 || o.op == 0xc7 || (o.op >= 0xd0 && o.op <= 0xd3))
		return o.rm;
	if (o.op == 0x8a || o.op == 0x8b || o.op == 0x8d || o.op == 0x63 || o.op == 0x69 ||
	    o.op == 0x6b)
		return o.reg;
	if (o.op == 0xf6 || o.op == 0xf7)
		return (o.modrm & 0x38) >= 0x20 ? AX_DX : o.rm;
	return o.op == 0xfe || o.op == 0xff ? o.rm : o.op == 0x98 || o.op == 0x99 ? AX_DX : ALL;
}

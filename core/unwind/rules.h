/* SPDX-License-Identifier: Apache-2.0 */
/* How to find a caller's registers: the rows of a CFI table without their
 * addresses. A program has many rows and few different rules, so each rule is
 * kept once, packed, and rows name it by a number of 16 bits. */
#ifndef GPC_UNWIND_RULES_H
#define GPC_UNWIND_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"
#include "unwind/arch.h"

enum gpc_rule_kind {
	GPC_RULE_SAME, /* as it is; the default of registers that calls preserve */
	GPC_RULE_UNDEFINED,
	GPC_RULE_AT,       /* saved at CFA + value */
	GPC_RULE_IS,       /* is CFA + value */
	GPC_RULE_REGISTER, /* is in register value */
	GPC_RULE_AT_EXPR,  /* saved at what expression value says */
	GPC_RULE_IS_EXPR,
};

/* While it is worked on: one row of a CFI program. */
struct gpc_rule {
	uint8_t cfa_reg;
	bool cfa_is_expr;
	bool is_signal;  /* the caller was interrupted, it did not call */
	bool is_unknown; /* nothing is known here */
	bool is_signed;  /* the return address carries an authentication code */
	uint8_t ra;      /* which register's rule is the return address's */
	int64_t cfa;     /* offset, or number of an expression */
	struct {
		uint8_t kind;
		int32_t value;
	} reg[GPC_UNWIND_REGS];
};

/* Packed: a head, then a word for each register that is not the same. */
struct gpc_packed_rule {
	uint8_t cfa_reg, flags, ra, n;
	int32_t cfa;
	uint32_t reg[]; /* number: 6 bits, kind: 3, value: 23, signed */
};
enum { GPC_RULE_CFA_EXPR = 1, GPC_RULE_SIGNAL = 2, GPC_RULE_SIGNED = 4 };

static inline uint32_t gpc_rule_reg(uint32_t word)
{
	return word >> 26;
}

static inline enum gpc_rule_kind gpc_rule_kind(uint32_t word)
{
	return (enum gpc_rule_kind)(word >> 23 & 7);
}

static inline int32_t gpc_rule_value(uint32_t word)
{
	return (int32_t)(word << 9) >> 9;
}

#define GPC_RULES_MAX  65535
#define GPC_NO_RULE    0 /* nothing is known of the code from here on */
#define GPC_RULE_BYTES (sizeof(struct gpc_packed_rule) + 4 * GPC_UNWIND_REGS)

struct gpc_rules {
	vec(uint32_t) words;        /* of all rules */
	vec(uint32_t) starts;       /* number - 1 -> where in words */
	vec(uint8_t) exprs;         /* each: two bytes of length, then the operations */
	struct gpc_u64map map;      /* hash -> number; only while rules are added */
	struct gpc_u64map expr_map; /* hash -> where in exprs; the same */
	uint64_t work;              /* done while adding: see GPC_RULES_WORK */
};

/* What looking for a rule or an expression costs, in bytes of a program that is read. */
#define GPC_RULES_WORK 8

/* The rule's number, from 1; GPC_NO_RULE when it cannot be packed (an offset that
 * no real frame has, too many rules, no memory). */
uint16_t gpc_rules_add(struct gpc_rules *r, const struct gpc_rule *rule);
/* Adds an expression; -1 when it is too long or memory is short. */
int32_t gpc_rules_add_expr(struct gpc_rules *r, const uint8_t *ops, size_t n);
/* number: of this set, not GPC_NO_RULE. */
const struct gpc_packed_rule *gpc_rules_get(const struct gpc_rules *r, uint16_t number);
const uint8_t *gpc_rules_expr(const struct gpc_rules *r, int32_t expr, size_t *n);
/* No more are added: gives memory back. */
void gpc_rules_seal(struct gpc_rules *r);
size_t gpc_rules_bytes(const struct gpc_rules *r);
void gpc_rules_deinit(struct gpc_rules *r);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/rules.h"

#include <string.h>

#include "base/hot.h"

#define VALUE_MAX ((1 << 22) - 1)
#define EXPR_MAX  256 /* bytes; those of compilers have some ten */
#define EXPRS_MAX 8192
#define WORDS(n)  (sizeof(struct gpc_packed_rule) / 4 + (n))

union packed {
	struct gpc_packed_rule rule;
	uint32_t words[GPC_RULE_BYTES / 4];
};

static bool pack(const struct gpc_rule *rule, union packed *ret)
{
	uint8_t n = 0;

	if (rule->is_unknown || rule->cfa < INT32_MIN || rule->cfa > INT32_MAX)
		return false;
	memset(ret, 0, sizeof *ret);
	for (uint32_t i = 0; i < GPC_UNWIND_REGS; i++) {
		int32_t value = rule->reg[i].value;

		if (rule->reg[i].kind == GPC_RULE_SAME)
			continue;
		if (value > VALUE_MAX || value < -VALUE_MAX)
			return false;
		ret->words[WORDS(n++)] =
			i << 26 | (uint32_t)rule->reg[i].kind << 23 | ((uint32_t)value & 0x7fffff);
	}
	ret->rule.cfa_reg = rule->cfa_reg;
	ret->rule.flags = (uint8_t)((rule->cfa_is_expr ? GPC_RULE_CFA_EXPR : 0) |
				    (rule->is_signal ? GPC_RULE_SIGNAL : 0) |
				    (rule->is_signed ? GPC_RULE_SIGNED : 0));
	ret->rule.ra = rule->ra;
	ret->rule.n = n;
	ret->rule.cfa = (int32_t)rule->cfa;
	return true;
}

static bool is_equal(const struct gpc_rules *r, uint64_t number, const union packed *p)
{
	const struct gpc_packed_rule *have = gpc_rules_get(r, (uint16_t)number);

	return have->n == p->rule.n && memcmp(have, p, 4 * WORDS(p->rule.n)) == 0;
}

uint16_t gpc_rules_add(struct gpc_rules *r, const struct gpc_rule *rule)
{
	union packed p;
	uint64_t hash, number, cursor = 0;
	size_t n;

	if (!pack(rule, &p))
		return GPC_NO_RULE;
	n = WORDS(p.rule.n);
	hash = gpc_hash(&p, 4 * n);
	r->work += GPC_RULES_WORK;
	for (; gpc_u64map_probe(&r->map, hash, &cursor, &number); r->work++)
		if (is_equal(r, number, &p))
			return (uint16_t)number;
	if (r->starts.n >= GPC_RULES_MAX || !vec_reserve(&r->words, n) ||
	    !vec_reserve(&r->starts, 1) || !gpc_u64map_add(&r->map, hash, r->starts.n + 1))
		return GPC_NO_RULE;
	r->starts.at[r->starts.n++] = (uint32_t)r->words.n;
	memcpy(r->words.at + r->words.n, &p, 4 * n);
	r->words.n += n;
	return (uint16_t)r->starts.n;
}

static bool is_expr(const struct gpc_rules *r, uint64_t at, const uint8_t *ops, size_t n)
{
	size_t len;
	const uint8_t *have = gpc_rules_expr(r, (int32_t)at, &len);

	return len == n && (!n || memcmp(have, ops, n) == 0);
}

int32_t gpc_rules_add_expr(struct gpc_rules *r, const uint8_t *ops, size_t n)
{
	uint64_t hash, cursor = 0, known;
	size_t at = r->exprs.n;

	if (n > EXPR_MAX)
		return -1;
	hash = gpc_hash(ops, n);
	r->work += GPC_RULES_WORK;
	for (; gpc_u64map_probe(&r->expr_map, hash, &cursor, &known); r->work++)
		if (is_expr(r, known, ops, n))
			return (int32_t)known;
	if (r->exprs.n > EXPRS_MAX || !vec_reserve(&r->exprs, n + 2) ||
	    !gpc_u64map_add(&r->expr_map, hash, at))
		return -1;
	r->exprs.at[at] = (uint8_t)n;
	r->exprs.at[at + 1] = (uint8_t)(n >> 8);
	if (n)
		memcpy(r->exprs.at + at + 2, ops, n);
	r->exprs.n += n + 2;
	return (int32_t)at;
}

GPC_HOT const struct gpc_packed_rule *gpc_rules_get(const struct gpc_rules *r, uint16_t number)
{
	return (const void *)(r->words.at + r->starts.at[number - 1]);
}

const uint8_t *gpc_rules_expr(const struct gpc_rules *r, int32_t expr, size_t *n)
{
	*n = r->exprs.at[expr] | (size_t)r->exprs.at[expr + 1] << 8;
	return r->exprs.at + expr + 2;
}

void gpc_rules_seal(struct gpc_rules *r)
{
	gpc_u64map_deinit(&r->map);
	gpc_u64map_deinit(&r->expr_map);
}

size_t gpc_rules_bytes(const struct gpc_rules *r)
{
	return r->words.room * 4 + r->starts.room * 4 + r->exprs.room;
}

void gpc_rules_deinit(struct gpc_rules *r)
{
	vec_deinit(&r->words);
	vec_deinit(&r->starts);
	vec_deinit(&r->exprs);
	gpc_u64map_deinit(&r->map);
	gpc_u64map_deinit(&r->expr_map);
}

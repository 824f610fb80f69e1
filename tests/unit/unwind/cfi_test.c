/* SPDX-License-Identifier: Apache-2.0 */
#include "frame.h"

struct row {
	uint64_t pc;
	uint16_t rule;
};

struct rows {
	struct row at[64];
	size_t n;
	struct gpc_rules rules;
};

static bool on_row(void *ctx, uint64_t pc, uint16_t rule)
{
	struct rows *r = ctx;

	assert_true(r->n < 64);
	assert_true(!r->n || r->at[r->n - 1].pc < pc);
	r->at[r->n++] = (struct row){pc, rule};
	return true;
}

/* The rows of the section's first entry that describes something. */
static bool run_first(const struct gpc_cfi_section *s, struct rows *ret)
{
	struct gpc_cfi_entry e;
	size_t at = 0;

	memset(ret, 0, sizeof *ret);
	while (gpc_cfi_next(s, &at, &e))
		if (e.end > e.start)
			return gpc_cfi_run(&gpc_unwind_x86_64, s, &e, &ret->rules, on_row, ret);
	return false;
}

static const struct gpc_packed_rule *rule_of(const struct rows *r, size_t row)
{
	assert_true(row < r->n);
	assert_int_not_equal(r->at[row].rule, GPC_NO_RULE);
	return gpc_rules_get(&r->rules, r->at[row].rule);
}

static void expect_cfa(const struct rows *r, size_t row, uint64_t pc, uint8_t reg, int32_t offset)
{
	const struct gpc_packed_rule *rule = rule_of(r, row);

	assert_int_equal(r->at[row].pc, pc);
	assert_int_equal(rule->cfa_reg, reg);
	assert_int_equal(rule->cfa, offset);
	assert_int_equal(rule->ra, 16);
}

/* What the row says of a register, GPC_RULE_SAME when nothing. */
static enum gpc_rule_kind kind_of(const struct rows *r, size_t row, uint32_t reg, int32_t *value)
{
	const struct gpc_packed_rule *rule = rule_of(r, row);

	for (uint32_t i = 0; i < rule->n; i++)
		if (gpc_rule_reg(rule->reg[i]) == reg) {
			*value = gpc_rule_value(rule->reg[i]);
			return gpc_rule_kind(rule->reg[i]);
		}
	return GPC_RULE_SAME;
}

/* push %rbp; mov %rsp, %rbp; ...; leave; ret */
static const uint8_t prologue[] = {
	0x41, 0x0e, 16,   0x86, 2,       /* after 1 byte: CFA rsp + 16, rbp at CFA - 16 */
	0x43, 0x0d, 6,                   /* after 3: CFA rbp + 16 */
	0x02, 100,  0x0c, 7,    8, 0xc6, /* after 100: CFA rsp + 8, rbp as at first */
};

static void function_with_frame_pointer(void **state)
{
	struct frame f = {0};
	struct gpc_cfi_section s;
	struct rows r;
	int32_t value = 0;
	(void)state;

	put_cie(&f, "zR", 0);
	put_fde(&f, 0x1000, 200, prologue, sizeof prologue);
	s = section_of(&f);
	assert_true(run_first(&s, &r));
	assert_int_equal(r.n, 4);
	expect_cfa(&r, 0, 0x1000, 7, 8);
	assert_int_equal(kind_of(&r, 0, 16, &value), GPC_RULE_AT);
	assert_int_equal(value, -8);
	assert_int_equal(kind_of(&r, 0, 6, &value), GPC_RULE_SAME);
	expect_cfa(&r, 1, 0x1001, 7, 16);
	assert_int_equal(kind_of(&r, 1, 6, &value), GPC_RULE_AT);
	assert_int_equal(value, -16);
	expect_cfa(&r, 2, 0x1004, 6, 16);
	expect_cfa(&r, 3, 0x1004 + 100, 7, 8);
	assert_int_equal(kind_of(&r, 3, 6, &value), GPC_RULE_SAME);
	/* The same again is the same rule. */
	assert_int_equal(r.at[0].rule, r.at[3].rule);
	gpc_rules_deinit(&r.rules);
}

static void remembered_states(void **state)
{
	static const uint8_t ops[] = {
		0x41, 0x0e, 32, 0x0a,     /* +1: CFA rsp + 32; remember */
		0x42, 0x0e, 8,  0x07, 16, /* +3: CFA rsp + 8, no return address */
		0x41, 0x0b,               /* +4: as remembered */
	};
	struct frame f = {0};
	struct gpc_cfi_section s;
	struct rows r;
	int32_t value = 0;
	(void)state;

	put_cie(&f, "zR", 0);
	put_fde(&f, 0x1000, 16, ops, sizeof ops);
	s = section_of(&f);
	assert_true(run_first(&s, &r));
	assert_int_equal(r.n, 4);
	expect_cfa(&r, 2, 0x1003, 7, 8);
	assert_int_equal(kind_of(&r, 2, 16, &value), GPC_RULE_UNDEFINED);
	expect_cfa(&r, 3, 0x1004, 7, 32);
	assert_int_equal(kind_of(&r, 3, 16, &value), GPC_RULE_AT);
	gpc_rules_deinit(&r.rules);
}

static void too_deep_and_unmatched(void **state)
{
	static const uint8_t unmatched[] = {0x41, 0x0b};
	uint8_t deep[101];
	struct frame f = {0}, g = {0};
	struct gpc_cfi_section s;
	struct rows r;
	(void)state;

	put_cie(&f, "zR", 0);
	put_fde(&f, 0x1000, 16, unmatched, sizeof unmatched);
	s = section_of(&f);
	assert_false(run_first(&s, &r));
	/* What was told before holds, the rest is unknown. */
	assert_int_equal(r.n, 2);
	assert_int_equal(r.at[1].pc, 0x1001);
	assert_int_equal(r.at[1].rule, GPC_NO_RULE);
	gpc_rules_deinit(&r.rules);

	memset(deep, 0x0a, sizeof deep);
	put_cie(&g, "zR", 0);
	put_fde(&g, 0x1000, 16, deep, sizeof deep);
	s = section_of(&g);
	assert_false(run_first(&s, &r));
	gpc_rules_deinit(&r.rules);
}

static void relative_addresses_and_signal(void **state)
{
	static const uint8_t ops[] = {0x0f, 3, 0x77, 0xa0, 1}; /* CFA: rsp + 160 */
	struct frame f = {0};
	struct gpc_cfi_section s;
	struct gpc_cfi_entry e;
	struct rows r;
	size_t at = 0, n;
	const uint8_t *expr;
	(void)state;

	put_cie(&f, "zRS", 0x1b); /* signed, 4 bytes, from where they stand */
	open_entry(&f);
	put32(&f, (uint32_t)f.n);
	put32(&f, (uint32_t)-0x100);
	put32(&f, 0x40);
	put8(&f, 0);
	put(&f, ops, sizeof ops);
	close_entry(&f);
	s = section_of(&f);
	while (gpc_cfi_next(&s, &at, &e) && e.end == e.start)
		;
	assert_int_equal(e.end - e.start, 0x40);
	assert_true(e.is_signal);
	/* The field stands 8 bytes behind the entry's beginning. */
	assert_int_equal(e.start, 0x9000 + f.entry + 8 - 0x100);
	assert_true(run_first(&s, &r));
	assert_int_equal(rule_of(&r, 0)->flags, GPC_RULE_CFA_EXPR | GPC_RULE_SIGNAL);
	expr = gpc_rules_expr(&r.rules, rule_of(&r, 0)->cfa, &n);
	assert_int_equal(n, 3);
	assert_memory_equal(expr, ops + 2, 3);
	gpc_rules_deinit(&r.rules);
}

static void debug_frame(void **state)
{
	struct frame f = {0};
	struct gpc_cfi_section s;
	struct rows r;
	(void)state;

	put_debug_frame(&f, prologue, 5);
	s = (struct gpc_cfi_section){f.bytes, f.n, 0, false};
	assert_true(run_first(&s, &r));
	assert_int_equal(r.n, 2);
	expect_cfa(&r, 0, 0x401000, 7, 8);
	expect_cfa(&r, 1, 0x401001, 7, 16);
	gpc_rules_deinit(&r.rules);
}

/* Cut off anywhere: less is told, nothing else. */
static void cut_off(void **state)
{
	struct frame f = {0};
	struct gpc_cfi_section s;
	struct rows whole, r;
	size_t rows = 0;
	(void)state;

	put_cie(&f, "zR", 0);
	put_fde(&f, 0x1000, 200, prologue, sizeof prologue);
	s = section_of(&f);
	assert_true(run_first(&s, &whole));
	for (size_t n = f.n; n-- > 0;) {
		s = (struct gpc_cfi_section){f.bytes, n, 0x9000, true};
		run_first(&s, &r);
		rows += r.n;
		gpc_rules_deinit(&r.rules);
	}
	assert_int_equal(rows, 0); /* the entry's length is beyond the end each time */
	gpc_rules_deinit(&whole.rules);
}

static void entry_that_points_to_itself(void **state)
{
	struct frame f = {0};
	struct gpc_cfi_section s;
	struct rows r;
	(void)state;

	put_cie(&f, "zR", 0);
	open_entry(&f);
	put32(&f, 4); /* its CIE is this entry */
	put64(&f, 0x1000);
	put64(&f, 0x10);
	close_entry(&f);
	s = section_of(&f);
	assert_false(run_first(&s, &r));
	assert_int_equal(r.n, 0);
	gpc_rules_deinit(&r.rules);
}

/* How many entries there are behind a CIE of so many bytes. */
static size_t entries_behind(uint32_t cie_bytes)
{
	uint32_t at = cie_bytes + 4, distance = at + 4;
	uint8_t *bytes = calloc(1, 16384);
	struct gpc_cfi_section s = {bytes, 0, 0x9000, true};
	struct frame cie = {0}, fde = {0};
	struct gpc_cfi_entry e;
	size_t next = 0, n = 0;

	put_cie(&cie, "zR", 0);
	memcpy(bytes, cie.bytes, cie.n);
	memcpy(bytes, &cie_bytes, 4);
	put_fde(&fde, 0x1000, 16, x86_first, sizeof x86_first);
	memcpy(fde.bytes + 4, &distance, 4);
	memcpy(bytes + at, fde.bytes, fde.n);
	s.n = at + fde.n;
	while (gpc_cfi_next(&s, &next, &e))
		n += e.end > e.start;
	free(bytes);
	return n;
}

/* It is read once more for each entry, and there can be a million of them. */
static void oversized_cie(void **state)
{
	(void)state;
	assert_int_equal(entries_behind(1000), 1);
	assert_int_equal(entries_behind(4096), 1);
	assert_int_equal(entries_behind(4100), 0);
}

static void many_rules(void **state)
{
	struct gpc_rules rules = {0};
	struct gpc_rule rule = {.cfa_reg = 7, .ra = 16};
	uint16_t number = 1;
	(void)state;

	for (int i = 1; i <= GPC_RULES_MAX; i++) {
		rule.cfa = 8 * i;
		number = gpc_rules_add(&rules, &rule);
		assert_int_equal(number, i);
	}
	rule.cfa = 4;
	assert_int_equal(gpc_rules_add(&rules, &rule), GPC_NO_RULE);
	rule.cfa = 8;
	assert_int_equal(gpc_rules_add(&rules, &rule), 1);
	rule.cfa = INT64_C(1) << 40;
	assert_int_equal(gpc_rules_add(&rules, &rule), GPC_NO_RULE);
	assert_int_equal(gpc_rules_get(&rules, 77)->cfa, 8 * 77);
	gpc_rules_deinit(&rules);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(function_with_frame_pointer),
		cmocka_unit_test(remembered_states),
		cmocka_unit_test(too_deep_and_unmatched),
		cmocka_unit_test(relative_addresses_and_signal),
		cmocka_unit_test(debug_frame),
		cmocka_unit_test(cut_off),
		cmocka_unit_test(entry_that_points_to_itself),
		cmocka_unit_test(oversized_cie),
		cmocka_unit_test(many_rules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

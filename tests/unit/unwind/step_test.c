/* SPDX-License-Identifier: Apache-2.0 */
/* Steps over stacks that are written word by word. Code: from 0x1000 a table that
 * the test fills; from 0x100000 code without one; elsewhere nothing. */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "unwind/bottom.h"
#include "unwind/step.h"

#define STACK UINT64_C(0x7ffc00001000)
#define WORDS 256
#define TABLE 0x1000
#define PLAIN 0x100000
#define MAX   64

struct world {
	uint64_t stack[WORDS];
	struct gpc_unwind_view v;
	struct gpc_unwind_regs regs;
	struct gpc_unwind_table *table;
	gpc_unwind_places places;
	struct gpc_rules rules;
	uint64_t frames[MAX];
	uint32_t n;
};

static enum gpc_code_state look_up(void *ctx, uint64_t address, struct gpc_code *ret)
{
	struct world *w = ctx;

	if (address >= PLAIN && address < PLAIN + 0x10000)
		return GPC_CODE_PLAIN;
	if (address < TABLE || address >= TABLE + 0x10000)
		return GPC_CODE_NOWHERE;
	if (!w->table)
		return GPC_CODE_WAITING;
	ret->table = w->table;
	ret->vaddr = address;
	return GPC_CODE_KNOWN;
}

static void begin(struct world *w, const struct gpc_unwind_arch *arch)
{
	memset(w, 0, sizeof *w);
	w->v = (struct gpc_unwind_view){.arch = arch, .find = look_up, .ctx = w};
	w->v.mem = (struct gpc_unwind_memory){.start = STACK,
					      .n = sizeof w->stack,
					      .bytes = (const uint8_t *)w->stack};
	w->regs = (struct gpc_unwind_regs){.is_exact = 1};
}

static void set(struct world *w, uint32_t reg, uint64_t value)
{
	w->regs.r[reg] = value;
	w->regs.valid |= UINT64_C(1) << reg;
}

/* From pc on the rule holds; NULL: nothing. */
static void add(struct world *w, uint64_t pc, const struct gpc_rule *rule)
{
	struct gpc_unwind_place p = {pc, rule ? gpc_rules_add(&w->rules, rule) : GPC_NO_RULE};

	assert_true(vec_push(&w->places, p));
}

static void finish(struct world *w)
{
	struct gpc_elf elf = {.machine = w->v.arch->machine};

	assert_int_equal(gpc_unwind_table_pack(&elf, &w->places, &w->rules, &w->table, NULL),
			 GPC_OK);
}

static enum gpc_unwind_result walk(struct world *w)
{
	return gpc_unwind_walk(&w->v, &w->regs, w->frames, MAX, &w->n);
}

static void end(struct world *w)
{
	gpc_unwind_table_free(w->table);
	gpc_rules_deinit(&w->rules);
	vec_deinit(&w->places);
}

/* CFA: sp + size; the return address below it. */
static struct gpc_rule x86_rule(int64_t size)
{
	struct gpc_rule rule = {.cfa_reg = 7, .cfa = size, .ra = 16};

	rule.reg[16].kind = GPC_RULE_AT;
	rule.reg[16].value = -8;
	return rule;
}

static void calls_and_root(void **state)
{
	struct world w;
	struct gpc_rule leaf = x86_rule(8), middle = x86_rule(32), root = x86_rule(8);
	(void)state;

	begin(&w, &gpc_unwind_x86_64);
	root.reg[16].kind = GPC_RULE_UNDEFINED;
	middle.reg[3].kind = GPC_RULE_AT; /* rbx */
	middle.reg[3].value = -16;
	add(&w, TABLE, &leaf);
	add(&w, TABLE + 0x100, &middle);
	add(&w, TABLE + 0x200, NULL);
	add(&w, TABLE + 0x300, &root);
	finish(&w);
	w.regs.pc = TABLE + 0x10;
	set(&w, 7, STACK);
	/* A call can be a function's last instruction: then its return address lies
	 * behind the function. */
	w.stack[0] = TABLE + 0x200;
	w.stack[4] = TABLE + 0x310;
	assert_int_equal(walk(&w), GPC_UNWIND_END);
	assert_int_equal(w.n, 3);
	assert_int_equal(w.frames[0], TABLE + 0x10);
	assert_int_equal(w.frames[1], TABLE + 0x1ff);
	assert_int_equal(w.frames[2], TABLE + 0x30f);
	end(&w);
}

static void waiting(void **state)
{
	struct world w;
	(void)state;

	begin(&w, &gpc_unwind_x86_64);
	w.regs.pc = TABLE;
	set(&w, 7, STACK);
	assert_int_equal(walk(&w), GPC_UNWIND_WAITING);
	end(&w);
}

static void copy_too_short(void **state)
{
	struct world w;
	struct gpc_rule leaf = x86_rule(8 * WORDS + 8);
	(void)state;

	begin(&w, &gpc_unwind_x86_64);
	add(&w, TABLE, &leaf);
	finish(&w);
	w.regs.pc = TABLE + 1;
	set(&w, 7, STACK);
	assert_int_equal(walk(&w), GPC_UNWIND_SHORT);
	assert_int_equal(w.n, 1);
	end(&w);
}

static void frame_pointers(void **state)
{
	struct world w;
	(void)state;

	begin(&w, &gpc_unwind_x86_64);
	w.regs.pc = PLAIN + 4;
	set(&w, 7, STACK);
	set(&w, 6, STACK + 16);
	w.stack[2] = STACK + 64;
	w.stack[3] = PLAIN + 0x40;
	w.stack[8] = 0;
	w.stack[9] = PLAIN + 0x80;
	assert_int_equal(walk(&w), GPC_UNWIND_END);
	assert_int_equal(w.n, 3);
	assert_int_equal(w.frames[2], PLAIN + 0x7f);
	/* Downwards, and out of alignment. */
	w.stack[2] = STACK + 8;
	assert_int_equal(walk(&w), GPC_UNWIND_LOST);
	set(&w, 6, STACK + 17);
	assert_int_equal(walk(&w), GPC_UNWIND_LOST);
	set(&w, 6, STACK - 16);
	assert_int_equal(walk(&w), GPC_UNWIND_LOST);
	/* To where there is no code. */
	set(&w, 6, STACK + 16);
	w.stack[2] = STACK + 64;
	w.stack[3] = 0x666000;
	assert_int_equal(walk(&w), GPC_UNWIND_LOST);
	assert_int_equal(w.n, 1);
	/* What is executed is no caller: 0 is no end for it. */
	set(&w, 6, 0);
	assert_int_equal(walk(&w), GPC_UNWIND_LOST);
	end(&w);
}

/* Rules that lead nowhere, or round in a circle. */
static void no_progress(void **state)
{
	struct world w;
	struct gpc_rule same = x86_rule(0), down = x86_rule(-64);
	(void)state;

	begin(&w, &gpc_unwind_x86_64);
	same.reg[16].value = 0;
	add(&w, TABLE, &same);
	add(&w, TABLE + 0x100, &down);
	finish(&w);
	set(&w, 7, STACK);
	w.stack[0] = TABLE + 8;
	w.regs.pc = TABLE + 8; /* returns to itself */
	assert_int_equal(walk(&w), GPC_UNWIND_LOST);
	w.regs.pc = TABLE + 4; /* once is fine for what is executed, then no more */
	assert_int_equal(walk(&w), GPC_UNWIND_LOST);
	assert_true(w.n <= 2);
	w.regs.pc = TABLE + 0x104;
	set(&w, 7, STACK + 128);
	w.stack[7] = TABLE + 8;
	assert_int_equal(walk(&w), GPC_UNWIND_LOST);
	end(&w);
}

/* A signal's frame can be anywhere, so a hostile stack can go round in it: their number
 * ends it, and it is no root. */
static void signals_in_a_circle(void **state)
{
	struct world w;
	struct gpc_rule rule = {.cfa_reg = 7, .is_signal = true, .ra = 16};
	(void)state;

	begin(&w, &gpc_unwind_x86_64);
	rule.reg[16].kind = GPC_RULE_AT;
	rule.reg[7].kind = GPC_RULE_AT;
	rule.reg[7].value = 8;
	add(&w, TABLE, &rule);
	finish(&w);
	set(&w, 7, STACK);
	w.stack[0] = w.regs.pc = TABLE + 8;
	w.stack[1] = STACK;
	assert_int_equal(walk(&w), GPC_UNWIND_LOST);
	assert_int_equal(w.n, GPC_UNWIND_SIGNALS + 1);
	assert_int_equal(w.frames[GPC_UNWIND_SIGNALS], TABLE + 8); /* not moved: nobody called */
	end(&w);
}

/* Each of so many frames has an expression of some hundred operations: all together are
 * too many. */
static void expressions_without_measure(void **state)
{
	uint8_t ops[250];
	struct world w;
	struct gpc_rule rule = {.cfa_is_expr = true, .ra = 16};
	(void)state;

	begin(&w, &gpc_unwind_x86_64);
	memset(ops, 0x96, sizeof ops); /* nothing, and then rsp + 8 */
	ops[248] = 0x77;
	ops[249] = 8;
	rule.cfa = gpc_rules_add_expr(&w.rules, ops, sizeof ops);
	rule.reg[16].kind = GPC_RULE_AT;
	rule.reg[16].value = -8;
	add(&w, TABLE, &rule);
	finish(&w);
	set(&w, 7, STACK);
	for (unsigned i = 0; i < WORDS; i++)
		w.stack[i] = TABLE + 8;
	w.regs.pc = TABLE + 8;
	assert_int_equal(walk(&w), GPC_UNWIND_LOST);
	assert_int_equal(w.n, GPC_UNWIND_OPERATIONS / 249 + 1);
	/* Each walk has its own. */
	assert_int_equal(walk(&w), GPC_UNWIND_LOST);
	assert_int_equal(w.n, GPC_UNWIND_OPERATIONS / 249 + 1);
	end(&w);
}

static void coroutine_entry(void **state)
{
	struct world w;
	struct gpc_rule leaf = x86_rule(8);
	(void)state;

	begin(&w, &gpc_unwind_x86_64);
	add(&w, TABLE, &leaf);
	add(&w, TABLE + 0x100, NULL);
	add(&w, TABLE + 0x110, &leaf);
	finish(&w);
	set(&w, 7, STACK);
	w.regs.pc = TABLE;
	w.stack[0] = TABLE + 0x110; /* the first byte of a function, padding before it */
	w.stack[1] = 0x1234;
	assert_int_equal(walk(&w), GPC_UNWIND_END);
	assert_int_equal(w.n, 2);
	assert_int_equal(w.frames[1], TABLE + 0x110);
	end(&w);
}

static void put_arguments(uint64_t *at, uint64_t argc)
{
	uint64_t strings = STACK + 8 * WORDS - 64;

	*at++ = argc;
	for (uint64_t i = 0; i < argc; i++)
		*at++ = strings + i;
	*at++ = 0;
	*at++ = strings + 32;
	*at++ = 0;
	*at++ = AT_SYSINFO_EHDR;
}

static void first_frame_of_a_program(void **state)
{
	struct world w;
	struct gpc_rule leaf = x86_rule(8);
	(void)state;

	begin(&w, &gpc_unwind_x86_64);
	add(&w, TABLE, &leaf);
	finish(&w);
	set(&w, 7, STACK);
	set(&w, 6, 77); /* no frame pointer */
	w.regs.pc = TABLE;
	w.stack[0] = PLAIN + 0x10;
	put_arguments(&w.stack[8], 3);
	assert_int_equal(walk(&w), GPC_UNWIND_END);
	assert_int_equal(w.n, 2);
	w.stack[8] = 2; /* not as many as there are */
	assert_int_equal(walk(&w), GPC_UNWIND_LOST);
	w.stack[8] = 3;
	assert_true(gpc_unwind_is_bottom(&w.v.mem, STACK + 8));
	w.stack[15] = AT_UID; /* what the kernel does not begin with */
	assert_false(gpc_unwind_is_bottom(&w.v.mem, STACK + 8));
	assert_false(gpc_unwind_is_bottom(&w.v.mem, STACK + 8 * WORDS));
	end(&w);
}

/* arm64: a leaf leaves its return address in x30; others save it, signed or not. */
static void arm64(void **state)
{
	struct world w;
	struct gpc_rule leaf = {.cfa_reg = 31, .ra = 30}, saved = leaf, root = leaf;
	(void)state;

	begin(&w, &gpc_unwind_aarch64);
	saved.cfa = 32;
	saved.is_signed = true;
	saved.reg[29].kind = saved.reg[30].kind = GPC_RULE_AT;
	saved.reg[29].value = -32;
	saved.reg[30].value = -24;
	root.reg[30].kind = GPC_RULE_UNDEFINED;
	add(&w, TABLE, &leaf);
	add(&w, TABLE + 0x100, &saved);
	add(&w, TABLE + 0x200, &root);
	finish(&w);
	set(&w, 31, STACK);
	set(&w, 30, TABLE + 0x110);
	w.regs.pc = TABLE + 4;
	w.stack[1] = (TABLE + 0x210) | UINT64_C(0x35) << 48;
	assert_int_equal(walk(&w), GPC_UNWIND_END);
	assert_int_equal(w.n, 3);
	assert_int_equal(w.frames[1], TABLE + 0x10f);
	assert_int_equal(w.frames[2], TABLE + 0x20f);
	/* Only what is executed can be a leaf. */
	w.stack[1] = TABLE + 8;
	assert_int_equal(walk(&w), GPC_UNWIND_LOST);
	end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_and_root),  cmocka_unit_test(waiting),
		cmocka_unit_test(copy_too_short),  cmocka_unit_test(frame_pointers),
		cmocka_unit_test(no_progress),     cmocka_unit_test(signals_in_a_circle),
		cmocka_unit_test(coroutine_entry), cmocka_unit_test(first_frame_of_a_program),
		cmocka_unit_test(arm64),           cmocka_unit_test(expressions_without_measure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

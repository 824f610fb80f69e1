/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "unwind/expr.h"

#define STACK UINT64_C(0x7ffc00001000)

struct world {
	uint64_t stack[8];
	struct gpc_unwind_regs regs;
	struct gpc_unwind_memory mem;
};

static void build(struct world *w)
{
	memset(w, 0, sizeof *w);
	w->regs.r[7] = STACK;
	w->regs.r[6] = STACK + 32;
	w->regs.pc = 0x40102b;
	w->regs.valid = 1 << 7 | 1 << 6;
	w->mem = (struct gpc_unwind_memory){.start = STACK,
					    .n = sizeof w->stack,
					    .bytes = (const uint8_t *)w->stack};
	for (unsigned i = 0; i < 8; i++)
		w->stack[i] = 100 + i;
}

static bool run(struct world *w, const uint8_t *ops, size_t n, const uint64_t *first, uint64_t *ret)
{
	struct gpc_expr e = {ops, n, &gpc_unwind_x86_64, &w->regs, &w->mem, NULL};

	return gpc_expr_run(&e, first, ret);
}

#define RUN(w, ret, ...) \
	run(w, (const uint8_t[]){__VA_ARGS__}, sizeof((uint8_t[]){__VA_ARGS__}), NULL, ret)

/* What linkers write for .plt: rsp + 8 + ((rip & 15) >= 11) << 3. */
static void plt(void **state)
{
	static const uint8_t ops[] = {0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22};
	struct world w;
	uint64_t value;
	(void)state;

	build(&w);
	assert_true(run(&w, ops, sizeof ops, NULL, &value));
	assert_int_equal(value, STACK + 16); /* pc ends with b */
	w.regs.pc = 0x401026;
	assert_true(run(&w, ops, sizeof ops, NULL, &value));
	assert_int_equal(value, STACK + 8);
}

static void arithmetic(void **state)
{
	uint64_t value, first = 1000;
	static const uint8_t minus8[] = {0x38, 0x1c};
	struct world w;
	(void)state;

	build(&w);
	assert_true(RUN(&w, &value, 0x09, 0xff, 0x1f)); /* -(-1) */
	assert_int_equal(value, 1);
	assert_true(RUN(&w, &value, 0x37, 0x33, 0x1b)); /* 7 / 3 */
	assert_int_equal(value, 2);
	assert_true(RUN(&w, &value, 0x11, 0x79, 0x32, 0x1b)); /* -7 / 2 */
	assert_int_equal((int64_t)value, -3);
	assert_true(RUN(&w, &value, 0x37, 0x33, 0x1d)); /* 7 % 3 */
	assert_int_equal(value, 1);
	assert_true(RUN(&w, &value, 0x35, 0x36, 0x37, 0x17)); /* 5 6 7 rot: 7 5 6 */
	assert_int_equal(value, 6);
	assert_true(RUN(&w, &value, 0x31, 0x08, 70, 0x24)); /* 1 << 70 */
	assert_int_equal(value, 0);
	assert_true(RUN(&w, &value, 0x31, 0x28, 1, 0, 0x96, 0x35)); /* taken: over the nop */
	assert_int_equal(value, 5);
	assert_true(run(&w, minus8, sizeof minus8, &first, &value));
	assert_int_equal(value, 992);
}

static void memory(void **state)
{
	uint64_t value;
	struct world w;
	(void)state;

	build(&w);
	assert_true(RUN(&w, &value, 0x77, 16, 0x06));
	assert_int_equal(value, 102);
	assert_true(RUN(&w, &value, 0x76, 8, 0x94, 1)); /* one byte at rbp + 8 */
	assert_int_equal(value, 105);
	assert_false(w.mem.was_short);
	assert_false(RUN(&w, &value, 0x77, 0xc0, 0x00, 0x06)); /* rsp + 64: behind the copy */
	assert_true(w.mem.was_short);
}

static void nonsense(void **state)
{
	uint64_t value;
	struct world w;
	(void)state;

	build(&w);
	assert_false(RUN(&w, &value, 0x22));             /* plus of nothing */
	assert_false(RUN(&w, &value, 0x31, 0x30, 0x1b)); /* 1 / 0 */
	assert_false(RUN(&w, &value, 0x73, 0));          /* rbx is not known */
	assert_false(RUN(&w, &value, 0x0e, 1, 2));       /* cut off */
	assert_false(RUN(&w, &value, 0xff));
	assert_false(RUN(&w, &value, 0x30, 0x15, 9));          /* pick too deep */
	assert_false(RUN(&w, &value, 0x2f, 0x00, 0x80));       /* to before the beginning */
	assert_false(RUN(&w, &value, 0x31, 0x2f, 0xfc, 0xff)); /* pushes for ever */
	assert_false(RUN(&w, &value, 0x2f, 0xfd, 0xff));       /* goes round for ever */
	assert_false(run(&w, NULL, 0, NULL, &value));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plt),
		cmocka_unit_test(arithmetic),
		cmocka_unit_test(memory),
		cmocka_unit_test(nonsense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

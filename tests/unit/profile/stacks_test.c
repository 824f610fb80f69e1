/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "profile/stacks.h"

static struct gpc_stacks *new_stacks(size_t max_bytes)
{
	struct gpc_stacks *s = NULL;

	assert_int_equal(gpc_stacks_new(max_bytes, &s, NULL), GPC_OK);
	return s;
}

/* 30 frames that share their root half with others. */
static void make_stack(gpc_frame *frames, uint64_t seed)
{
	for (uint64_t i = 0; i < 30; i++)
		frames[i] = 0x400000 + (i < 15 ? seed * 31 + i * 7 : i);
}

static uint64_t sum_rows(const struct gpc_stacks *s)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < gpc_stacks_rows(s); i++)
		sum += gpc_stacks_row(s, i).value;
	return sum;
}

static void equal_stacks_are_one_row(void **state)
{
	struct gpc_stacks *s = new_stacks(0);
	gpc_frame a[] = {1, 2, 3}, b[] = {1, 2};
	struct gpc_stack_row row;

	(void)state;
	assert_int_equal(gpc_stacks_add(s, 9, a, 3, 2), GPC_OK);
	assert_int_equal(gpc_stacks_add(s, 9, b, 2, 1), GPC_OK);
	assert_int_equal(gpc_stacks_add(s, 8, a, 3, 4), GPC_OK);
	assert_int_equal(gpc_stacks_add(s, 9, a, 3, 5), GPC_OK);
	assert_int_equal(gpc_stacks_rows(s), 3);
	row = gpc_stacks_row(s, 0);
	assert_int_equal(row.process, 9);
	assert_int_equal(row.value, 7);
	assert_int_equal(row.n_frames, 3);
	assert_memory_equal(row.frames, a, sizeof a);
	assert_int_equal(gpc_stacks_row(s, 1).n_frames, 2);
	assert_int_equal(gpc_stacks_row(s, 2).process, 8);
	assert_int_equal(gpc_stacks_total(s), 12);
	assert_int_equal(gpc_stacks_overflow(s), 0);
	gpc_stacks_free(s);
}

static void odd_rows(void **state)
{
	struct gpc_stacks *s = new_stacks(0);
	gpc_frame a[] = {1};

	(void)state;
	assert_int_equal(gpc_stacks_add(s, 1, a, 1, 0), GPC_OK);
	assert_int_equal(gpc_stacks_rows(s), 0);
	assert_int_equal(gpc_stacks_add(s, 1, NULL, 0, 3), GPC_OK);
	assert_int_equal(gpc_stacks_add(s, 1, NULL, 0, 3), GPC_OK);
	assert_int_equal(gpc_stacks_rows(s), 1);
	assert_int_equal(gpc_stacks_overflow(s), 0);
	assert_int_equal(gpc_stacks_add(s, UINT64_MAX, a, 1, UINT64_MAX - 1), GPC_OK);
	assert_int_equal(gpc_stacks_add(s, UINT64_MAX, a, 1, 5), GPC_OK);
	assert_true(gpc_stacks_row(s, 1).value == UINT64_MAX);
	assert_true(gpc_stacks_total(s) == UINT64_MAX);
	gpc_stacks_free(s);
	gpc_stacks_free(NULL);
}

static void large_stacks(void **state)
{
	static gpc_frame frames[65535];
	struct gpc_stacks *s = new_stacks(0);

	(void)state;
	for (size_t i = 0; i < 65535; i++)
		frames[i] = i;
	for (uint64_t i = 0; i < 3; i++)
		assert_int_equal(gpc_stacks_add(s, i, frames, 65535, 1), GPC_OK);
	assert_int_equal(gpc_stacks_add(s, 0, frames, 1, 1), GPC_OK);
	assert_int_equal(gpc_stacks_add(s, 0, frames, 65535, 1), GPC_OK);
	assert_int_equal(gpc_stacks_row(s, 0).value, 2);
	assert_memory_equal(gpc_stacks_row(s, 2).frames, frames, sizeof frames);
	gpc_stacks_free(s);
}

static void the_cap_holds_and_nothing_is_lost(void **state)
{
	struct gpc_stacks *s = new_stacks(100000);
	gpc_frame frames[30];
	size_t refused = 0;

	(void)state;
	for (uint64_t i = 0; i < 2000; i++) {
		gpc_status st;

		make_stack(frames, i);
		st = gpc_stacks_add(s, i % 3, frames, 30, 2);
		assert_true(st == GPC_OK || st == GPC_E_BUDGET);
		refused += st == GPC_E_BUDGET;
		assert_true(gpc_stacks_bytes(s) <= 100000 + 8192);
	}
	assert_true(refused > 1000 && refused < 1900);
	assert_int_equal(gpc_stacks_total(s), 4000);
	assert_int_equal(sum_rows(s), 4000);
	assert_int_equal(gpc_stacks_overflow(s), refused * 2);
	make_stack(frames, 0); /* a known one still counts where it belongs */
	assert_int_equal(gpc_stacks_add(s, 0, frames, 30, 1), GPC_OK);
	assert_int_equal(gpc_stacks_row(s, 0).value, 3);
	gpc_stacks_free(s);
}

static void a_tiny_cap(void **state)
{
	struct gpc_stacks *s = new_stacks(1);
	gpc_frame a[] = {1};

	(void)state;
	for (uint64_t i = 0; i < 100; i++)
		assert_int_equal(gpc_stacks_add(s, i % 2, a, 1, 1), GPC_E_BUDGET);
	assert_int_equal(gpc_stacks_rows(s), 2);
	assert_int_equal(gpc_stacks_total(s), 100);
	assert_int_equal(gpc_stacks_overflow(s), 100);
	gpc_stacks_free(s);
}

static void reset_keeps_what_it_may(void **state)
{
	struct gpc_stacks *s = new_stacks(0);
	gpc_frame frames[30];
	size_t grown = 0;

	(void)state;
	for (int round = 0; round < 20; round++) {
		for (uint64_t i = 0; i < 5000; i++) {
			make_stack(frames, i + (uint64_t)round);
			assert_int_equal(gpc_stacks_add(s, 1, frames, 30, 1), GPC_OK);
		}
		assert_int_equal(gpc_stacks_rows(s), 5000);
		if (round == 1)
			grown = gpc_stacks_bytes(s);
		if (round > 1)
			assert_true(gpc_stacks_bytes(s) <= grown);
		gpc_stacks_reset(s, 500000);
		assert_int_equal(gpc_stacks_rows(s), 0);
		assert_int_equal(gpc_stacks_total(s), 0);
		assert_true(gpc_stacks_bytes(s) <= 500000);
	}
	gpc_stacks_reset(s, 0);
	assert_true(gpc_stacks_bytes(s) < 256);
	make_stack(frames, 1);
	assert_int_equal(gpc_stacks_add(s, 1, frames, 30, 1), GPC_OK);
	gpc_stacks_free(s);
}

static void cost_of_a_known_stack(void **state)
{
	enum { STACKS = 3000, ROUNDS = 100 };
	static gpc_frame frames[STACKS][30];
	struct gpc_stacks *s = new_stacks(0);
	uint64_t begin, ns;

	(void)state;
	for (uint64_t i = 0; i < STACKS; i++)
		make_stack(frames[i], i);
	begin = gpc_now_ns();
	for (int round = 0; round < ROUNDS; round++)
		for (size_t i = 0; i < STACKS; i++)
			gpc_stacks_add(s, i % 7, frames[i * 7 % STACKS], 30, 1);
	ns = (gpc_now_ns() - begin) / (STACKS * ROUNDS);
	printf("%u ns to add a known stack of 30 frames (sanitizers make it slower)\n",
	       (unsigned)ns);
	assert_int_equal(gpc_stacks_total(s), STACKS * ROUNDS);
	assert_true(ns < 20000);
	gpc_stacks_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_stacks_are_one_row),
		cmocka_unit_test(odd_rows),
		cmocka_unit_test(large_stacks),
		cmocka_unit_test(the_cap_holds_and_nothing_is_lost),
		cmocka_unit_test(a_tiny_cap),
		cmocka_unit_test(reset_keeps_what_it_may),
		cmocka_unit_test(cost_of_a_known_stack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

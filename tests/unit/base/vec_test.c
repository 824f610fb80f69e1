/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/vec.h"

struct pair {
	uint32_t a;
	uint64_t b;
};

static void test_push_keeps_order(void **state)
{
	vec(uint64_t) v = {0};

	(void)state;
	for (uint64_t i = 0; i < 10000; i++)
		assert_true(vec_push(&v, i * i));
	assert_int_equal(v.n, 10000);
	assert_true(v.room >= v.n && v.room < v.n * 2);
	for (uint64_t i = 0; i < v.n; i++)
		assert_int_equal(v.at[i], i * i);
	vec_deinit(&v);
	assert_null(v.at);
	assert_int_equal(v.n + v.room, 0);
}

static void test_push_struct_literal(void **state)
{
	vec(struct pair) v = {0};

	(void)state;
	assert_true(vec_push(&v, (struct pair){.a = 1, .b = 2}));
	assert_int_equal(v.at[0].a, 1);
	assert_int_equal(v.at[0].b, 2);
	vec_deinit(&v);
	vec_deinit(&v);
}

static void test_reserve_makes_room_once(void **state)
{
	vec(int) v = {0};
	int *before;

	(void)state;
	assert_true(vec_push(&v, 5));
	assert_true(vec_reserve(&v, 1000));
	assert_true(v.room >= 1001);
	assert_int_equal(v.n, 1);
	before = v.at;
	for (int i = 0; i < 1000; i++)
		assert_true(vec_push(&v, i));
	assert_ptr_equal(v.at, before);
	assert_int_equal(v.at[0], 5);
	vec_deinit(&v);
}

static void test_absurd_size_is_refused(void **state)
{
	vec(struct pair) v = {0};
	volatile size_t most = SIZE_MAX; /* the compiler is not to see through it */

	(void)state;
	assert_true(vec_push(&v, (struct pair){.a = 7}));
	assert_false(vec_reserve(&v, most / 2));
	assert_false(vec_reserve(&v, most / sizeof(struct pair)));
	assert_int_equal(v.n, 1);
	assert_int_equal(v.at[0].a, 7);
	vec_deinit(&v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_push_keeps_order),
		cmocka_unit_test(test_push_struct_literal),
		cmocka_unit_test(test_reserve_makes_room_once),
		cmocka_unit_test(test_absurd_size_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../../plugins/python/brief.h"

#define UNTIL 1000

static void each_in_its_place(void **state)
{
	struct py_briefs b = {0};
	struct py_frame frames[4] = {{.code = 0x1000, .pointer = 0x10f0},
				     {.code = 0x1000, .pointer = 0x10f2},
				     {.code = 0x2000, .pointer = 0x10f0},
				     {.code = 0x3000, .pointer = 0x3010}};
	gpc_frame got[4];
	(void)state;

	gpc_py_briefs_find(&b, frames, 4, 0, got);
	for (int i = 0; i < 4; i++)
		assert_int_equal(got[i], 0);
	gpc_py_briefs_put(&b, &frames[0], 7, UNTIL);
	gpc_py_briefs_put(&b, &frames[3], 9, UNTIL);
	gpc_py_briefs_find(&b, frames, 4, UNTIL - 1, got);
	assert_int_equal(got[0], 7);
	assert_int_equal(got[1], 0);
	assert_int_equal(got[2], 0);
	assert_int_equal(got[3], 9);
}

static void not_for_ever(void **state)
{
	struct py_briefs b = {0};
	struct py_frame f = {.code = 0x1000, .pointer = 0x10f0};
	gpc_frame got;
	(void)state;

	gpc_py_briefs_put(&b, &f, 7, UNTIL);
	gpc_py_briefs_find(&b, &f, 1, UNTIL, &got);
	assert_int_equal(got, 0);
	gpc_py_briefs_put(&b, &f, 8, 2 * UNTIL);
	gpc_py_briefs_find(&b, &f, 1, UNTIL, &got);
	assert_int_equal(got, 8);
}

/* More than there are places for: the latest are known, and none as another. */
static void more_than_places(void **state)
{
	struct py_briefs b = {0};
	unsigned known = 0;
	(void)state;

	for (uint64_t i = 1; i <= 1000; i++) {
		struct py_frame f = {.code = i << 8, .pointer = (i << 8) + 64};

		gpc_py_briefs_put(&b, &f, i, UNTIL);
	}
	for (uint64_t i = 1; i <= 1000; i++) {
		struct py_frame f = {.code = i << 8, .pointer = (i << 8) + 64};
		gpc_frame got;

		gpc_py_briefs_find(&b, &f, 1, 0, &got);
		assert_true(got == 0 || got == i);
		known += got == i;
	}
	assert_true(known > PY_BRIEFS / 2 && known <= PY_BRIEFS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_in_its_place),
		cmocka_unit_test(not_for_ever),
		cmocka_unit_test(more_than_places),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

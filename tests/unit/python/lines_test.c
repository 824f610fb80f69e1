/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../../../plugins/python/lines.h"

#define LINE(format, table, first, at) gpc_py_line(format, table, sizeof table, first, at)

/* Objects/lnotab_notes.txt of CPython 3.9, its own example. */
static void lnotab(void **state)
{
	static const uint8_t table[] = {0, 1, 6, 1, 44, 5, 50, 1, 255, 0, 45, 200};

	(void)state;
	assert_int_equal(LINE(PY_LINES_LNOTAB, table, 1, 0), 2);
	assert_int_equal(LINE(PY_LINES_LNOTAB, table, 1, 5), 2);
	assert_int_equal(LINE(PY_LINES_LNOTAB, table, 1, 6), 3);
	assert_int_equal(LINE(PY_LINES_LNOTAB, table, 1, 49), 3);
	assert_int_equal(LINE(PY_LINES_LNOTAB, table, 1, 50), 8);
	assert_int_equal(LINE(PY_LINES_LNOTAB, table, 100, 399), 108);
	/* 3.6 on: 200 is -56; 2.7: it is 200. */
	assert_int_equal(LINE(PY_LINES_LNOTAB, table, 100, 400), 52);
	assert_int_equal(LINE(PY_LINES_OLD_LNOTAB, table, 100, 400), 308);
	assert_int_equal(LINE(PY_LINES_LNOTAB, table, 7, -1), 7);
}

/* Ranges of 3.10: [0,6) line 2, [6,50) none, [50,350) line 1. */
static void ranges(void **state)
{
	static const uint8_t table[] = {6, 1, 44, 128, 254, 255, 46, 0};

	(void)state;
	assert_int_equal(LINE(PY_LINES_TABLE, table, 1, 0), 2);
	assert_int_equal(LINE(PY_LINES_TABLE, table, 1, 6), 0);
	assert_int_equal(LINE(PY_LINES_TABLE, table, 1, 50), 1);
	assert_int_equal(LINE(PY_LINES_TABLE, table, 1, 349), 1);
	assert_int_equal(LINE(PY_LINES_TABLE, table, 1, 350), 0);
}

/* Entries of 3.11, by Objects/locations.md: each with its code and length. */
static void locations(void **state)
{
	static const uint8_t table[] = {
		0x80 | 3 << 3 | 1,  0x12,              /* short, 2 units: line as it is */
		0x80 | 11 << 3 | 0, 5,        6,       /* one line on, 1 unit */
		0x80 | 13 << 3 | 7, 0x40 | 9, 4,       /* no columns: 9 + 4 * 64 = 265: -132 */
		0x80 | 15 << 3 | 0,                    /* none */
		0x80 | 14 << 3 | 0, 2,        0, 1, 1, /* long: one on */
	};

	(void)state;
	assert_int_equal(LINE(PY_LINES_LOCATIONS, table, 500, 0), 500);
	assert_int_equal(LINE(PY_LINES_LOCATIONS, table, 500, 3), 500);
	assert_int_equal(LINE(PY_LINES_LOCATIONS, table, 500, 4), 501);
	assert_int_equal(LINE(PY_LINES_LOCATIONS, table, 500, 6), 369);
	assert_int_equal(LINE(PY_LINES_LOCATIONS, table, 500, 21), 369);
	assert_int_equal(LINE(PY_LINES_LOCATIONS, table, 500, 22), 0);
	assert_int_equal(LINE(PY_LINES_LOCATIONS, table, 500, 24), 370);
	assert_int_equal(LINE(PY_LINES_LOCATIONS, table, 500, 26), 0);
	assert_int_equal(LINE(PY_LINES_LOCATIONS, table, 500, -2), 500);
}

/* Cut anywhere, a table gives a line or none, and no read beyond it (sanitizer). */
static void cut_tables(void **state)
{
	static const uint8_t bytes[] = {0xE8, 0x7F, 0x7F, 0x7F, 0x7F, 0x7F, 0x7F, 0x7F,
					0x7F, 0x7F, 0x7F, 0x7F, 0x7F, 0xF7, 0xFF, 0xFF};

	(void)state;
	for (size_t n = 0; n <= sizeof bytes; n++) {
		uint8_t *copy = malloc(n ? n : 1);

		for (size_t i = 0; i < n; i++)
			copy[i] = bytes[i];
		for (int f = PY_LINES_OLD_LNOTAB; f <= PY_LINES_LOCATIONS; f++)
			for (int32_t at = -4; at < 4000; at += 7)
				assert_true(gpc_py_line((enum py_lines)f, copy, n, INT32_MAX, at) <=
					    INT32_MAX);
		free(copy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lnotab),
		cmocka_unit_test(ranges),
		cmocka_unit_test(locations),
		cmocka_unit_test(cut_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

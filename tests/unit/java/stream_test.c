/* SPDX-License-Identifier: Apache-2.0 */
/* Compressed streams: written here by the rules of OpenJDK's comments, read back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "method.h"
#include "scopes.h"

/* The encoder: 6 bits in each byte but the last, which is below 192 (OpenJDK
 * code/compressedStream.cpp, write_int_mb). From 20 on all bytes are one more, but the
 * last is still below 192 (utilities/unsigned5.hpp: X, L = 256 - X - H, H = 64). */
static uint32_t encode(uint32_t value, uint32_t excluded, uint8_t *out)
{
	uint32_t n = 0, low = 192 - excluded;

	while (value >= low && n < 4) {
		value -= low;
		out[n++] = (uint8_t)(192 + value % 64);
		value /= 64;
	}
	out[n++] = (uint8_t)(value + excluded);
	return n;
}

static void test_unsigned5_values(void **state)
{
	static const struct {
		uint8_t bytes[5];
		uint32_t n, excluded, value;
	} rows[] = {
		{{0}, 1, 0, 0},        {{191}, 1, 0, 191},    {{192, 0}, 2, 0, 192},
		{{255, 0}, 2, 0, 255}, {{192, 1}, 2, 0, 256}, {{1}, 1, 1, 0},
		{{191}, 1, 1, 190},    {{192, 1}, 2, 1, 191}, {{193, 1}, 2, 1, 192},
		{{255, 1}, 2, 1, 254}, {{193, 2}, 2, 1, 256},
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		uint32_t value = 77;

		assert_int_equal(gpc_java_unsigned5(rows[i].bytes, 5, rows[i].excluded, &value),
				 rows[i].n);
		assert_int_equal(value, rows[i].value);
	}
}

static void test_unsigned5_round_trip(void **state)
{
	(void)state;
	for (uint32_t v = 0; v < 5000000; v = v < 20000 ? v + 1 : v + 997)
		for (uint32_t excluded = 0; excluded < 2; excluded++) {
			uint8_t bytes[5];
			uint32_t n = encode(v, excluded, bytes), got = 0;

			assert_int_equal(gpc_java_unsigned5(bytes, n, excluded, &got), n);
			assert_int_equal(got, v);
		}
}

static void test_unsigned5_ends(void **state)
{
	static const uint8_t open[] = {255, 255, 255, 255};
	uint32_t value = 0;

	(void)state;
	assert_int_equal(gpc_java_unsigned5(open, sizeof open, 0, &value), 0);
	assert_int_equal(gpc_java_unsigned5(open, 0, 0, &value), 0);
	assert_int_equal(gpc_java_unsigned5((const uint8_t[]){0}, 1, 1, &value), 0);
}

static uint32_t sign(int32_t v)
{
	return v < 0 ? (uint32_t)(-(int64_t)v * 2 - 1) : (uint32_t)v * 2;
}

/* bci 0 line 10, bci 5 line 11, bci 40 line 8, bci 300 line 1000. */
static void test_lines(void **state)
{
	uint8_t t[64];
	uint32_t n = 0;

	(void)state;
	t[n++] = 255; /* line 10 does not fit into three bits */
	n += encode(sign(0), 0, t + n);
	n += encode(sign(10), 0, t + n);
	t[n++] = 5 << 3 | 1;
	t[n++] = 255;
	n += encode(sign(35), 0, t + n);
	n += encode(sign(-3), 0, t + n);
	t[n++] = 255;
	n += encode(sign(260), 0, t + n);
	n += encode(sign(992), 0, t + n);
	t[n++] = 0;
	assert_int_equal(gpc_java_line_of(t, n, 0, 0), 10);
	assert_int_equal(gpc_java_line_of(t, n, 0, 4), 10);
	assert_int_equal(gpc_java_line_of(t, n, 0, 5), 11);
	assert_int_equal(gpc_java_line_of(t, n, 0, 39), 11);
	assert_int_equal(gpc_java_line_of(t, n, 0, 299), 8);
	assert_int_equal(gpc_java_line_of(t, n, 0, 300), 1000);
	/* Cut short, empty */
	assert_int_equal(gpc_java_line_of(t, 4, 0, 300), 11);
	assert_int_equal(gpc_java_line_of(t, 0, 0, 0), 0);
	assert_int_equal(gpc_java_line_of(t, 2, 0, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unsigned5_values),
		cmocka_unit_test(test_unsigned5_round_trip),
		cmocka_unit_test(test_unsigned5_ends),
		cmocka_unit_test(test_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

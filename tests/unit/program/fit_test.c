/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "program/fit.h"

static const char *fit(const char *s, size_t columns)
{
	static char buf[400];

	assert_true(gpc_fit(s, columns, buf, sizeof buf) <= columns);
	return buf;
}

static void short_names_stay(void **state)
{
	(void)state;
	assert_string_equal(fit("main", 4), "main");
	assert_string_equal(fit("", 4), "");
	assert_string_equal(fit("Zählen", 6), "Zählen");
	assert_int_equal(gpc_fit_columns("Zählen"), 6);
}

static void long_names_are_cut_in_the_middle(void **state)
{
	(void)state;
	assert_string_equal(fit("abcdefghij", 5), "ab…ij");
	assert_string_equal(fit("abcdefghij", 6), "abc…ij");
	assert_string_equal(fit("abcdefghij", 9), "abcd…ghij");
	assert_string_equal(fit("abcdefghij", 2), "a…");
	assert_string_equal(fit("abcdefghij", 1), "…");
	assert_string_equal(fit("abcdefghij", 0), "");
	assert_string_equal(fit("do_syscall_64_[k]", 10), "do_sy…_[k]");
}

/* Two columns each: an odd one stays free, nothing is overrun. */
static void wide_characters(void **state)
{
	(void)state;
	assert_int_equal(gpc_fit_columns("世界"), 4);
	assert_int_equal(gpc_fit_columns("🚀x"), 3);
	assert_string_equal(fit("世界", 4), "世界");
	assert_string_equal(fit("世界世界", 7), "世界…界");
	assert_string_equal(fit("世界世界", 5), "世…界");
	assert_string_equal(fit("世界", 3), "世…");
	assert_string_equal(fit("世界", 2), "…");
}

static void combining_marks_take_no_column(void **state)
{
	(void)state;
	assert_int_equal(gpc_fit_columns("e\xCC\x81t"), 2);
	assert_string_equal(fit("e\xCC\x81t", 2), "e\xCC\x81t");
	/* A mark does not move over to the ellipsis. */
	assert_string_equal(fit("abcde\xCC\x81xy", 5), "ab…xy");
}

static void nothing_reaches_the_terminal(void **state)
{
	(void)state;
	assert_string_equal(fit("a\033[2Jb", 20), "a?[2Jb");
	assert_string_equal(fit("a\nb\tc\r\x7F", 20), "a?b?c??");
	assert_string_equal(fit("\xC2\x9B"
				"31m",
				20),
			    "?31m"); /* CSI in one character */
	assert_string_equal(fit("\xE2\x80\xAE"
				"abc",
				20),
			    "?abc"); /* right to left */
	assert_string_equal(fit("\xFF\xC3(\xE2\x82", 20), "\?\?(\?\?");
	assert_string_equal(fit("\xC0\x80\xED\xA0\x80", 20), "???");
}

static void small_buffers(void **state)
{
	char buf[6];

	(void)state;
	assert_int_equal(gpc_fit("abcdefghij", 20, buf, sizeof buf), 5);
	assert_string_equal(buf, "abcde");
	assert_int_equal(gpc_fit("世界", 20, buf, sizeof buf), 2);
	assert_string_equal(buf, "世");
	gpc_fit("abc", 3, buf, 1);
	assert_string_equal(buf, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(short_names_stay),
		cmocka_unit_test(long_names_are_cut_in_the_middle),
		cmocka_unit_test(wide_characters),
		cmocka_unit_test(combining_marks_take_no_column),
		cmocka_unit_test(nothing_reaches_the_terminal),
		cmocka_unit_test(small_buffers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

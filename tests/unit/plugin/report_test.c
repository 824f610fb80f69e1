/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "plugin/report.h"

static void test_equal_reports_are_counted(void **state)
{
	struct gpc_reports r = {0};

	(void)state;
	assert_true(gpc_reports_add(&r, 7, 70, GPC_E_PERM, "no"));
	assert_false(gpc_reports_add(&r, 7, 70, GPC_E_PERM, "no"));
	assert_true(gpc_reports_add(&r, 8, 80, GPC_E_PERM, "no"));
	assert_true(gpc_reports_add(&r, 7, 70, GPC_E_BUSY, "no"));
	assert_true(gpc_reports_add(&r, 7, 70, GPC_E_PERM, "never"));
	assert_int_equal(r.list.n, 4);
	assert_int_equal(r.list.at[0].count, 2);
	assert_int_equal(r.list.at[1].pid, 80);
	gpc_reports_deinit(&r);
}

static void test_reports_are_bounded_and_the_rest_is_counted(void **state)
{
	struct gpc_reports r = {0};

	(void)state;
	for (uint64_t i = 0; i < GPC_REPORTS_MAX + 5; i++)
		gpc_reports_add(&r, i + 1, 1, GPC_E_PERM, "");
	assert_int_equal(r.list.n, GPC_REPORTS_MAX);
	assert_int_equal(r.dropped, 5);
	gpc_reports_deinit(&r);
	assert_int_equal(r.dropped, 0);
}

static void test_long_texts_are_cut(void **state)
{
	struct gpc_reports r = {0};
	char text[GPC_REPORT_DETAIL * 2];

	(void)state;
	memset(text, 'x', sizeof text);
	text[sizeof text - 1] = '\0';
	assert_true(gpc_reports_add(&r, 1, 1, GPC_E_PERM, text));
	text[GPC_REPORT_DETAIL + 9] = 'y'; /* equal as far as they are kept */
	assert_false(gpc_reports_add(&r, 1, 1, GPC_E_PERM, text));
	assert_int_equal(strlen(r.list.at[0].detail), GPC_REPORT_DETAIL - 1);
	gpc_reports_deinit(&r);
}

static void test_the_latest_reason_is_found(void **state)
{
	struct gpc_reports r = {0};

	(void)state;
	assert_null(gpc_reports_find(&r, 7, GPC_E_PERM));
	gpc_reports_add(&r, 7, 70, GPC_E_PERM, "first");
	gpc_reports_add(&r, 7, 70, GPC_E_PERM, "second");
	gpc_reports_add(&r, 7, 70, GPC_E_PERM, ""); /* no reason */
	gpc_reports_add(&r, 8, 80, GPC_E_PERM, "of another");
	gpc_reports_add(&r, 7, 70, GPC_E_BUSY, "of another kind");
	assert_string_equal(gpc_reports_find(&r, 7, GPC_E_PERM)->detail, "second");
	assert_null(gpc_reports_find(&r, 8, GPC_E_BUSY));
	gpc_reports_deinit(&r);
}

static void test_frames(void **state)
{
	struct gpc_report r = {.code = GPC_E_PERM, .detail = "no"};
	char buf[64];

	(void)state;
	assert_true(gpc_report_frame(&r, buf, sizeof buf));
	assert_string_equal(buf, "[Profiling error: no]");
	r.code = GPC_E_SKIPPED;
	assert_true(gpc_report_frame(&r, buf, sizeof buf));
	assert_string_equal(buf, "[Profiling skipped: no]");
	r = (struct gpc_report){.code = GPC_E_TIMEOUT};
	assert_true(gpc_report_frame(&r, buf, sizeof buf));
	assert_string_equal(buf, "[Profiling error: timeout]");
	r.code = GPC_E_GONE;
	assert_false(gpc_report_frame(&r, buf, sizeof buf));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_equal_reports_are_counted),
		cmocka_unit_test(test_reports_are_bounded_and_the_rest_is_counted),
		cmocka_unit_test(test_long_texts_are_cut),
		cmocka_unit_test(test_the_latest_reason_is_found),
		cmocka_unit_test(test_frames),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

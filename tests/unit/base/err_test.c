/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"

static void test_set(void **state)
{
	struct gpc_err err;

	(void)state;
	assert_int_equal(gpc_err_set(&err, GPC_E_CONFIG, "line %d: %s", 3, "no value"),
			 GPC_E_CONFIG);
	assert_int_equal(err.code, GPC_E_CONFIG);
	assert_int_equal(err.sys, 0);
	assert_string_equal(err.text, "line 3: no value");
}

static void test_sys_follows_errno(void **state)
{
	static const struct {
		int sys;
		gpc_status code;
	} cases[] = {
		{ENOENT, GPC_E_GONE},   {ESRCH, GPC_E_GONE},    {EACCES, GPC_E_PERM},
		{EPERM, GPC_E_PERM},    {ENOMEM, GPC_E_NOMEM},  {ETIMEDOUT, GPC_E_TIMEOUT},
		{EINVAL, GPC_E_SYSTEM}, {ENOSPC, GPC_E_SYSTEM},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct gpc_err err;

		errno = cases[i].sys;
		assert_int_equal(gpc_err_sys(&err, "open %s", "x"), cases[i].code);
		assert_int_equal(err.sys, cases[i].sys);
		assert_int_equal(strncmp(err.text, "open x: ", 8), 0);
		errno = cases[i].sys;
		assert_int_equal(gpc_err_sys(NULL, "open"), cases[i].code);
	}
	errno = ENOENT;
	struct gpc_err err;
	gpc_err_sys(&err, "open");
	assert_string_equal(err.text, "open: No such file or directory");
}

static void test_prefix_keeps_code(void **state)
{
	struct gpc_err err;

	(void)state;
	errno = EACCES;
	gpc_err_sys(&err, "read");
	assert_int_equal(gpc_err_prefix(&err, "plugin %s", "perf"), GPC_E_PERM);
	assert_int_equal(err.sys, EACCES);
	assert_string_equal(err.text, "plugin perf: read: Permission denied");
}

static void test_null_is_allowed(void **state)
{
	(void)state;
	assert_int_equal(gpc_err_set(NULL, GPC_E_BUSY, "x"), GPC_E_BUSY);
	assert_int_equal(gpc_err_nomem(NULL), GPC_E_NOMEM);
	assert_true(gpc_err_prefix(NULL, "x") < 0);
}

static void test_long_texts_are_cut(void **state)
{
	char longer[GPC_ERR_TEXT * 2];
	struct gpc_err err;

	(void)state;
	memset(longer, 'x', sizeof longer - 1);
	longer[sizeof longer - 1] = '\0';
	gpc_err_set(&err, GPC_E_INTERNAL, "%s", longer);
	assert_int_equal(strlen(err.text), GPC_ERR_TEXT - 1);
	errno = ENOENT;
	gpc_err_sys(&err, "%s", longer);
	assert_int_equal(strlen(err.text), GPC_ERR_TEXT - 1);
	gpc_err_prefix(&err, "%s", longer);
	assert_int_equal(strlen(err.text), GPC_ERR_TEXT - 1);
}

static void test_status_names(void **state)
{
	(void)state;
	assert_string_equal(gpc_status_name(GPC_OK), "ok");
	assert_string_equal(gpc_status_name(GPC_E_GONE), "gone");
	assert_string_equal(gpc_status_name(GPC_E_RETRY), "retry");
	assert_string_equal(gpc_status_name(1), "unknown status");
	assert_string_equal(gpc_status_name(-1000), "unknown status");
	assert_string_equal(gpc_status_name(INT32_MIN), "unknown status");
}

static gpc_status fails_early(int *reached)
{
	gpc_try(GPC_OK);
	++*reached;
	gpc_try(GPC_E_BUSY);
	++*reached;
	return GPC_OK;
}

static void test_try_returns(void **state)
{
	int reached = 0;

	(void)state;
	assert_int_equal(fails_early(&reached), GPC_E_BUSY);
	assert_int_equal(reached, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_set),
		cmocka_unit_test(test_sys_follows_errno),
		cmocka_unit_test(test_prefix_keeps_code),
		cmocka_unit_test(test_null_is_allowed),
		cmocka_unit_test(test_long_texts_are_cut),
		cmocka_unit_test(test_status_names),
		cmocka_unit_test(test_try_returns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

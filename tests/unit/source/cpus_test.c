/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "source/cpus.h"

static void check(const char *text, const char *expected)
{
	struct gpc_cpus cpus = {0};
	char got[256] = "";

	assert_int_equal(gpc_cpus_parse(text, &cpus, NULL), GPC_OK);
	for (size_t i = 0; i < cpus.list.n; i++)
		sprintf(got + strlen(got), "%u ", cpus.list.at[i]);
	assert_string_equal(got, expected);
	gpc_cpus_deinit(&cpus);
}

static void test_lists(void **state)
{
	(void)state;
	check("0", "0 ");
	check("0-3\n", "0 1 2 3 ");
	check("0-1,8,10-11\n", "0 1 8 10 11 ");
	check("7-7", "7 ");
	check("", "");
	check("\n", "");
	check("65535", "65535 ");
}

static void test_nonsense(void **state)
{
	static const char *const texts[] = {"x",    "0-",  "0-x",   "-1",
					    "3-1",  "0;1", "65536", "0-65536",
					    "0,,1", "0 1", "1-2-3", "99999999999999999999"};

	(void)state;
	for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
		struct gpc_cpus cpus = {0};
		struct gpc_err err = {0};

		if (gpc_cpus_parse(texts[k], &cpus, &err) != GPC_E_CORRUPT)
			fail_msg("'%s' is no list of CPUs", texts[k]);
		assert_null(cpus.list.at);
		assert_true(err.text[0]);
	}
}

static void test_largest(void **state)
{
	struct gpc_cpus cpus = {0};

	(void)state;
	assert_int_equal(gpc_cpus_parse("0-65535", &cpus, NULL), GPC_OK);
	assert_int_equal(cpus.list.n, 65536);
	gpc_cpus_deinit(&cpus);
}

static void test_has(void **state)
{
	struct gpc_cpus cpus = {0};

	(void)state;
	assert_int_equal(gpc_cpus_parse("1,4-5", &cpus, NULL), GPC_OK);
	assert_false(gpc_cpus_has(&cpus, 0));
	assert_true(gpc_cpus_has(&cpus, 1));
	assert_true(gpc_cpus_has(&cpus, 5));
	assert_false(gpc_cpus_has(&cpus, 6));
	gpc_cpus_deinit(&cpus);
	assert_false(gpc_cpus_has(&cpus, 1));
}

static void test_this_machine(void **state)
{
	struct gpc_cpus cpus = {0};

	(void)state;
	assert_int_equal(gpc_cpus_online(&cpus, NULL), GPC_OK);
	assert_int_equal(cpus.list.n, sysconf(_SC_NPROCESSORS_ONLN));
	gpc_cpus_deinit(&cpus);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lists),        cmocka_unit_test(test_nonsense),
		cmocka_unit_test(test_largest),      cmocka_unit_test(test_has),
		cmocka_unit_test(test_this_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

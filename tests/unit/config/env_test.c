/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

static void names_are_derived_from_the_long_name(void **state)
{
	struct fixture *f = *state;

	assert_ok(f, ENV(f, "GPROFILER_FREQUENCY=50", "GPROFILER_OUTPUT_DIR=/x=y", "FREQUENCY=3",
			 "GPROFILER_NO_VERIFY=1", "gprofiler_upload=1", "GPROFILER_SERVICE=s",
			 "GPROFILER_BYTES=7", "GPROFILER_NO_EQUALS"));
	apply(f);
	assert_int_equal(f->v.hz, 50);
	assert_string_equal(f->v.dir, "/x=y");
	assert_int_equal(f->v.verify, 0);
	assert_int_equal(f->v.upload, 0);
	assert_int_equal(f->v.size, 0); /* an alias has no variable */
	assert_ok(f, gpc_options_check_known(f->o, &f->err));
}

static void switches_know_six_words(void **state)
{
	static const char *const on[] = {"true", "YES", "1", "True"};
	static const char *const off[] = {"false", "No", "0"};
	static const char *const bad[] = {"", "on", "2", "maybe", "true "};
	struct fixture *f = *state;
	char text[64];

	for (size_t i = 0; i < 4; i++) {
		gpc_options_reset(f->o);
		snprintf(text, sizeof text, "GPROFILER_CONTINUOUS=%s", on[i]);
		assert_ok(f, ENV(f, text));
		apply(f);
		assert_int_equal(f->v.continuous, 1);
	}
	for (size_t i = 0; i < 3; i++) {
		gpc_options_reset(f->o);
		snprintf(text, sizeof text, "GPROFILER_CONTINUOUS=%s", off[i]);
		assert_ok(f, ENV(f, text));
		apply(f);
		assert_int_equal(f->v.continuous, 0);
		assert_int_equal(gpc_options_origin(f->o, "continuous"), GPC_FROM_DEFAULT);
	}
	for (size_t i = 0; i < 5; i++) {
		snprintf(text, sizeof text, "GPROFILER_CONTINUOUS=%s", bad[i]);
		assert_refused(f, ENV(f, text), "--continuous",
			       "environment variable GPROFILER_CONTINUOUS", "true, yes, 1");
	}
}

static void false_leaves_a_file_its_say(void **state)
{
	struct fixture *f = *state;

	assert_ok(f, FILE_TEXT(f, "continuous = true\n"));
	assert_ok(f, ENV(f, "GPROFILER_CONTINUOUS=false", "GPROFILER_NO_VERIFY=no"));
	apply(f);
	assert_int_equal(f->v.continuous, 1);
	assert_int_equal(f->v.verify, 1);
}

static void empty_is_a_value(void **state)
{
	struct fixture *f = *state;

	assert_ok(f, FILE_TEXT(f, "output-dir = /from/file"));
	assert_ok(f, ENV(f, "GPROFILER_SAFEMODE=", "GPROFILER_OUTPUT_DIR=", "GPROFILER_ITEMS="));
	apply(f);
	assert_int_equal(f->v.safemode.n, 0);
	assert_int_equal(f->v.items.n, 0);
	assert_string_equal(f->v.dir, "");
	assert_refused(f, ENV(f, "GPROFILER_FREQUENCY="), "--frequency",
		       "environment variable GPROFILER_FREQUENCY");
}

static void lists_come_in_brackets(void **state)
{
	struct fixture *f = *state;

	assert_ok(f, ENV(f, "GPROFILER_ITEMS=[a, b ,c]", "GPROFILER_FILTER=[^a.*,b]",
			 "GPROFILER_PIDS=1,2"));
	apply(f);
	assert_string_equal(joined(&f->v.items), "a|b|c");
	assert_string_equal(joined(&f->v.filters), "^a.*|b");
	assert_string_equal(joined(&f->v.pids), "1|2");
	gpc_options_reset(f->o);
	assert_ok(f, ENV(f, "GPROFILER_ITEMS=[]", "GPROFILER_FILTER=a,b"));
	apply(f);
	assert_int_equal(f->v.items.n, 0);
	assert_string_equal(joined(&f->v.filters), "a,b");
	assert_refused(f, ENV(f, "GPROFILER_PIDS=[1,x]"), "--pids", "'x'", "whole number");
	assert_refused(f, ENV(f, "GPROFILER_ITEMS=a,,b"), "--items", "''");
}

static void order_in_the_environment_means_nothing(void **state)
{
	struct fixture *f = *state;

	assert_ok(f, ENV(f, "GPROFILER_NO_MODE=1", "GPROFILER_MODE=dwarf"));
	apply(f);
	assert_int_equal(f->v.mode, 2);
	gpc_options_reset(f->o);
	assert_ok(f, ENV(f, "GPROFILER_MODE=dwarf", "GPROFILER_NO_MODE=1"));
	apply(f);
	assert_int_equal(f->v.mode, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_fixture(names_are_derived_from_the_long_name),
		with_fixture(switches_know_six_words),
		with_fixture(false_leaves_a_file_its_say),
		with_fixture(empty_is_a_value),
		with_fixture(lists_come_in_brackets),
		with_fixture(order_in_the_environment_means_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include "config/option_impl.h"

struct number_case {
	const char *text;
	int64_t want;
};

static void sizes_are_binary(void **state)
{
	static const struct number_case good[] = {
		{"0", 0},
		{"100", 100},
		{"64k", 65536},
		{"2mb", 2097152},
		{"100kb", 102400},
		{"1.5 MiB", 1572864},
		{" 3g ", INT64_C(3) << 30},
		{"0.1k", 102},
		{"9223372036854775807", INT64_MAX},
	};
	static const char *const bad[] = {"",
					  "k",
					  "-1",
					  "1x",
					  "1 2",
					  "1.",
					  ".5",
					  "1..5",
					  "0x1",
					  "9223372036854775808",
					  "9999999999t",
					  "1e3",
					  "nan"};
	int64_t got;

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		assert_true(gpc_option_bytes(good[i].text, &got));
		assert_int_equal(got, good[i].want);
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		if (gpc_option_bytes(bad[i], &got))
			fail_msg("'%s' was taken", bad[i]);
}

static void durations_are_seconds_unless_they_say(void **state)
{
	static const struct number_case good[] = {
		{"60", INT64_C(60000000000)},
		{"10ms", 10000000},
		{"2s", INT64_C(2000000000)},
		{"0.5", 500000000},
		{"3us", 3000},
		{"7ns", 7},
		{"1m", INT64_C(60000000000)},
		{"1h", INT64_C(3600000000000)},
		{"0.0000000019", 1},
	};
	static const char *const bad[] = {"", "s", "-1s", "1y", "1 0", "300000000000000"};
	int64_t got;

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		assert_true(gpc_option_duration(good[i].text, &got));
		assert_int_equal(got, good[i].want);
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		if (gpc_option_duration(bad[i], &got))
			fail_msg("'%s' was taken", bad[i]);
}

static void whole_numbers(void **state)
{
	const struct gpc_option free_int = {.type = GPC_OPT_INT};
	const struct gpc_option from_zero = {.type = GPC_OPT_INT, .max = INT64_MAX};
	static const char *const bad[] = {"", "x", "1x", "1.0", "9223372036854775808", "0x10", " "};
	struct gpc_err err;
	int64_t got;

	(void)state;
	assert_int_equal(gpc_option_number(&free_int, "-7", &got, &err), GPC_OK);
	assert_int_equal(got, -7);
	assert_int_equal(gpc_option_number(&from_zero, "0", &got, &err), GPC_OK);
	assert_int_equal(got, 0);
	assert_int_equal(gpc_option_number(&from_zero, "-1", &got, &err), GPC_E_CONFIG);
	assert_string_equal(err.text,
			    "'-1' is not allowed, it must be a whole number of at least 0");
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_equal(gpc_option_number(&free_int, bad[i], &got, &err), GPC_E_CONFIG);
	assert_int_equal(got, 0); /* untouched on failure */
}

static void bounds_are_shown_in_their_unit(void **state)
{
	const struct gpc_option wait = {.type = GPC_OPT_DURATION,
					.min = 10000000,
					.max = INT64_C(120000000000)};
	const struct gpc_option size = {.type = GPC_OPT_BYTES, .min = 1, .max = 1 << 20};
	struct gpc_err err;
	int64_t got;

	(void)state;
	assert_int_equal(gpc_option_number(&wait, "3m", &got, &err), GPC_E_CONFIG);
	assert_non_null(strstr(err.text, "from 10ms to 2m"));
	assert_int_equal(gpc_option_number(&size, "2mb", &got, &err), GPC_E_CONFIG);
	assert_non_null(strstr(err.text, "from 1 to 1m"));
}

static void choices_are_whole_words(void **state)
{
	const struct gpc_option mode = {.type = GPC_OPT_CHOICE, .choices = "auto|pyspy|py-spy"};
	static const char *const bad[] = {"", "aut", "auto|pyspy", "AUTO", "py", "|"};
	struct gpc_err err;
	int64_t got;

	(void)state;
	assert_int_equal(gpc_option_number(&mode, "py-spy", &got, &err), GPC_OK);
	assert_int_equal(got, 2); /* an alias has an index of its own */
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_equal(gpc_option_number(&mode, bad[i], &got, &err), GPC_E_CONFIG);
	assert_non_null(strstr(err.text, "one of auto, pyspy, py-spy"));
}

static void lists_of_choices_check_each_element(void **state)
{
	struct fixture *f = *state;

	assert_refused(f, ARGS(f, "--safemode=oom,bad"), "--safemode", "'bad'",
		       "one of oom, hserr, all");
	assert_refused(f, ARGS(f, "--pids=0"), "--pids", "'0'", "from 1 to 4194304");
	assert_ok(f, ARGS(f, "--items=[ 'a b' , \"c\" ]"));
	apply(f);
	assert_string_equal(joined(&f->v.items), "a b|c");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_are_binary),
		cmocka_unit_test(durations_are_seconds_unless_they_say),
		cmocka_unit_test(whole_numbers),
		cmocka_unit_test(bounds_are_shown_in_their_unit),
		cmocka_unit_test(choices_are_whole_words),
		with_fixture(lists_of_choices_check_each_element),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

static void long_options_take_values_in_two_ways(void **state)
{
	struct fixture *f = *state;

	assert_ok(f, ARGS(f, "--frequency=99", "--output-dir", "/tmp/a b", "--continuous"));
	apply(f);
	assert_int_equal(f->v.hz, 99);
	assert_string_equal(f->v.dir, "/tmp/a b");
	assert_int_equal(f->v.continuous, 1);
	assert_int_equal(f->v.upload, 0);
}

static void short_options_are_bundled(void **state)
{
	struct fixture *f = *state;

	assert_ok(f, ARGS(f, "-cuf99", "-o", "out"));
	apply(f);
	assert_int_equal(f->v.continuous, 1);
	assert_int_equal(f->v.upload, 1);
	assert_int_equal(f->v.hz, 99);
	assert_string_equal(f->v.dir, "out");
	assert_ok(f, ARGS(f, "-cf=7", "-uo", "deep"));
	apply(f);
	assert_int_equal(f->v.hz, 7);
	assert_string_equal(f->v.dir, "deep");
	assert_refused(f, ARGS(f, "-cz"), "unknown option -z", "command line");
}

static void prefixes_must_fit_one_option(void **state)
{
	struct fixture *f = *state;

	assert_ok(f, ARGS(f, "--out=x", "--freq", "5", "--oct=3"));
	apply(f);
	assert_string_equal(f->v.dir, "x");
	assert_int_equal(f->v.hz, 5);
	assert_int_equal(f->v.size, 3);
	assert_refused(f, ARGS(f, "--no=1"), "--no is ambiguous", "--no-verify", "--no-mode");
	/* hidden options have no short ways, an exact name is never ambiguous */
	assert_refused(f, ARGS(f, "--ol", "1"), "unknown option --ol");
	assert_ok(f, ARGS(f, "--mode=dwarf", "--old=1"));
}

static void last_one_wins_but_lists_append(void **state)
{
	struct fixture *f = *state;

	assert_ok(f, ARGS(f, "-f1", "-f2", "--items=a,b", "--items", "c", "--filter=a,b",
			  "--filter=[x]+"));
	apply(f);
	assert_int_equal(f->v.hz, 2);
	assert_string_equal(joined(&f->v.items), "a|b|c");
	assert_string_equal(joined(&f->v.filters), "a,b|[x]+");
}

static void rows_that_share_a_member_override_each_other(void **state)
{
	struct fixture *f = *state;

	assert_ok(f, ARGS(f, "--mode=dwarf", "--no-mode"));
	apply(f);
	assert_int_equal(f->v.mode, 2);
	assert_ok(f, ARGS(f, "--mode=dwarf"));
	apply(f);
	assert_int_equal(f->v.mode, 1);
}

static void optional_values_may_be_left_out(void **state)
{
	struct fixture *f = *state;

	apply(f);
	assert_string_equal(joined(&f->v.safemode), "oom|hserr");
	assert_ok(f, ARGS(f, "--safemode", "-c"));
	apply(f);
	assert_string_equal(joined(&f->v.safemode), "all");
	gpc_options_reset(f->o);
	assert_ok(f, ARGS(f, "--safemode", "hserr"));
	apply(f);
	assert_string_equal(joined(&f->v.safemode), "hserr");
	gpc_options_reset(f->o);
	assert_ok(f, ARGS(f, "--safemode="));
	apply(f);
	assert_int_equal(f->v.safemode.n, 0);
	gpc_options_reset(f->o);
	assert_ok(f, ARGS(f, "--safemode=\"\""));
	apply(f);
	assert_int_equal(f->v.safemode.n, 0);
}

static void values_may_look_like_options_in_part(void **state)
{
	struct fixture *f = *state;

	assert_refused(f, ARGS(f, "-o", "--continuous"), "--output-dir (command line)",
		       "a value is needed");
	assert_refused(f, ARGS(f, "-f"), "--frequency (command line)", "a value is needed");
	assert_refused(f, ARGS(f, "-f", "-5"), "'-5'", "from 1 to 1000");
	assert_ok(f, ARGS(f, "-o", "-x -y", "--output-dir=-z", "-o", "-"));
	assert_ok(f, ARGS(f, "--output-dir", ""));
	apply(f);
	assert_string_equal(f->v.dir, "");
}

static void switches_take_no_value(void **state)
{
	struct fixture *f = *state;

	assert_refused(f, ARGS(f, "--continuous=true"), "--continuous", "takes no value");
}

static void positional_arguments_are_handed_out(void **state)
{
	struct fixture *f = *state;

	assert_ok(f, ARGS(f, "plugins", "-c", "show", "--", "--java", "-"));
	assert_int_equal(f->n_rest, 4);
	assert_string_equal(f->rest[0], "plugins");
	assert_string_equal(f->rest[1], "show");
	assert_string_equal(f->rest[2], "--java");
	assert_string_equal(f->rest[3], "-");
	assert_refused(f, ARGS(f, "1", "2", "3", "4", "five"), "unexpected argument", "five");
}

static void unknown_options_name_the_nearest(void **state)
{
	struct fixture *f = *state;

	assert_refused(f, ARGS(f, "--frequenzy=3"), "unknown option --frequenzy ", "--frequency?");
	assert_refused(f, ARGS(f, "--dir", "x"), "unknown option --dir", "--output-dir?");
	assert_refused(f, ARGS(f, "--quite-another"), "unknown option --quite-another");
	assert_null(strstr(f->err.text, "mean"));
}

static void a_lenient_pass_leaves_the_rest_to_a_second_one(void **state)
{
	struct fixture *f = *state;

	assert_ok(f, args_of(f, true,
			     (char *const[]){"--java-mode", "ap", "-Zc", "--output-dir=x",
					     "--java-x=1", "--mode=odd", "a", "b", "c", "d", "e",
					     NULL}));
	assert_int_equal(f->v.continuous, 0);
	assert_refused(f, gpc_options_apply(f->o, &f->err), "--mode", "'odd'");
	gpc_options_reset(f->o);
	apply(f);
	assert_null(f->v.dir);
}

static void secrets_are_never_in_errors(void **state)
{
	struct fixture *f = *state;

	assert_refused(f, ARGS(f, "--token=hunter2"), "--token", "not shown");
	assert_null(strstr(f->err.text, "hunter2"));
	assert_refused(f, ARGS(f, "--tokn=hunter2"), "unknown option --tokn");
	assert_null(strstr(f->err.text, "hunter2"));
	assert_refused(f, ARGS(f, "--token:hunter2"), "unknown option --token");
	assert_null(strstr(f->err.text, "hunter2"));
	assert_refused(f, ARGS(f, "a", "b", "c", "d", "--token", "good", "hunter2"), "unexpected");
	assert_null(strstr(f->err.text, "hunter2"));
	assert_refused(f, gpc_options_set(f->o, "token", "hunter2", GPC_FROM_ARGS, &f->err),
		       "--token");
	assert_null(strstr(f->err.text, "hunter2"));
}

static void errors_are_short_and_printable(void **state)
{
	struct fixture *f = *state;
	char text[2000] = "--frequency=\x1b[31m";

	memset(text + strlen(text), 'z', sizeof text - strlen(text) - 1);
	text[sizeof text - 1] = '\0';
	assert_refused(f, ARGS(f, text), "'?[31mzzz", "zzz...'", "from 1 to 1000");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_fixture(long_options_take_values_in_two_ways),
		with_fixture(short_options_are_bundled),
		with_fixture(prefixes_must_fit_one_option),
		with_fixture(last_one_wins_but_lists_append),
		with_fixture(rows_that_share_a_member_override_each_other),
		with_fixture(optional_values_may_be_left_out),
		with_fixture(values_may_look_like_options_in_part),
		with_fixture(switches_take_no_value),
		with_fixture(positional_arguments_are_handed_out),
		with_fixture(unknown_options_name_the_nearest),
		with_fixture(a_lenient_pass_leaves_the_rest_to_a_second_one),
		with_fixture(secrets_are_never_in_errors),
		with_fixture(errors_are_short_and_printable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

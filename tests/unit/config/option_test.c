/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

struct late {
	int32_t mode;
	int32_t check;
	struct gpc_list features;
	int64_t n;
};

#define LATE(opt_type, opt_name, member)                                                        \
	.struct_size = sizeof(struct gpc_option), .type = GPC_OPT_##opt_type, .name = opt_name, \
	.offset = offsetof(struct late, member)

static const struct gpc_option late_rows[] = {
	{LATE(CHOICE, "mode", mode), .choices = "ap|disabled|none", .fallback = "ap",
	 .flags = GPC_OPT_MODE},
	{LATE(CHOICE, "no-java", mode), .implied = "disabled",
	 .flags = GPC_OPT_ABSOLUTE | GPC_OPT_SWITCH},
	{LATE(BOOL, "no-version-check", check), .implied = "false", .fallback = "true",
	 .flags = GPC_OPT_SWITCH},
	{LATE(LIST, "features", features), .fallback = "probesp,vtable"},
	{LATE(INT, "n", n), .min = 0, .max = 9},
	{0},
};

static void sources_rank(void **state)
{
	static const char system[] = "frequency=4\noutput-dir=4\nsize=4\nwait=4";
	struct fixture *f = *state;

	apply(f);
	assert_int_equal(f->v.hz, 11);
	assert_int_equal(gpc_options_origin(f->o, "frequency"), GPC_FROM_DEFAULT);
	assert_ok(f, ARGS(f, "-f1"));
	assert_ok(f,
		  ENV(f, "GPROFILER_FREQUENCY=2", "GPROFILER_OUTPUT_DIR=2", "GPROFILER_ITEMS=e"));
	assert_ok(f, FILE_TEXT(f, "frequency=3\noutput-dir=3\nsize=3\nitems=f"));
	assert_ok(f, gpc_options_file_text(f->o, system, strlen(system), "x", GPC_FROM_SYSTEM_FILE,
					   false, &f->err));
	apply(f);
	assert_int_equal(f->v.hz, 1);
	assert_string_equal(f->v.dir, "2");
	assert_int_equal(f->v.size, 3);
	assert_int_equal(f->v.wait, INT64_C(4000000000));
	assert_string_equal(joined(&f->v.items), "e"); /* sources do not add up */
	assert_int_equal(gpc_options_origin(f->o, "frequency"), GPC_FROM_ARGS);
	assert_int_equal(gpc_options_origin(f->o, "output-dir"), GPC_FROM_ENV);
	assert_int_equal(gpc_options_origin(f->o, "bytes"), GPC_FROM_FILE);
	assert_int_equal(gpc_options_origin(f->o, "wait"), GPC_FROM_SYSTEM_FILE);
	assert_int_equal(gpc_options_origin(f->o, "unheard-of"), GPC_FROM_DEFAULT);
}

static void members_shared_by_rows_obey_the_rank_too(void **state)
{
	struct fixture *f = *state;

	assert_ok(f, ARGS(f, "--mode=dwarf"));
	assert_ok(f, ENV(f, "GPROFILER_NO_MODE=1"));
	apply(f);
	assert_int_equal(f->v.mode, 1);
	assert_int_equal(gpc_options_origin(f->o, "no-mode"), GPC_FROM_ARGS);
}

static void values_wait_for_their_table(void **state)
{
	struct fixture *f = *state;
	struct late late = {0};

	assert_ok(f, ENV(f, "GPROFILER_NO_JAVA=true", "GPROFILER_JAVA_NO_VERSION_CHECK=0"));
	assert_ok(f, gpc_options_set(f->o, "java-features", "a,b", GPC_FROM_FILE, &f->err));
	assert_ok(f, gpc_options_add(f->o, "java", "Java", late_rows, &late, &f->err));
	assert_ok(f, gpc_options_check_known(f->o, &f->err));
	apply(f);
	assert_int_equal(late.mode, 1);
	assert_int_equal(late.check, 1);
	assert_string_equal(joined(&late.features), "a|b");
	gpc_options_reset(f->o);
	apply(f);
	assert_int_equal(late.mode, 0);
	assert_string_equal(joined(&late.features), "probesp|vtable");
}

static void a_bad_value_that_waited_is_told_at_apply(void **state)
{
	struct fixture *f = *state;
	struct late late = {0};

	assert_ok(f, ENV(f, "GPROFILER_JAVA_N=ten"));
	assert_ok(f, gpc_options_add(f->o, "java", "Java", late_rows, &late, &f->err));
	assert_refused(f, gpc_options_apply(f->o, &f->err), "--java-n", "GPROFILER_JAVA_N", "'ten'",
		       "from 0 to 9");
}

static void zero_is_accepted_where_it_means_unlimited(void **state)
{
	struct fixture *f = *state;

	assert_ok(f, ARGS(f, "--size=0", "--wait", "0"));
	apply(f);
	assert_int_equal(f->v.size, 0);
	assert_int_equal(gpc_options_origin(f->o, "wait"), GPC_FROM_ARGS);
}

static void set_is_like_the_command_line(void **state)
{
	struct fixture *f = *state;

	assert_ok(f, FILE_TEXT(f, "continuous=true"));
	assert_ok(f, gpc_options_set(f->o, "continuous", "false", GPC_FROM_ARGS, &f->err));
	assert_ok(f, gpc_options_set(f->o, "upload", NULL, GPC_FROM_ARGS, &f->err));
	assert_ok(f, gpc_options_set(f->o, "no-verify", "false", GPC_FROM_ARGS, &f->err));
	apply(f);
	assert_int_equal(f->v.continuous, 0);
	assert_int_equal(f->v.upload, 1);
	assert_int_equal(f->v.verify, 1);
	assert_refused(f, gpc_options_set(f->o, "upload", "perhaps", GPC_FROM_ARGS, &f->err),
		       "--upload (command line)", "'perhaps'");
	assert_refused(f, gpc_options_set(f->o, "frequency", NULL, GPC_FROM_ARGS, &f->err),
		       "a value is needed");
}

static void failed_apply_stores_nothing(void **state)
{
	struct fixture *f = *state;

	assert_ok(f, args_of(f, true, (char *const[]){"-f5", "--mode=odd", NULL}));
	assert_refused(f, gpc_options_apply(f->o, &f->err), "--mode");
	assert_int_equal(f->v.hz, 0);
}

static void count_and_keep(void *ctx, const char *text)
{
	snprintf(ctx, 256, "%s%s", *(char *)ctx ? "MORE " : "", text);
}

static void deprecated_rows_warn_once(void **state)
{
	struct fixture *f = *state;
	char text[256] = "";

	gpc_options_deprecated(f->o, count_and_keep, text);
	assert_string_equal(text, "");
	assert_ok(f, ARGS(f, "--old=1", "-c", "--old=2"));
	gpc_options_deprecated(f->o, count_and_keep, text);
	assert_string_equal(text, "--old (command line) is deprecated: use --new");
}

static void expect_bad_row(struct fixture *f, struct gpc_option row, const char *why)
{
	struct late late = {0};
	struct gpc_option table[] = {
		{LATE(INT, "fine", n)},
		row,
		{0},
	};

	assert_refused(f, gpc_options_add(f->o, "odd", "Odd", table, &late, &f->err),
		       "options of odd: row 1", why);
	assert_ok(f, gpc_options_set(f->o, "odd-fine", "1", GPC_FROM_ARGS, &f->err));
	assert_refused(f, gpc_options_check_known(f->o, &f->err), "odd-fine");
	gpc_options_reset(f->o);
}

static void bad_tables_are_refused_whole(void **state)
{
	struct fixture *f = *state;
	struct gpc_option row = {LATE(INT, "x", mode)};

	expect_bad_row(f, (struct gpc_option){LATE(INT, NULL, n)}, "no name");
	expect_bad_row(f, (struct gpc_option){LATE(INT, "Bad Name", n)}, "no option name");
	expect_bad_row(f, (struct gpc_option){LATE(INT, "a", n), .aliases = "b||c"}, "no option");
	expect_bad_row(f, (struct gpc_option){LATE(INT, "fine", n)}, "--odd-fine is already taken");
	expect_bad_row(f, (struct gpc_option){LATE(INT, "a", n), .aliases = "frequency"},
		       "--frequency is already taken");
	expect_bad_row(f, (struct gpc_option){LATE(INT, "a", n), .short_name = 'f'}, "-f is");
	expect_bad_row(f, (struct gpc_option){LATE(INT, "a", n), .short_name = '-'}, "short name");
	expect_bad_row(f, (struct gpc_option){LATE(INT, "a", n), .fallback = "x"}, "fallback: 'x'");
	expect_bad_row(f, (struct gpc_option){LATE(INT, "a", n), .min = 2, .max = 1}, "min");
	expect_bad_row(f, (struct gpc_option){LATE(INT, "a", n), .flags = GPC_OPT_SWITCH},
		       "implied");
	expect_bad_row(f,
		       (struct gpc_option){LATE(BOOL, "a", check),
					   .flags = GPC_OPT_SWITCH | GPC_OPT_OPTIONAL},
		       "both SWITCH and OPTIONAL");
	expect_bad_row(f, (struct gpc_option){LATE(INT, "a", n), .implied = "x"}, "implied: 'x'");
	expect_bad_row(f, (struct gpc_option){LATE(CHOICE, "a", mode)}, "no choices");
	expect_bad_row(f, (struct gpc_option){LATE(INT, "a", n), .flags = GPC_OPT_MODE}, "MODE");
	expect_bad_row(f, (struct gpc_option){LATE(INT, "a", n), .flags = GPC_OPT_REGEX}, "REGEX");
	expect_bad_row(f, (struct gpc_option){LATE(INT, "a", n), .flags = GPC_OPT_LAST}, "LAST");
	expect_bad_row(f, (struct gpc_option){LATE(BOOL, "a", check), .absent = -1}, "absent");
	expect_bad_row(f, (struct gpc_option){LATE(INT, "a", n), .absent = -1, .fallback = "1"},
		       "never absent");
	expect_bad_row(f, (struct gpc_option){LATE(STRING, "a", n)}, "overlaps that of --odd-fine");
	row.offset += 4;
	expect_bad_row(f, row, "not aligned");
	row.type = 77;
	expect_bad_row(f, row, "type is unknown");
}

static void shared_choices_must_be_the_same(void **state)
{
	struct fixture *f = *state;
	struct late late = {0};
	const struct gpc_option rows[] = {
		{LATE(CHOICE, "mode", mode), .choices = "ap|disabled"},
		{LATE(CHOICE, "no-x", mode), .choices = "disabled", .implied = "disabled",
		 .flags = GPC_OPT_SWITCH},
		{0},
	};

	assert_refused(f, gpc_options_add(f->o, "m", "M", rows, &late, &f->err), "row 1 (no-x)",
		       "choices differ from those of --m-mode");
}

static void tables_of_other_sizes_are_read(void **state)
{
	struct fixture *f = *state;
	struct {
		struct gpc_option opt;
		uint64_t unknown_to_us;
	} longer[3] = {{{LATE(INT, "a", n)}, 1}, {{LATE(BOOL, "b", check)}, 2}, {{0}, 0}};
	struct late late = {0};
	struct gpc_option tiny[] = {{.struct_size = 8, .type = GPC_OPT_INT, .name = "t"}, {0}};

	longer[0].opt.struct_size = longer[1].opt.struct_size = sizeof longer[0];
	assert_ok(f, gpc_options_add(f->o, "my_mod", "M", &longer[0].opt, &late, &f->err));
	assert_ok(f, ARGS(f, "--my-mod-a=3", "--my-mod-b", "yes"));
	apply(f);
	assert_int_equal(late.n, 3);
	assert_int_equal(late.check, 1);
	assert_int_equal(gpc_options_bytes(&longer[0].opt), sizeof late);
	assert_refused(f, gpc_options_add(f->o, "tiny", "T", tiny, &late, &f->err), "8 bytes");
	assert_ok(f, gpc_options_add(f->o, "none", "N", NULL, NULL, &f->err));
	assert_int_equal(gpc_options_bytes(NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_fixture(sources_rank),
		with_fixture(members_shared_by_rows_obey_the_rank_too),
		with_fixture(values_wait_for_their_table),
		with_fixture(a_bad_value_that_waited_is_told_at_apply),
		with_fixture(zero_is_accepted_where_it_means_unlimited),
		with_fixture(set_is_like_the_command_line),
		with_fixture(failed_apply_stores_nothing),
		with_fixture(deprecated_rows_warn_once),
		with_fixture(bad_tables_are_refused_whole),
		with_fixture(shared_choices_must_be_the_same),
		with_fixture(tables_of_other_sizes_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include "config/core_options.h"

/* What --help prints, new; freed by the caller. */
static char *help_of(const struct gpc_options *o, int width)
{
	char *text = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&text, &n);

	assert_non_null(out);
	gpc_options_help(o, "prog [options]", out, width);
	fclose(out);
	return text;
}

static void rows_show_names_values_and_defaults(void **state)
{
	static const char *const lines[] = {
		"usage: prog [options]\n",
		"\nsample:\n",
		"  -f, --frequency N       Samples a second (default: 11)\n",
		"  -c, --continuous",
		"--size, --bytes, --octets SIZE",
		"--mode {fp,dwarf,disabled}",
		"--safemode [{oom,hserr,all}]",
	};
	struct fixture *f = *state;
	char *text = help_of(f->o, 80);

	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		if (!strstr(text, lines[i]))
			fail_msg("no '%s' in:\n%s", lines[i], text);
	assert_null(strstr(text, "--old")); /* hidden */
	free(text);
}

static void secrets_have_no_default_to_show(void **state)
{
	struct fixture *f = *state;
	struct sample more = {0};
	const struct gpc_option rows[] = {
		{SAMPLE(STRING, "pass", dir), .fallback = "hunter2", .flags = GPC_OPT_SECRET},
		{0},
	};
	char *text;

	assert_ok(f, gpc_options_add(f->o, "m", "M", rows, &more, &f->err));
	text = help_of(f->o, 80);
	assert_non_null(strstr(text, "--m-pass"));
	assert_null(strstr(text, "hunter2"));
	free(text);
}

static void lines_are_wrapped(void **state)
{
	struct gpc_core_options core = {0};
	struct gpc_options *o;
	char *text;

	(void)state;
	assert_int_equal(gpc_options_new(&o, NULL), GPC_OK);
	assert_int_equal(gpc_core_options_add(o, &core, NULL), GPC_OK);
	text = help_of(o, 80);
	for (const char *at = text; *at; at += strcspn(at, "\n") + 1)
		if (strcspn(at, "\n") > 80)
			fail_msg("too long: %.*s", (int)strcspn(at, "\n"), at);
	assert_non_null(strstr(text, "  -h, --help  "));
	assert_non_null(strstr(text, "  --version  "));
	assert_non_null(strstr(text, "  -f, --profiling-frequency N\n"));
	assert_null(strstr(text, "debug-raw-records"));
	assert_null(strstr(text, "glogger"));
	free(text);
	gpc_options_free(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_fixture(rows_show_names_values_and_defaults),
		with_fixture(secrets_have_no_default_to_show),
		cmocka_unit_test(lines_are_wrapped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

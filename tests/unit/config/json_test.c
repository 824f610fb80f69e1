/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include <jansson.h>

static char *dump(json_t *j)
{
	char *text = json_dumps(j, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);

	json_decref(j);
	assert_non_null(text);
	return text;
}

static void values_stand_under_their_dest(void **state)
{
	struct fixture *f = *state;
	char *text;

	assert_ok(f, ARGS(f, "--no-verify", "--wait=1.5s", "--pids=5,6", "--token=good", "-o",
			  "\xff"));
	apply(f);
	text = dump(gpc_options_json(f->o));
	assert_string_equal(text, "{\"continuous\":false,\"filter\":null,\"frequency\":11,"
				  "\"items\":[\"x\",\"y\"],\"mode\":\"fp\","
				  "\"old\":null,\"output_dir\":\"?\",\"pids\":[5,6],"
				  "\"plain\":false,\"safemode\":[\"oom\",\"hserr\"],\"size\":null,"
				  "\"upload\":false,\"verify\":false,\"wait\":1.5}");
	free(text);
}

static void secrets_are_left_out_whatever_row_fills_them(void **state)
{
	struct fixture *f = *state;
	struct sample more = {0};
	const struct gpc_option rows[] = {
		{SAMPLE(STRING, "pass", dir), .flags = GPC_OPT_SECRET},
		{SAMPLE(STRING, "password", dir)},
		{0},
	};
	char *text;

	assert_ok(f, gpc_options_add(f->o, "", "M", rows, &more, &f->err));
	assert_ok(f, ARGS(f, "--password=hunter2"));
	apply(f);
	assert_string_equal(more.dir, "hunter2");
	text = dump(gpc_options_json(f->o));
	assert_null(strstr(text, "pass"));
	assert_null(strstr(text, "hunter2"));
	free(text);
}

static void schema_describes_a_table(void **state)
{
	const struct gpc_option rows[] = {
		{SAMPLE(CHOICE, "mode", mode), .choices = "a|b", .fallback = "a", .short_name = 'm',
		 .help = "How", .flags = GPC_OPT_MODE},
		{SAMPLE(DURATION, "wait", wait), .min = 1000000000, .max = INT64_C(2000000000),
		 .aliases = "delay"},
		{SAMPLE(STRING, "pass", dir), .fallback = "hunter2", .flags = GPC_OPT_SECRET},
		{0},
	};
	char *text = dump(gpc_options_schema(rows, "mod"));

	(void)state;
	assert_string_equal(
		text,
		"[{\"choices\":[\"a\",\"b\"],\"default\":\"a\",\"env\":\"GPROFILER_MOD_MODE\","
		"\"flags\":[\"mode\"],\"help\":\"How\",\"name\":\"mod-mode\",\"short\":\"m\","
		"\"type\":\"choice\"},"
		"{\"aliases\":[\"delay\"],\"env\":\"GPROFILER_MOD_WAIT\",\"flags\":[],"
		"\"max\":2,\"min\":1,\"name\":\"mod-wait\",\"type\":\"duration\"},"
		"{\"env\":\"GPROFILER_MOD_PASS\",\"flags\":[\"secret\"],"
		"\"name\":\"mod-pass\",\"type\":\"string\"}]");
	free(text);
	text = dump(gpc_options_schema(NULL, "mod"));
	assert_string_equal(text, "[]");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_fixture(values_stand_under_their_dest),
		with_fixture(secrets_are_left_out_whatever_row_fills_them),
		cmocka_unit_test(schema_describes_a_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

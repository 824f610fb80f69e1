/* SPDX-License-Identifier: Apache-2.0 */
#include "place.h"

#include <jansson.h>

#include "plugin/describe.h"

static const struct gpc_rights only_ptrace = {.caps = UINT64_C(1) << 19, .perf_event_paranoid = 2};
static const struct gpc_rights all = {.caps = UINT64_MAX};

static void scan(struct place *p, struct gpc_modules *ms)
{
	assert_int_equal(gpc_modules_scan(ms, p->dir, true, NULL, NULL), GPC_OK);
}

static void assert_has(const char *text, const char *part)
{
	if (!text || !strstr(text, part))
		fail_msg("\"%s\" is not in:\n%s", part, text ? text : "");
}

static char *list_text(const struct gpc_modules *ms, const struct gpc_rights *rights)
{
	char *text = NULL;
	size_t n;
	FILE *out = open_memstream(&text, &n);

	assert_non_null(out);
	assert_int_equal(gpc_describe_list(ms, rights, out, NULL), GPC_OK);
	fclose(out);
	return text;
}

/* Where column STATE begins in each line. */
static void assert_aligned(const char *text)
{
	const char *head = strstr(text, "TOUCH");
	size_t column = (size_t)(head - text);

	for (const char *line = strchr(text, '\n') + 1; *line; line = strchr(line, '\n') + 1) {
		assert_int_equal(line[column - 1], ' ');
		assert_int_not_equal(line[column], ' ');
	}
}

static void lists_loaded_and_refused(void **state)
{
	struct place *p = *state;
	struct gpc_modules ms = {0};
	char *text;

	place_module(p, "good", "good.so");
	place_module(p, "older", "older.so");
	place_module(p, "no_note", "a_file_with_a_long_name.so");
	scan(p, &ms);
	text = list_text(&ms, &only_ptrace);
	assert_has(text, "NAME ");
	assert_has(text, "1.2.3    0.1  good_sampler; sink good_drain  reads    "
			 "good_sampler lacks CAP_PERFMON\n");
	assert_has(text, "older ");
	assert_has(text, " nothing  ready\n");
	assert_has(text, "a_file_with_a_long_name.so  -");
	assert_has(text, "refused: it is no gpc plugin");
	assert_aligned(text);
	free(text);
	text = list_text(&ms, &all);
	assert_null(strstr(text, "lacks"));
	free(text);
	gpc_modules_deinit(&ms);
}

static void lists_nothing(void **state)
{
	struct gpc_modules ms = {0};
	char *text = list_text(&ms, &all);

	(void)state;
	assert_string_equal(text, "NAME  VERSION  ABI  COLLECTORS, SINKS  TOUCH  STATE\n");
	free(text);
}

static void shows_text(void **state)
{
	struct place *p = *state;
	struct gpc_modules ms = {0};
	char *text = NULL;
	size_t n;
	FILE *out = open_memstream(&text, &n);

	place_module(p, "good", "good.so");
	scan(p, &ms);
	assert_int_equal(gpc_describe_show(ms.at[0], &only_ptrace, out, NULL), GPC_OK);
	fclose(out);
	assert_has(text, "good 1.2.3: a module for tests\n");
	assert_has(text, place_path(p, "good.so"));
	assert_has(text, "collector good_sampler: samples nothing\n");
	assert_has(text, "measures  cpu, wall\n");
	assert_has(text, "needs     CAP_PERFMON (missing here)\n");
	assert_has(text, "needs     CAP_SYS_PTRACE (met here)\n");
	assert_has(text, "event     cpu-time (samples)\n");
	assert_has(text, "suffixes  g\n");
	assert_has(text, "sink good_drain: writes nothing\n");
	assert_has(text, "--good-count (default 3)\n      How many.\n");
	assert_has(text, "--good-token\n");
	free(text);
	gpc_modules_deinit(&ms);
}

static json_t *show_json(const struct gpc_loaded_module *m)
{
	json_t *j = NULL;

	assert_int_equal(gpc_describe_json(m, &only_ptrace, &j, NULL), GPC_OK);
	return j;
}

static void shows_json(void **state)
{
	struct place *p = *state;
	struct gpc_modules ms = {0};
	json_t *j, *c, *needs;

	place_module(p, "good", "good.so");
	scan(p, &ms);
	j = show_json(ms.at[0]);
	assert_string_equal(json_string_value(json_object_get(j, "name")), "good");
	assert_string_equal(json_string_value(json_object_get(j, "path")),
			    place_path(p, "good.so"));
	assert_true(json_is_false(json_object_get(j, "builtin")));
	assert_int_equal(json_integer_value(json_object_get(json_object_get(j, "abi"), "minor")),
			 GPC_ABI_MINOR);
	c = json_array_get(json_object_get(j, "collectors"), 0);
	assert_string_equal(json_string_value(json_object_get(c, "scope")), "system");
	assert_string_equal(json_string_value(json_object_get(c, "touch")), "reads");
	assert_int_equal(json_array_size(json_object_get(c, "caps")), 2);
	assert_int_equal(json_array_size(json_object_get(c, "match")), 1);
	assert_int_equal(json_array_size(json_object_get(c, "events")), 1);
	needs = json_object_get(c, "needs");
	assert_true(json_is_false(json_object_get(json_array_get(needs, 0), "met")));
	assert_true(json_is_true(json_object_get(json_array_get(needs, 1), "met")));
	assert_int_equal(json_array_size(json_object_get(j, "sinks")), 1);
	assert_int_equal(json_array_size(json_object_get(j, "options")), 2);
	json_decref(j);
	gpc_modules_deinit(&ms);
}

static void shows_the_least_module(void **state)
{
	struct place *p = *state;
	struct gpc_modules ms = {0};
	char *dumped;
	json_t *j;

	place_module(p, "older", "older.so");
	scan(p, &ms);
	ms.at[0]->module.summary = "\xff\xfe"; /* no UTF-8: still valid JSON */
	j = show_json(ms.at[0]);
	dumped = json_dumps(j, 0);
	assert_non_null(dumped);
	assert_has(dumped, "\"summary\": \"(not UTF-8)\"");
	assert_int_equal(json_array_size(json_object_get(j, "options")), 0);
	free(dumped);
	json_decref(j);
	gpc_modules_deinit(&ms);
}

int main(void)
{
#define with_place(fn) cmocka_unit_test_setup_teardown(fn, place_setup, place_teardown)
	const struct CMUnitTest tests[] = {
		with_place(lists_loaded_and_refused),
		cmocka_unit_test(lists_nothing),
		with_place(shows_text),
		with_place(shows_json),
		with_place(shows_the_least_module),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

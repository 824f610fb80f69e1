/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>

#include "../decode/detailed.h"

static json_t *encode(struct gpc_profile *p)
{
	struct gpc_text text = gpc_text_of(p, "firefox");
	json_t *json = json_loadb(text.bytes.at, text.bytes.n, 0, NULL);

	assert_non_null(json);
	vec_deinit(&text.bytes);
	gpc_profile_put(p);
	return json;
}

static const char *text_at(const json_t *threads, size_t i, const char *key)
{
	return json_string_value(json_object_get(json_array_get(threads, i), key));
}

static void threads_are_threads(void **state)
{
	json_t *json = encode(gpc_detailed_new());
	const json_t *threads = json_object_get(json, "threads");
	const json_t *samples = json_object_get(json_array_get(threads, 1), "samples");

	(void)state;
	assert_int_equal(json_array_size(threads), 2);
	assert_string_equal(text_at(threads, 0, "name"), "one");
	assert_string_equal(text_at(threads, 1, "name"), "two");
	assert_string_equal(text_at(threads, 1, "processName"), "svc (box)");
	assert_true(json_is_true(json_object_get(json_array_get(threads, 0), "isMainThread")));
	assert_true(json_is_false(json_object_get(json_array_get(threads, 1), "isMainThread")));
	assert_int_equal(json_integer_value(json_object_get(samples, "length")), 3);
	/* Three stacks in a minute, in the middle of its thirds. */
	assert_int_equal((int)json_number_value(
				 json_array_get(json_object_get(samples, "time"), 1)),
			 30000);
	json_decref(json);
}

static void an_exec_is_another_process(void **state)
{
	struct gpc_profile_span span = {0};
	struct gpc_names *names = gpc_names_new(1);
	gpc_frame frame = gpc_detailed_frame(names, "f", 0);
	struct gpc_stacks *stacks;
	struct gpc_profile *p;
	json_t *json;

	(void)state;
	gpc_profile_new(names, &span, &p, NULL);
	gpc_stacks_new(0, &stacks, NULL);
	for (uint64_t id = 1; id <= 3; id++) {
		struct gpc_profile_process process = {
			.id = id, .pid = 70, .comm = "sh", .container = "", .appid = ""};

		gpc_profile_add_process(p, &process, NULL);
		gpc_stacks_add(stacks, id, &frame, 1, id);
	}
	gpc_profile_add_event(p, "cpu-time", "samples", stacks, NULL);
	json = encode(p);
	assert_string_equal(text_at(json_object_get(json, "threads"), 0, "pid"), "70");
	assert_string_equal(text_at(json_object_get(json, "threads"), 1, "pid"), "70.1");
	assert_string_equal(text_at(json_object_get(json, "threads"), 2, "pid"), "70.2");
	json_decref(json);
	gpc_names_put(names);
}

/* Breakpad turns the first numbers of a build-id round. */
static void libraries_are_named_for_symbol_servers(void **state)
{
	json_t *json = encode(gpc_detailed_new());
	const json_t *lib = json_array_get(json_object_get(json, "libs"), 0);

	(void)state;
	assert_string_equal(json_string_value(json_object_get(lib, "name")), "libx.so");
	assert_string_equal(json_string_value(json_object_get(lib, "codeId")), "c0ffee");
	assert_string_equal(json_string_value(json_object_get(lib, "breakpadId")),
			    "00EEFFC00000000000000000000000000");
	json_decref(json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_are_threads),
		cmocka_unit_test(an_exec_is_another_process),
		cmocka_unit_test(libraries_are_named_for_symbol_servers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

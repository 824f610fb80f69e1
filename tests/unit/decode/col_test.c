/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "detailed.h"

static void lines_come_back_byte_by_byte(void **state)
{
	static const char text[] =
		"# {\"application_metadata_enabled\": true, \"sampling_event\": \"cycles\", "
		"\"x\": 1.50}\n"
		"0;;swapper;do_idle_[k];_[k];a_[;b_[x y];c_[] 631\n"
		"3;shop;java;appid: java: x.jar;run_[j] 42\n"
		"3;shop;java;appid: java: x.jar;run_[j] 42\n"
		"0;;[unknown];" GPC_OVERFLOW_TEXT " 3\n"
		"0;;one two;main 9223372036854775807";
	struct gpc_event event = {.struct_size = sizeof event};
	struct gpc_profile *p;
	struct gpc_text again;

	(void)state;
	assert_int_equal(gpc_decode(text, strlen(text), NULL, &p, NULL), GPC_OK);
	again = gpc_text_of(p, "col");
	assert_string_equal(again.bytes.at, text);
	gpc_profile_event(p, 0, &event);
	assert_string_equal(event.name, "cycles");
	vec_deinit(&again.bytes);
	gpc_profile_put(p);
}

static void names_have_parts(void **state)
{
	static const char text[] = "# {}\nbox;svc;appid: a b;main;f_[k] 7\n";
	struct gpc_stack stack = {.struct_size = sizeof stack};
	struct gpc_frame_text frame = {.struct_size = sizeof frame};
	struct gpc_profile *p;
	uint64_t cursor = 0;

	(void)state;
	assert_int_equal(gpc_decode(text, strlen(text), "col", &p, NULL), GPC_OK);
	assert_int_equal(gpc_profile_next(p, &cursor, &stack), 1);
	assert_string_equal(stack.container, "box");
	assert_string_equal(stack.comm, "svc");
	assert_string_equal(stack.appid, "a b");
	assert_int_equal(stack.n_frames, 2);
	gpc_profile_frame(p, stack.frames[0], &frame);
	assert_string_equal(frame.function, "f");
	assert_string_equal(frame.suffix, "k");
	assert_int_equal(frame.flags, GPC_FRAME_KERNEL);
	assert_int_equal(gpc_profile_next(p, &cursor, &stack), 0);
	gpc_profile_put(p);
}

/* Both are written as a label. */
static void label_with_other_blanks(void **state)
{
	static const char text[] = "# {}\nbox;svc;\x1d appid:\x1d\xc2\x85 a b;main 7\n";
	struct gpc_stack stack = {.struct_size = sizeof stack};
	struct gpc_profile *p;
	uint64_t cursor = 0;

	(void)state;
	assert_int_equal(gpc_decode(text, strlen(text), "col", &p, NULL), GPC_OK);
	assert_int_equal(gpc_profile_next(p, &cursor, &stack), 1);
	assert_string_equal(stack.appid, "a b");
	assert_int_equal(stack.n_frames, 1);
	gpc_profile_put(p);
}

/* Of --profile-api-version v1, with and without metadata, and of others. */
static void some_begin_with_the_process(void **state)
{
	static const char *const headers[] = {
		"# {\"metadata\": {\"run_arguments\": {\"profile_api_version\": \"v1\"}}, "
		"\"application_metadata_enabled\": true}",
		"# {\"application_metadata_enabled\": true, \"gprofiler_core\": "
		"{\"profile_api_version\": \"v1\"}}",
		""};
	static const char stacks[] = "svc;appid: a b;main;f_[k] 7\n#1;main 2\nlone 1";

	(void)state;
	for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
		struct gpc_stack stack = {.struct_size = sizeof stack};
		struct gpc_profile *p;
		uint64_t cursor = 0;
		char text[512];

		snprintf(text, sizeof text, "%s\n %s", headers[i],
			 stacks + (i == 1 ? strcspn(stacks, "\n") + 1 : 0));
		assert_int_equal(gpc_decode(text, strlen(text), NULL, &p, NULL), GPC_OK);
		assert_int_equal(gpc_profile_next(p, &cursor, &stack), 1);
		assert_string_equal(stack.container, "");
		assert_string_equal(stack.comm, i == 1 ? "#1" : "svc");
		assert_string_equal(stack.appid, i == 1 ? "" : "a b");
		assert_int_equal(stack.n_frames, i == 1 ? 1 : 2);
		gpc_profile_put(p);
	}
}

static void times_come_from_the_header(void **state)
{
	static const char text[] = "# {\"metadata\": {\"current_time\": \"2026-02-03T04:05:06\"}, "
				   "\"gprofiler_core\": {\"seconds\": 2.5}}\n",
			  odd[] = "# {\"metadata\": {\"current_time\": \"9999-02-03T04:05:06\"}}";
	struct gpc_profile_info info = {.struct_size = sizeof info};
	struct gpc_profile *p;

	(void)state;
	assert_int_equal(gpc_decode_col(text, strlen(text), &p, NULL), GPC_OK);
	gpc_profile_info(p, &info);
	assert_int_equal(info.end_unix_ns, INT64_C(1770091506000000000));
	assert_int_equal(info.end_unix_ns - info.begin_unix_ns, INT64_C(2500000000));
	gpc_profile_put(p);
	assert_int_equal(gpc_decode_col(odd, strlen(odd), &p, NULL), GPC_OK);
	gpc_profile_info(p, &info);
	assert_int_equal(info.end_unix_ns, 0);
	gpc_profile_put(p);
}

static void bad_lines_are_told(void **state)
{
	static const struct {
		const char *text, *error;
	} rows[] = {
		{"# {}\n;a;b 1\n;a;b", "line 3: expected a stack, a space and a count"},
		{"# {}\n;a;b 1x", "line 2: expected a count after the last space"},
		{"# {}\n;a;b 9223372036854775808", "line 2: expected a count after the last space"},
		{"# {}\n;a;b ", "line 2: expected a count"},
		{"# {}\nab 1", "line 2: expected 'container;process;frames count'"},
		{"# {\"application_metadata_enabled\": true}\nx;;a;b 1",
		 "line 2: expected the index of application metadata"},
		{"# []\n", "line 1: byte 0: expected the header, a JSON object"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct gpc_err err = {0};
		struct gpc_profile *p;

		assert_int_equal(gpc_decode_col(rows[i].text, strlen(rows[i].text), &p, &err),
				 GPC_E_CORRUPT);
		assert_non_null(strstr(err.text, rows[i].error));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_come_back_byte_by_byte),
		cmocka_unit_test(names_have_parts),
		cmocka_unit_test(label_with_other_blanks),
		cmocka_unit_test(some_begin_with_the_process),
		cmocka_unit_test(times_come_from_the_header),
		cmocka_unit_test(bad_lines_are_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

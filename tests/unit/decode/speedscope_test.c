/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "detailed.h"

#define FRAMES "\"shared\":{\"frames\":[{\"name\":\"a\"},{\"name\":\"b_[p]\",\"line\":3}]}}"
#define EVENTED(events)                                                                  \
	"{\"profiles\":[{\"type\":\"evented\",\"name\":\"t\",\"unit\":\"milliseconds\"," \
	"\"startValue\":0,\"endValue\":9,\"events\":[" events "]}]," FRAMES
#define SAMPLED(samples, weights)                                                                 \
	"{\"profiles\":[{\"type\":\"sampled\",\"name\":\"t\",\"unit\":\"none\",\"startValue\":0," \
	"\"endValue\":9,\"samples\":" samples ",\"weights\":" weights "}]," FRAMES

static struct gpc_profile *decode(const char *text)
{
	struct gpc_profile *p = NULL;
	struct gpc_err err = {0};

	if (gpc_decode(text, strlen(text), NULL, &p, &err) < 0)
		fail_msg("%s", err.text);
	return p;
}

static void ours_comes_back(void **state)
{
	struct gpc_profile *p = gpc_detailed_new(), *back;
	struct gpc_text text = gpc_text_of(p, "speedscope");
	struct gpc_event event = {.struct_size = sizeof event};

	(void)state;
	back = decode(text.bytes.at);
	gpc_assert_col(back, GPC_DETAILED_COL);
	assert_int_equal(gpc_profile_event(back, 1, &event), 1);
	assert_string_equal(event.name, "page-faults");
	assert_string_equal(event.unit, "count");
	vec_deinit(&text.bytes);
	gpc_profile_put(back);
	gpc_profile_put(p);
}

static void what_is_open_was_running(void **state)
{
	struct gpc_profile *p = decode(EVENTED("{\"type\":\"O\",\"frame\":0,\"at\":5},"
					       "{\"type\":\"O\",\"frame\":1,\"at\":6},"
					       "{\"type\":\"C\",\"frame\":1,\"at\":6.5},"
					       "{\"type\":\"C\",\"frame\":0,\"at\":8}"));

	(void)state;
	gpc_assert_col(p, ";t;a 2500000\n;t;a;b_[p] 500000");
	gpc_profile_put(p);
}

static void profiles_of_others_are_threads(void **state)
{
	struct gpc_profile *p = decode(SAMPLED("[[0,1],[0]]", "[1.6,3]"));

	(void)state;
	gpc_assert_col(p, ";t;a;b_[p] 2\n;t;a 3");
	gpc_profile_put(p);
}

static void bad_files_are_told(void **state)
{
	static const struct {
		const char *text, *error;
	} rows[] = {
		{"{", "line 1, column 1: expected JSON"},
		{"{\"version\": 1}", "expected an array at profiles: is it a speedscope file?"},
		{SAMPLED("[[0]]", "[]"), "profiles[0]: expected as many samples as weights"},
		{SAMPLED("[[2]]", "[1]"), "profiles[0]: expected numbers of frames"},
		{SAMPLED("[[-1]]", "[1]"), "profiles[0]: expected numbers of frames"},
		{SAMPLED("[[0]]", "[-1]"), "profiles[0]: expected weights from 0"},
		{SAMPLED("[[0]]", "[\"1\"]"), "profiles[0]: expected weights from 0"},
		{SAMPLED("[0]", "[1]"), "profiles[0]: expected samples that are arrays"},
		{EVENTED("{\"type\":\"C\",\"frame\":0,\"at\":5}"),
		 "profiles[0]: expected events that close the frame opened last"},
		{EVENTED("{\"type\":\"O\",\"frame\":0,\"at\":5},{\"type\":\"C\",\"frame\":0,"
			 "\"at\":4}"),
		 "profiles[0]: expected events in the order of time"},
		{"{\"profiles\":[{\"unit\":\"apples\"}]," FRAMES,
		 "profiles[0]: expected a unit that speedscope knows"},
		{"{\"profiles\":[],\"shared\":{\"frames\":[{}]}}",
		 "shared.frames[0]: expected a name"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct gpc_err err = {0};
		struct gpc_profile *p;

		assert_int_equal(gpc_decode(rows[i].text, strlen(rows[i].text), "speedscope", &p,
					    &err),
				 GPC_E_CORRUPT);
		if (!strstr(err.text, rows[i].error))
			fail_msg("%s", err.text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ours_comes_back),
		cmocka_unit_test(what_is_open_was_running),
		cmocka_unit_test(profiles_of_others_are_threads),
		cmocka_unit_test(bad_files_are_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* From streams of perf to a profile. The streams are the test's: perf's own need rights. */
#include "made_core.h"

#include "../decode/detailed.h"

#define N_STREAMS 3
static struct gpc_stacks *streams[N_STREAMS];

struct gpc_stacks *__wrap_gpc_sampler_take(struct gpc_sampler *s, uint32_t stream);
struct gpc_stacks *__wrap_gpc_sampler_take(struct gpc_sampler *s, uint32_t stream)
{
	(void)s;
	return stream < N_STREAMS ? streams[stream] : NULL;
}

static void add_stream(struct gpc_core *core, uint32_t stream, const char *name, uint64_t value)
{
	struct gpc_source *s = calloc(1, sizeof *s);
	gpc_frame frame = 0x1000;

	assert_int_equal(gpc_stacks_new(0, &streams[stream], NULL), GPC_OK);
	gpc_stacks_add(streams[stream], 5, &frame, 1, value);
	s->core = core;
	s->stream = stream;
	s->is_cpu_time = strstr(name, "cpu") != NULL;
	snprintf(s->name, sizeof s->name, "%s", name);
	snprintf(s->event_name, sizeof s->event_name, "%s", s->is_cpu_time ? "cpu-time" : name);
	snprintf(s->unit, sizeof s->unit, "samples");
	s->next = core->sources;
	core->sources = s;
}

static int set_up(void **state)
{
	*state = made_core(NULL);
	return 0;
}

static int tear_down(void **state)
{
	gpc_core_free(*state);
	for (int i = 0; i < N_STREAMS; i++) {
		gpc_stacks_free(streams[i]);
		streams[i] = NULL;
	}
	return 0;
}

/* The sum of an event, found by its name. */
static uint64_t sum_of(const struct gpc_profile *p, const char *name)
{
	struct gpc_stack stack = {.struct_size = sizeof stack};
	struct gpc_event event = {.struct_size = sizeof event};
	uint64_t cursor = 0, sum = 0;

	while (gpc_profile_next(p, &cursor, &stack)) {
		assert_int_equal(gpc_profile_event(p, stack.event, &event), 1);
		sum += strcmp(event.name, name) == 0 ? stack.value : 0;
	}
	return sum;
}

static void test_each_stream_is_an_event(void **state)
{
	struct gpc_core *core = *state;
	struct gpc_profile_info info = {.struct_size = sizeof info};
	struct gpc_profile *p;

	add_stream(core, 0, "cpu-clock", 3);
	add_stream(core, 1, "page-faults", 5);
	add_stream(core, 2, "cpu-cycles", 7);
	p = made_profile(core);
	gpc_profile_info(p, &info);
	assert_int_equal(info.n_events, 3);
	assert_int_equal(info.samples, 3); /* the first is the one that was opened first */
	assert_int_equal(sum_of(p, "cpu-time"), 3);
	assert_int_equal(sum_of(p, "cpu-cycles"), 7);
	assert_int_equal(sum_of(p, "page-faults"), 5);
	gpc_profile_put(p);
}

/* What the only line of the profile begins with, once it was read back as well. */
static void assert_line(struct gpc_core *core, const char *begin)
{
	struct gpc_stack stack = {.struct_size = sizeof stack};
	struct gpc_profile *p = made_profile(core), *back;
	struct gpc_text text = gpc_text_of(p, "col");
	uint64_t cursor = 0;

	assert_memory_equal(strchr(text.bytes.at, '\n') + 1, begin, strlen(begin));
	assert_int_equal(gpc_decode(text.bytes.at, text.bytes.n, NULL, &back, NULL), GPC_OK);
	assert_int_equal(gpc_profile_next(back, &cursor, &stack), 1);
	assert_string_equal(stack.comm, ":gone");
	assert_string_equal(stack.container, "");
	assert_int_equal(stack.value, 9);
	gpc_assert_col(back, strchr(text.bytes.at, '\n') + 1);
	vec_deinit(&text.bytes);
	gpc_profile_put(back);
	gpc_profile_put(p);
}

static void test_what_lines_begin_with(void **state)
{
	struct gpc_core *core = *state;

	add_stream(core, 0, "cpu-clock", 9);
	assert_line(core, "0;;:gone;");
	core->opts.application_metadata = 0;
	assert_line(core, ";:gone;");
}

/* metadata.run_arguments are those of the start, gprofiler_core's is always there. */
static void test_what_lines_of_v1_begin_with(void **state)
{
	struct gpc_core *core = *state;

	add_stream(core, 0, "cpu-clock", 9);
	core->opts.profile_api_version = "v1";
	assert_line(core, ":gone;");
	core->opts.application_metadata = 0;
	assert_line(core, ":gone;");
	core->opts.collect_metadata = 0;
	assert_line(core, ":gone;");
}

#define core_test(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		core_test(test_each_stream_is_an_event),
		core_test(test_what_lines_begin_with),
		core_test(test_what_lines_of_v1_begin_with),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

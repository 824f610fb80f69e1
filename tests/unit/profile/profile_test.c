/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "encode/encode.h"

struct fixture {
	struct gpc_names *names;
	struct gpc_profile *p;
	gpc_frame frame;
};

static int set_up(void **state)
{
	struct gpc_profile_span span = {3, 1000, 2000, 1000};
	struct fixture *f = calloc(1, sizeof *f);
	struct gpc_frame_entry e = {.line = 12, .flags = GPC_FRAME_JIT};

	f->names = gpc_names_new(1);
	e.function = gpc_names_str(f->names, "fn", 2);
	f->frame = gpc_names_frame(f->names, &e);
	assert_int_equal(gpc_profile_new(f->names, &span, &f->p, NULL), GPC_OK);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	gpc_profile_put(f->p);
	gpc_names_put(f->names);
	free(f);
	return 0;
}

static void add_process(struct fixture *f, uint64_t id, const char *comm)
{
	struct gpc_profile_process proc = {.id = id,
					   .pid = (int32_t)id + 100,
					   .comm = comm,
					   .container = "box",
					   .appid = "",
					   .metadata = 2};

	assert_int_equal(gpc_profile_add_process(f->p, &proc, NULL), GPC_OK);
}

static struct gpc_stacks *stacks(const struct fixture *f, uint64_t process, uint64_t value)
{
	struct gpc_stacks *s = NULL;

	gpc_stacks_new(0, &s, NULL);
	gpc_stacks_add(s, process, &f->frame, 1, value);
	return s;
}

/* Names live on, from window to window. */
static void names_of_processes_go_with_the_profile(void **state)
{
	struct fixture *f = *state;
	size_t before = gpc_names_bytes(f->names);
	struct gpc_stack stack = {.struct_size = sizeof stack};
	uint64_t cursor = 0;
	char comm[32];

	for (unsigned i = 0; i < 5000; i++) {
		snprintf(comm, sizeof comm, "worker-%u", i);
		add_process(f, i, comm);
	}
	assert_int_equal(gpc_profile_add_thread(f->p, 77, "thread-of-one", NULL), GPC_OK);
	assert_int_equal(gpc_profile_add_event(f->p, "cpu-time", "samples", stacks(f, 4321, 5),
					       NULL),
			 GPC_OK);
	assert_int_equal(gpc_names_bytes(f->names), before);
	assert_int_equal(gpc_profile_next(f->p, &cursor, &stack), 1);
	assert_string_equal(stack.comm, "worker-4321");
	assert_string_equal(stack.container, "box");
}

static void a_profile_is_read_back(void **state)
{
	const struct gpc_profile_api *api = gpc_profile_api_get();
	struct gpc_profile_info info = {.struct_size = sizeof info};
	struct gpc_event event = {.struct_size = sizeof event};
	struct gpc_frame_text text = {.struct_size = sizeof text};
	struct gpc_stack stack = {.struct_size = sizeof stack};
	struct fixture *f = *state;
	uint64_t cursor = 0;

	add_process(f, 7, "java");
	add_process(f, 8, "node");
	assert_int_equal(gpc_profile_add_event(f->p, "cpu-time", "samples", stacks(f, 8, 5), NULL),
			 GPC_OK);
	assert_int_equal(gpc_profile_add_event(f->p, "none", "count", stacks(f, 8, 0), NULL),
			 GPC_OK);
	assert_int_equal(gpc_profile_add_event(f->p, "alloc", "bytes", stacks(f, 7, 9), NULL),
			 GPC_OK);
	assert_int_equal(gpc_profile_set_header(f->p, "{\"a\": 1}", NULL), GPC_OK);
	api->info(f->p, &info);
	assert_int_equal(info.seq, 3);
	assert_int_equal(info.n_events, 3);
	assert_int_equal(info.n_processes, 2);
	assert_int_equal(info.samples, 5);
	assert_string_equal(info.header, "{\"a\": 1}");
	assert_int_equal(api->event(f->p, 2, &event), 1);
	assert_string_equal(event.name, "alloc");
	assert_string_equal(event.unit, "bytes");
	assert_int_equal(api->event(f->p, 3, &event), 0);
	assert_int_equal(api->frame(f->p, f->frame, &text), 1);
	assert_string_equal(text.function, "fn");
	assert_string_equal(text.suffix, "");
	assert_int_equal(text.line, 12);
	assert_int_equal(api->frame(f->p, 0x401000, &text), 0);
	assert_int_equal(api->next(f->p, &cursor, &stack), 1);
	assert_string_equal(stack.comm, "node");
	assert_string_equal(stack.container, "box");
	assert_string_equal(stack.appid, "");
	assert_int_equal(stack.pid, 108);
	assert_int_equal(stack.metadata, 2);
	assert_int_equal(stack.value, 5);
	assert_int_equal(api->next(f->p, &cursor, &stack), 1);
	assert_int_equal(stack.event, 2);
	assert_string_equal(stack.comm, "java");
	assert_int_equal(api->next(f->p, &cursor, &stack), 0);
	assert_int_equal(api->next(f->p, &cursor, &stack), 0);
}

static void a_process_has_its_labels(void **state)
{
	struct fixture *f = *state;
	struct gpc_stack stack = {.struct_size = sizeof stack};
	struct gpc_profile_process in_pod = {.id = 1,
					     .comm = "nginx",
					     .container = "k8s_web_shop_prod_u_0",
					     .appid = "",
					     .pod = "shop",
					     .pod_namespace = "prod",
					     .container_id = "3f4b"};
	uint64_t cursor = 0;

	add_process(f, 2, "bare");
	assert_int_equal(gpc_profile_add_process(f->p, &in_pod, NULL), GPC_OK);
	assert_int_equal(gpc_profile_add_event(f->p, "cpu-time", "samples", stacks(f, 1, 5), NULL),
			 GPC_OK);
	assert_int_equal(gpc_profile_add_event(f->p, "alloc", "bytes", stacks(f, 2, 5), NULL),
			 GPC_OK);
	assert_int_equal(gpc_profile_next(f->p, &cursor, &stack), 1);
	assert_string_equal(stack.container, "k8s_web_shop_prod_u_0");
	assert_string_equal(stack.pod, "shop");
	assert_string_equal(stack.pod_namespace, "prod");
	assert_string_equal(stack.container_id, "3f4b");
	assert_int_equal(gpc_profile_next(f->p, &cursor, &stack), 1);
	assert_string_equal(stack.pod, "");
	assert_string_equal(stack.pod_namespace, "");
	assert_string_equal(stack.container_id, "");
}

static void older_callers_get_what_they_know(void **state)
{
	struct fixture *f = *state;
	struct gpc_profile_info info = {.struct_size = offsetof(struct gpc_profile_info, header)};
	struct gpc_frame_text text = {.struct_size = 0};

	gpc_profile_info(f->p, &info);
	assert_null(info.header);
	assert_int_equal(info.duration_ns, 1000);
	assert_int_equal(info.struct_size, offsetof(struct gpc_profile_info, header));
	assert_int_equal(gpc_profile_frame(f->p, f->frame, &text), 1);
	assert_null(text.function);
}

static void bad_input_is_refused(void **state)
{
	struct gpc_profile_process twice = {.id = 7, .pid = 1};
	struct fixture *f = *state;
	struct gpc_err err;

	add_process(f, 7, "java");
	assert_int_equal(gpc_profile_add_process(f->p, &twice, &err), GPC_E_INTERNAL);
	assert_int_equal(gpc_profile_add_event(f->p, "e", "u", stacks(f, 9, 1), &err),
			 GPC_E_INTERNAL);
	assert_int_equal(gpc_profile_set_header(f->p, "[]", &err), GPC_E_CONFIG);
	assert_int_equal(gpc_profile_set_header(f->p, "{\n}", &err), GPC_E_CONFIG);
	assert_int_equal(gpc_profile_set_header(f->p, "", &err), GPC_E_CONFIG);
}

static void the_last_reference_frees(void **state)
{
	struct fixture *f = *state;
	struct gpc_profile_info info = {.struct_size = sizeof info};
	struct gpc_profile *other = gpc_profile_get(f->p);

	add_process(f, 7, "java");
	gpc_profile_add_event(f->p, "e", "u", stacks(f, 7, 1), NULL);
	gpc_profile_put(f->p);
	gpc_names_put(f->names);
	f->names = NULL;
	gpc_profile_info(other, &info);
	assert_int_equal(info.samples, 1);
	assert_string_equal(info.header, "{}");
	gpc_profile_put(other);
	gpc_profile_put(NULL);
	f->p = NULL;
}

#define row_of(t) cmocka_unit_test_setup_teardown(t, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		row_of(a_profile_is_read_back),
		row_of(a_process_has_its_labels),
		row_of(names_of_processes_go_with_the_profile),
		row_of(a_process_has_its_labels),
		row_of(older_callers_get_what_they_know),
		row_of(bad_input_is_refused),
		row_of(the_last_reference_frees),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

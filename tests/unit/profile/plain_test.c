/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../decode/detailed.h"
#include "profile/merge.h"

static void a_plain_profile_adds_rows_up(void **state)
{
	struct gpc_profile *p = gpc_detailed_new(), *plain;
	struct gpc_profile_info info = {.struct_size = sizeof info};
	struct gpc_stack stack = {.struct_size = sizeof stack};
	struct gpc_frame_text text = {.struct_size = sizeof text};
	uint64_t cursor = 0;

	(void)state;
	assert_int_equal(gpc_profile_plain(p, &plain, NULL), GPC_OK);
	gpc_profile_put(p);
	gpc_profile_info(plain, &info);
	assert_int_equal(info.samples, 19);
	assert_int_equal(info.n_events, 2);
	assert_int_equal(info.begin_unix_ns, INT64_C(1770091506000000000));
	assert_int_equal(gpc_profile_next(plain, &cursor, &stack), 1);
	assert_int_equal(stack.value, 18);
	assert_int_equal(stack.tid, 0);
	assert_string_equal(stack.thread, "");
	assert_string_equal(stack.pod, "web-1");
	assert_int_equal(gpc_profile_frame(plain, stack.frames[0], &text), 1);
	assert_string_equal(text.function, "f");
	assert_string_equal(text.module, "/usr/lib/libx.so");
	assert_string_equal(text.build_id, "");
	assert_int_equal(text.address, 0);
	gpc_assert_col(plain, GPC_DETAILED_COL);
	gpc_profile_put(plain);
}

static void what_is_plain_is_not_copied(void **state)
{
	struct gpc_profile *p = gpc_detailed_new(), *plain, *same;

	(void)state;
	assert_int_equal(gpc_profile_plain(p, &plain, NULL), GPC_OK);
	assert_int_equal(gpc_profile_plain(plain, &same, NULL), GPC_OK);
	assert_ptr_equal(plain, same);
	gpc_profile_put(p);
	gpc_profile_put(plain);
	gpc_profile_put(same);
}

static void rows_tell_their_thread(void **state)
{
	struct gpc_profile *p = gpc_detailed_new();
	struct gpc_stack stack = {.struct_size = sizeof stack};
	struct gpc_frame_text text = {.struct_size = sizeof text};
	uint64_t cursor = 0;

	(void)state;
	gpc_profile_next(p, &cursor, &stack);
	gpc_profile_next(p, &cursor, &stack);
	assert_int_equal(stack.tid, 72);
	assert_string_equal(stack.thread, "two");
	assert_int_equal(stack.process, 7);
	assert_int_equal(stack.pid, 70);
	gpc_profile_next(p, &cursor, &stack);
	gpc_profile_frame(p, stack.frames[0], &text);
	assert_int_equal(text.address, 0x2000);
	assert_string_equal(text.build_id, "c0ffee");
	gpc_profile_put(p);
}

static void keys(void **state)
{
	(void)state;
	assert_int_equal(gpc_key(5, 0), 5);
	assert_int_equal(gpc_key(5, -1), 5);
	assert_int_equal(gpc_key(5, GPC_KEY_TID_MAX + 1), 5);
	assert_int_equal(gpc_key_tid(gpc_key(5, GPC_KEY_TID_MAX)), GPC_KEY_TID_MAX);
	assert_int_equal(gpc_key_process(gpc_key(5, GPC_KEY_TID_MAX)), 5);
}

/* A table that is full must not grow with the number of threads. */
static void overflow_is_one_row_a_process(void **state)
{
	struct gpc_stacks *s;
	gpc_frame frame = 1;

	(void)state;
	assert_int_equal(gpc_stacks_new(1, &s, NULL), GPC_OK);
	for (int32_t tid = 1; tid <= 100; tid++)
		assert_int_equal(gpc_stacks_add(s, gpc_key(9, tid), &frame, 1, 2), GPC_E_BUDGET);
	assert_int_equal(gpc_stacks_rows(s), 1);
	assert_int_equal(gpc_stacks_row(s, 0).process, 9);
	assert_int_equal(gpc_stacks_overflow(s), 200);
	gpc_stacks_free(s);
}

/* Runtimes may not know threads as perf does: the process is what is scaled. */
static void merging_scales_the_process(void **state)
{
	struct gpc_names *names = gpc_names_new(1);
	gpc_frame a = gpc_detailed_frame(names, "a", 0), b = gpc_detailed_frame(names, "b", 0);
	struct gpc_stacks *perf, *runtime, *merged;

	(void)state;
	gpc_stacks_new(0, &perf, NULL);
	gpc_stacks_new(0, &runtime, NULL);
	gpc_stacks_add(perf, gpc_key(7, 71), &a, 1, 10);
	gpc_stacks_add(perf, gpc_key(7, 72), &a, 1, 20);
	gpc_stacks_add(runtime, gpc_key(7, 73), &b, 1, 1);
	gpc_stacks_add(runtime, 7, &b, 1, 2);
	assert_int_equal(gpc_merge(names, perf, (const struct gpc_stacks *const[]){runtime}, 1, 0,
				   &merged, NULL),
			 GPC_OK);
	assert_int_equal(gpc_stacks_rows(merged), 2);
	assert_int_equal(gpc_stacks_row(merged, 0).process, gpc_key(7, 73));
	assert_int_equal(gpc_stacks_row(merged, 0).value, 10);
	assert_int_equal(gpc_stacks_row(merged, 1).value, 20);
	gpc_stacks_free(perf);
	gpc_stacks_free(runtime);
	gpc_stacks_free(merged);
	gpc_names_put(names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_plain_profile_adds_rows_up),
		cmocka_unit_test(what_is_plain_is_not_copied),
		cmocka_unit_test(rows_tell_their_thread),
		cmocka_unit_test(keys),
		cmocka_unit_test(overflow_is_one_row_a_process),
		cmocka_unit_test(merging_scales_the_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

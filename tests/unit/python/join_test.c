/* SPDX-License-Identifier: Apache-2.0 */
/* Python's groups of frames among native ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "../../../plugins/python/join.h"

#define LOOP 0x1000
#define END  0x2000
#define COLD 0x9000

struct scene {
	struct py_target target;
	struct gpc_pull_sample sample;
	struct py_stack stack;
	struct gpc_pull_out out;
	struct gpc_pull_run runs[8];
};

/* groups: how many frames each has. */
static void join(struct scene *s, const uint64_t *native, uint32_t n_native, const uint32_t *groups,
		 uint32_t n_groups)
{
	uint32_t end = 0;

	s->target.runtime.loop[0] = (struct py_code_range){LOOP, END};
	s->target.runtime.loop[1] = (struct py_code_range){COLD, COLD + 0x100};
	s->target.runtime.n_loop = 2;
	s->sample.flags = GPC_PULL_EXACT;
	s->sample.native = native;
	s->sample.n_native = n_native;
	for (uint32_t i = 0; i < n_groups; i++)
		s->stack.groups[i].end = end += groups[i];
	s->stack.n_groups = n_groups;
	s->stack.n = end;
	s->out = (struct gpc_pull_out){.room_runs = 8, .runs = s->runs, .n = end};
}

static void each_loop_has_its_frames(void **state)
{
	const uint64_t native[] = {0x99, COLD + 1, 0x3000, 0x2000, 0x4000};
	const uint32_t groups[] = {2, 3};
	struct scene s = {0};

	(void)state;
	join(&s, native, 5, groups, 2);
	gpc_py_join(&s.target, &s.sample, &s.stack, &s.out);
	assert_int_equal(s.out.n_runs, 2);
	assert_int_equal(s.runs[0].native_at, 1);
	assert_int_equal(s.runs[0].frames_n, 2);
	assert_int_equal(s.runs[1].native_at, 3); /* returns to the byte after the loop */
	assert_int_equal(s.runs[1].frames_at, 2);
	assert_int_equal(s.runs[1].frames_n, 3);
}

static void nothing_is_guessed(void **state)
{
	const uint64_t native[] = {0x1100, 0x1500, 0x4000};
	const uint32_t groups[] = {2, 3}, one[] = {5};
	struct scene s = {0};

	(void)state;
	join(&s, native, 3, groups, 2);
	s.sample.flags = 0; /* it may have run on */
	gpc_py_join(&s.target, &s.sample, &s.stack, &s.out);
	assert_int_equal(s.out.n_runs, 0);
	join(&s, native, 3, one, 1); /* two loops, one group */
	gpc_py_join(&s.target, &s.sample, &s.stack, &s.out);
	assert_int_equal(s.out.n_runs, 0);
	join(&s, native, 3, groups, 2);
	s.stack.has_open_group = true;
	gpc_py_join(&s.target, &s.sample, &s.stack, &s.out);
	assert_int_equal(s.out.n_runs, 0);
	s.stack.has_open_group = false;
	s.target.runtime.n_loop = 0;
	gpc_py_join(&s.target, &s.sample, &s.stack, &s.out);
	assert_int_equal(s.out.n_runs, 0);
}

/* A native stack that is right but ends early: what is above it is Python's alone. */
static void a_cut_native_stack(void **state)
{
	const uint64_t native[] = {0x99, 0x1500, 0x3000}, none[] = {0x99, 0x98};
	const uint32_t groups[] = {2, 3};
	struct scene s = {0};

	(void)state;
	join(&s, native, 3, groups, 2);
	s.sample.flags |= GPC_PULL_NATIVE_CUT;
	gpc_py_join(&s.target, &s.sample, &s.stack, &s.out);
	assert_int_equal(s.out.n_runs, 2);
	assert_int_equal(s.runs[0].native_at, 1);
	assert_int_equal(s.runs[0].frames_n, 2);
	assert_int_equal(s.runs[1].native_at, 3);
	assert_int_equal(s.runs[1].native_n, 0);
	assert_int_equal(s.runs[1].frames_at, 2);
	assert_int_equal(s.runs[1].frames_n, 3);
	join(&s, none, 2, groups, 2);
	s.sample.flags |= GPC_PULL_NATIVE_CUT;
	gpc_py_join(&s.target, &s.sample, &s.stack, &s.out);
	assert_int_equal(s.out.n_runs, 1);
	assert_int_equal(s.runs[0].native_at, 2);
	assert_int_equal(s.runs[0].frames_n, 5);
	/* More loops than groups are no cut. */
	join(&s, native, 3, groups, 0);
	s.sample.flags |= GPC_PULL_NATIVE_CUT;
	gpc_py_join(&s.target, &s.sample, &s.stack, &s.out);
	assert_int_equal(s.out.n_runs, 0);
}

/* The leaf is where it is: an address just behind the loop is not in it. */
static void the_leaf_is_no_return_address(void **state)
{
	const uint64_t native[] = {END, 0x1500};
	const uint32_t groups[] = {1};
	struct scene s = {0};

	(void)state;
	join(&s, native, 2, groups, 1);
	gpc_py_join(&s.target, &s.sample, &s.stack, &s.out);
	assert_int_equal(s.out.n_runs, 1);
	assert_int_equal(s.runs[0].native_at, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_loop_has_its_frames),
		cmocka_unit_test(nothing_is_guessed),
		cmocka_unit_test(a_cut_native_stack),
		cmocka_unit_test(the_leaf_is_no_return_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

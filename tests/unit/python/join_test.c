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

	s->target.runtime.loop.parts[0] = (struct py_code_range){LOOP, END};
	s->target.runtime.loop.parts[1] = (struct py_code_range){COLD, COLD + 0x100};
	s->target.runtime.loop.n = 2;
	s->sample.struct_size = sizeof s->sample;
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
	s.target.runtime.loop.n = 0;
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

/* ---- by the place of each call's C frame ------------------------------------------------- */

/* Code that nobody knows, with frames of 0x100 bytes from 0x7000 on. */
static const uint64_t unknown[] = {0x99, 0x5000, 0x6000, 0x6100, 0x6200};
static const uint64_t sps[] = {0x7100, 0x7200, 0x7300, 0x7400, 0};

static void place(struct scene *s, const uint32_t *groups, const uint64_t *c_stacks, uint32_t n)
{
	join(s, unknown, 5, groups, n);
	s->target.runtime.loop.n = 0;
	s->sample.sp = 0x7000;
	s->sample.native_sp = sps;
	for (uint32_t i = 0; i < n; i++)
		s->stack.groups[i].c_stack = c_stacks[i];
}

static void the_frame_it_lies_in_is_the_loop(void **state)
{
	const uint64_t c_stacks[] = {0x71F8, 0x7300};
	const uint32_t groups[] = {2, 3};
	struct scene s = {0};

	(void)state;
	place(&s, groups, c_stacks, 2);
	gpc_py_join(&s.target, &s.sample, &s.stack, &s.out);
	assert_int_equal(s.out.n_runs, 2);
	assert_int_equal(s.runs[0].native_at, 1);
	assert_int_equal(s.runs[0].native_n, 1);
	assert_int_equal(s.runs[0].frames_n, 2);
	assert_int_equal(s.runs[1].native_at, 3);
	assert_int_equal(s.runs[1].frames_at, 2);
	assert_int_equal(s.runs[1].frames_n, 3);
	/* A host that tells no places. */
	s.sample.struct_size = offsetof(struct gpc_pull_sample, native_sp);
	s.out.n_runs = 0;
	gpc_py_join(&s.target, &s.sample, &s.stack, &s.out);
	assert_int_equal(s.out.n_runs, 0);
}

/* A native stack that ends in the loop. */
static void the_last_frame_that_is_known(void **state)
{
	const uint64_t c_stacks[] = {0x7180, 0x7400};
	const uint32_t groups[] = {2, 3};
	struct scene s = {0};

	(void)state;
	place(&s, groups, c_stacks, 2);
	s.sample.n_native = 3;
	s.sample.native_sp = (const uint64_t[]){0x7100, 0x7200, 0};
	s.sample.flags |= GPC_PULL_NATIVE_CUT;
	s.target.runtime.loop = (struct py_loop){.parts = {{0x5FF0, 0x6100}}, .n = 1};
	gpc_py_join(&s.target, &s.sample, &s.stack, &s.out);
	assert_int_equal(s.out.n_runs, 2);
	assert_int_equal(s.runs[0].native_at, 1);
	assert_int_equal(s.runs[1].native_at, 2);
	assert_int_equal(s.runs[1].native_n, 1);
	assert_int_equal(s.runs[1].frames_n, 3);
	/* It is another function. */
	s.target.runtime.loop.n = 0;
	gpc_py_join(&s.target, &s.sample, &s.stack, &s.out);
	assert_int_equal(s.out.n_runs, 2);
	assert_int_equal(s.runs[1].native_at, 3);
	assert_int_equal(s.runs[1].native_n, 0);
}

/* Other loops above it stay: those of the greenlet that began this one. */
static void loops_of_others(void **state)
{
	const uint64_t c_stacks[] = {0x7180};
	const uint32_t groups[] = {2};
	struct scene s = {0};

	(void)state;
	place(&s, groups, c_stacks, 1);
	s.target.runtime.loop = (struct py_loop){.parts = {{0x5000, 0x6200}}, .n = 1};
	gpc_py_join(&s.target, &s.sample, &s.stack, &s.out);
	assert_int_equal(s.out.n_runs, 1);
	assert_int_equal(s.runs[0].native_at, 1);
}

static void places_that_prove_nothing(void **state)
{
	const uint64_t below[] = {0x6FF8, 0x7300}, twice[] = {0x7180, 0x7188},
		       back[] = {0x7380, 0x7180}, none[] = {0, 0x7180}, above[] = {0x7180, 0x9000};
	const uint64_t *const bad[] = {below, twice, back, none, above};
	const uint32_t groups[] = {2, 3};
	struct scene s = {0};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		place(&s, groups, bad[i], 2);
		gpc_py_join(&s.target, &s.sample, &s.stack, &s.out);
		assert_int_equal(s.out.n_runs, 0);
	}
	/* A native stack that is known to be cut may not reach so far. */
	place(&s, groups, above, 2);
	s.sample.flags |= GPC_PULL_NATIVE_CUT;
	gpc_py_join(&s.target, &s.sample, &s.stack, &s.out);
	assert_int_equal(s.out.n_runs, 2);
	assert_int_equal(s.runs[1].native_at, 5);
	assert_int_equal(s.runs[1].native_n, 0);
	assert_int_equal(s.runs[1].frames_n, 3);
}

/* To 3.10: calls are known by the frame object that they have. */
static void calls_that_hold_their_frame(void **state)
{
	enum { A = 0x7f00aa00, B = 0x7f00bb00 };
	const uint64_t native[] = {0x1100, 0x3000, 0x1200, 0x5000, 0x1300};
	const uint64_t regs[] = {1, 2, B};
	const uint32_t groups[] = {1, 1};
	uint64_t stack[0x400 / 8] = {0};
	struct scene s = {0};

	(void)state;
	join(&s, native, 5, groups, 2);
	s.stack.groups[0].frame = A;
	s.stack.groups[1].frame = B;
	s.sample.sp = 0x7000;
	s.sample.native_sp = sps;
	s.sample.stack = (const uint8_t *)stack;
	s.sample.stack_bytes = sizeof stack;
	gpc_py_join(&s.target, &s.sample, &s.stack, &s.out);
	assert_int_equal(s.out.n_runs, 0); /* nobody has them */
	stack[0xF8 / 8] = A;               /* of the leaf */
	stack[0x2F8 / 8] = B;              /* of the second loop, or below */
	gpc_py_join(&s.target, &s.sample, &s.stack, &s.out);
	assert_int_equal(s.out.n_runs, 2);
	assert_int_equal(s.runs[0].native_at, 0);
	assert_int_equal(s.runs[1].native_at, 2);
	/* The leaf has just begun, and has none yet. */
	stack[0xF8 / 8] = 0;
	stack[0x1F8 / 8] = A;
	stack[0x2F8 / 8] = 0;
	stack[0x3F8 / 8] = B;
	s.out.n_runs = 0;
	s.sample.native_sp = (const uint64_t[]){0x7100, 0x7200, 0x7300, 0x7380, 0x7400};
	gpc_py_join(&s.target, &s.sample, &s.stack, &s.out);
	assert_int_equal(s.out.n_runs, 2);
	assert_int_equal(s.runs[0].native_at, 2);
	assert_int_equal(s.runs[1].native_at, 4);
	/* In a register, and none in the stack. */
	stack[0x3F8 / 8] = 0;
	s.sample.regs = regs;
	s.sample.n_regs = 3;
	gpc_py_join(&s.target, &s.sample, &s.stack, &s.out);
	assert_int_equal(s.out.n_runs, 2);
	/* Beyond the copy of the stack. */
	s.out.n_runs = 0;
	s.sample.stack_bytes = 0x100;
	gpc_py_join(&s.target, &s.sample, &s.stack, &s.out);
	assert_int_equal(s.out.n_runs, 0);
}

/* 3.15: the thread's own frame, which lies in no C frame and is nobody's. */
static void the_root_of_a_thread(void **state)
{
	const uint64_t c_stacks[] = {0x7180, 0x100}, native[] = {0x1100, 0x4000};
	const uint32_t groups[] = {2, 0};
	struct scene s = {0};

	(void)state;
	place(&s, groups, c_stacks, 2);
	gpc_py_join(&s.target, &s.sample, &s.stack, &s.out);
	assert_int_equal(s.out.n_runs, 1);
	assert_int_equal(s.runs[0].native_at, 1);
	join(&s, native, 2, groups, 2);
	s.sample.native_sp = NULL;
	gpc_py_join(&s.target, &s.sample, &s.stack, &s.out);
	assert_int_equal(s.out.n_runs, 1);
	assert_int_equal(s.runs[0].native_at, 0);
}

/* The frame of an instruction is the interpreter's as well; what it calls is not. */
static void tail_calls(void **state)
{
	const uint64_t c_stacks[] = {0x7280}, leaf[] = {0x7080};
	const uint32_t groups[] = {2};
	struct scene s = {0};

	(void)state;
	place(&s, groups, c_stacks, 1);
	s.target.runtime.loop.has_tail_calls = true;
	gpc_py_join(&s.target, &s.sample, &s.stack, &s.out);
	assert_int_equal(s.out.n_runs, 1);
	assert_int_equal(s.runs[0].native_at, 1);
	assert_int_equal(s.runs[0].native_n, 2);
	place(&s, groups, leaf, 1);
	gpc_py_join(&s.target, &s.sample, &s.stack, &s.out);
	assert_int_equal(s.runs[0].native_at, 0);
	assert_int_equal(s.runs[0].native_n, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_frame_it_lies_in_is_the_loop),
		cmocka_unit_test(the_last_frame_that_is_known),
		cmocka_unit_test(loops_of_others),
		cmocka_unit_test(places_that_prove_nothing),
		cmocka_unit_test(calls_that_hold_their_frame),
		cmocka_unit_test(the_root_of_a_thread),
		cmocka_unit_test(tail_calls),
		cmocka_unit_test(each_loop_has_its_frames),
		cmocka_unit_test(nothing_is_guessed),
		cmocka_unit_test(a_cut_native_stack),
		cmocka_unit_test(the_leaf_is_no_return_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

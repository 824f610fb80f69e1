/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "source/join.h"

#define NATIVE  8
#define RUNTIME 6

/* Native frames are 101, 201 ... (leaf first), the runtime's 1, 2 ...; the result
 * as text. Return addresses have been moved back by one. */
struct world {
	uint64_t native[NATIVE];
	gpc_frame frames[RUNTIME];
	struct gpc_pull_run runs[8];
	struct gpc_pull_sample sample;
	struct gpc_pull_out answer;
	struct gpc_pulled ret;
	char text[256];
};

static void build(struct world *w)
{
	memset(w, 0, sizeof *w);
	for (unsigned i = 0; i < NATIVE; i++)
		w->native[i] = 100 * (i + 1) + 1;
	for (unsigned i = 0; i < RUNTIME; i++)
		w->frames[i] = i + 1;
	w->sample = (struct gpc_pull_sample){.n_native = NATIVE, .native = w->native};
	w->answer = (struct gpc_pull_out){.n = RUNTIME, .frames = w->frames, .runs = w->runs};
}

static void run(struct world *w, uint32_t frames_at, uint32_t frames_n, uint32_t native_at,
		uint32_t native_n)
{
	w->runs[w->answer.n_runs++] =
		(struct gpc_pull_run){frames_at, frames_n, native_at, native_n};
}

static const char *joined(struct world *w)
{
	int at = 0;

	if (!gpc_join(&w->sample, &w->answer, &w->ret))
		return "refused";
	for (uint32_t i = 0; i < w->ret.n; i++)
		at += snprintf(w->text + at, sizeof w->text - (size_t)at, "%s%u", i ? " " : "",
			       (unsigned)w->ret.frames[i]);
	return w->text;
}

static void test_places(void **state)
{
	struct world w;

	(void)state;
	build(&w);
	assert_string_equal(joined(&w), "101 200 300 400 500 600 700 800");
	run(&w, 0, 2, 1, 1);
	assert_string_equal(joined(&w), "101 1 2 300 400 500 600 700 800");
	run(&w, 2, 1, 4, 3);
	assert_string_equal(joined(&w), "101 1 2 300 400 3 800");
	/* Before a frame, and after the last one. */
	run(&w, 3, 1, 7, 0);
	run(&w, 4, 2, 8, 0);
	assert_string_equal(joined(&w), "101 1 2 300 400 3 4 800 5 6");
}

static void test_at_the_leaf(void **state)
{
	struct world w;

	(void)state;
	build(&w);
	run(&w, 0, 1, 0, 1);
	assert_string_equal(joined(&w), "1 200 300 400 500 600 700 800");
	build(&w);
	run(&w, 0, 1, 0, 0);
	assert_string_equal(joined(&w), "1 101 200 300 400 500 600 700 800");
	build(&w);
	run(&w, 0, 6, 0, 8);
	assert_string_equal(joined(&w), "1 2 3 4 5 6");
	/* Runs may lie next to each other, and leave native frames out. */
	build(&w);
	run(&w, 0, 1, 0, 2);
	run(&w, 1, 0, 2, 6);
	assert_string_equal(joined(&w), "1");
}

static void test_without_native_frames(void **state)
{
	struct world w;

	(void)state;
	build(&w);
	w.sample.n_native = 0;
	run(&w, 0, 6, 0, 0);
	assert_string_equal(joined(&w), "1 2 3 4 5 6");
	build(&w);
	w.sample.n_native = 0;
	run(&w, 0, 6, 0, 1);
	assert_string_equal(joined(&w), "refused");
}

static void test_nonsense_is_refused(void **state)
{
	static const uint32_t bad[][2][4] = {
		{{0, 1, 1, 2}, {1, 1, 2, 1}},          /* overlap among the native */
		{{0, 2, 1, 1}, {1, 1, 2, 1}},          /* among the runtime's */
		{{0, 1, 4, 1}, {1, 1, 1, 1}},          /* from the root on */
		{{1, 1, 1, 1}, {0, 1, 2, 1}},          /* the same of frames */
		{{0, 1, 8, 1}, {0, 0, 8, 0}},          /* beyond the native frames */
		{{0, 1, 9, 0}, {0, 0, 9, 0}},          /* behind them */
		{{0, 7, 1, 1}, {7, 0, 2, 0}},          /* more frames than there are */
		{{7, 0, 1, 1}, {7, 0, 2, 0}},          /* behind them */
		{{0, 1, 1, UINT32_MAX}, {1, 0, 2, 0}}, /* sums that wrap */
		{{2, UINT32_MAX, 1, 1}, {2, 0, 2, 0}}, {{0, 1, UINT32_MAX, 2}, {1, 0, 2, 0}},
		{{UINT32_MAX, 2, 1, 1}, {1, 0, 2, 0}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct world w;

		build(&w);
		for (int k = 0; k < 2; k++)
			run(&w, bad[i][k][0], bad[i][k][1], bad[i][k][2], bad[i][k][3]);
		print_message("row %zu\n", i);
		assert_string_equal(joined(&w), "refused");
	}
}

static void test_the_result_has_an_end(void **state)
{
	static uint64_t native[GPC_PULLED_MAX];
	static gpc_frame frames[GPC_PULLED_MAX];
	static struct gpc_pulled ret;
	struct gpc_pull_run all = {0, GPC_PULLED_MAX, GPC_PULLED_MAX / 2, 1};
	struct gpc_pull_sample s = {.n_native = GPC_PULLED_MAX, .native = native};
	struct gpc_pull_out out = {.n = GPC_PULLED_MAX,
				   .n_runs = 1,
				   .frames = frames,
				   .runs = &all};

	(void)state;
	for (unsigned i = 0; i < GPC_PULLED_MAX; i++) {
		native[i] = 1000;
		frames[i] = i;
	}
	/* The leaf's side stays. */
	assert_true(gpc_join(&s, &out, &ret));
	assert_int_equal(ret.n, GPC_PULLED_MAX);
	assert_int_equal(ret.frames[0], 1000);
	assert_int_equal(ret.frames[GPC_PULLED_MAX / 2 - 1], 999);
	assert_int_equal(ret.frames[GPC_PULLED_MAX / 2], 0);
	assert_int_equal(ret.frames[GPC_PULLED_MAX - 1], GPC_PULLED_MAX / 2 - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_at_the_leaf),
		cmocka_unit_test(test_without_native_frames),
		cmocka_unit_test(test_nonsense_is_refused),
		cmocka_unit_test(test_the_result_has_an_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

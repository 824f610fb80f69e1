/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of a thread that has run on since: those of one batch are one look at it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pull_world.h"

#define OLD_NS (50 * GPC_MS_NS)

static bool pull_of(struct world *w, uint64_t time, uint32_t tid)
{
	make_sample(w, time, tid, 0x1001, 0);
	return pull_made(w);
}

static void one_look_at_a_batch(void **state)
{
	struct world *w = *state;
	uint64_t begin = gpc_now_ns();

	add(w, true, false);
	for (uint64_t i = 0; i < 5; i++) {
		memset(w->ret.frames, 0, sizeof w->ret.frames);
		assert_true(pull_of(w, begin - OLD_NS + i, PID));
		assert_int_equal(w->ret.n, 3); /* two, and the mark */
		assert_int_equal(w->ret.frames[0], FRAME(100));
		assert_int_equal(w->ret.frames[1], FRAME(101));
	}
	assert_int_equal(w->calls, 1);
	assert_int_equal(stats(w).answered, 5);
	assert_int_equal(stats(w).alone, 5);
	/* Others, whose answers are kept in the same place, and this one again. */
	assert_true(pull_of(w, begin - OLD_NS, PID + 8));
	assert_int_equal(w->calls, 2);
	assert_true(pull_of(w, begin - OLD_NS, PID));
	assert_int_equal(w->calls, 3);
	assert_true(pull_of(w, begin - OLD_NS, PID + 1));
	assert_true(pull_of(w, begin - OLD_NS, PID));
	assert_int_equal(w->calls, 4);
}

static void a_later_sample_is_looked_at(void **state)
{
	struct world *w = *state;

	add(w, true, false);
	gpc_pulls_set_realtime(w->pulls, false);
	w->memory[0]++; /* it has run */
	assert_true(pull(w));
	assert_true(pull(w));
	assert_int_equal(w->calls, 2);
}

static void numbers_of_names_that_are_no_more(void **state)
{
	struct world *w = *state;
	uint64_t begin = gpc_now_ns();
	struct gpc_names *names = gpc_names_new(4);

	add(w, true, false);
	assert_true(pull_of(w, begin - OLD_NS, PID));
	gpc_pulls_set_names(w->pulls, names);
	assert_true(pull_of(w, begin - OLD_NS, PID));
	assert_int_equal(w->calls, 2);
	assert_int_equal(w->ret.epoch, 4);
	gpc_names_put(names);
}

static void what_stands_still_is_read_for_itself(void **state)
{
	struct world *w = *state;

	add(w, true, false);
	w->n_runs = 1;
	w->run = (struct gpc_pull_run){0, 2, 1, 1};
	for (unsigned i = 1; i <= 3; i++) {
		assert_true(pull(w));
		assert_int_equal(w->calls, i);
	}
	assert_int_equal(stats(w).joined, 3);
}

/* Without a place to keep it, and longer than is kept. */
static void answers_that_are_not_kept(void **state)
{
	struct world *w = *state;
	uint64_t begin = gpc_now_ns();

	add(w, true, false);
	w->n = 200;
	for (unsigned i = 1; i <= 2; i++) {
		assert_true(pull_of(w, begin - OLD_NS, PID));
		assert_int_equal(w->ret.n, 201);
		assert_int_equal(w->calls, i);
	}
	w->answer = GPC_E_CORRUPT;
	assert_false(pull_of(w, begin - OLD_NS, PID));
	assert_int_equal(w->calls, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(one_look_at_a_batch, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_later_sample_is_looked_at, set_up, tear_down),
		cmocka_unit_test_setup_teardown(numbers_of_names_that_are_no_more, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(what_stands_still_is_read_for_itself, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(answers_that_are_not_kept, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

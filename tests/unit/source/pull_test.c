/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cmocka.h>

#include "pull_world.h"

static void test_nobody_asked(void **state)
{
	struct world *w = *state;

	assert_false(pull(w));
	assert_int_equal(stats(w).asked, 0);
}

static void test_what_the_collector_sees(void **state)
{
	struct world *w = *state;

	add(w, true, false);
	assert_true(pull(w));
	assert_int_equal(w->seen.pc, 0x1001);
	assert_int_equal(w->seen.sp, SP);
	assert_int_equal(w->seen.tid, PID);
	assert_int_equal(w->seen.ns_tid, PID);
	assert_int_equal(w->seen.n_native, 3); /* the kernel's part is not */
	assert_int_equal(w->seen.stack_bytes, sizeof w->copy);
	assert_int_equal(w->seen.regs_mask, gpc_regs_mask);
	assert_true(w->seen.flags & GPC_PULL_EXACT);
	assert_int_equal(w->ret.epoch, 3);
	assert_int_equal(stats(w).exact, 1);
}

static void test_alone(void **state)
{
	struct world *w = *state;
	struct gpc_frame_text text = {.struct_size = sizeof text};

	add(w, true, false);
	assert_true(pull(w));
	assert_int_equal(w->ret.n, 3);
	assert_int_equal(w->ret.frames[0], FRAME(100));
	assert_true(gpc_names_frame_text(w->names, w->ret.frames[2], &text));
	assert_string_equal(text.function, "[runtime stack, not joined]");
	assert_int_equal(stats(w).alone, 1);
	assert_int_equal(stats(w).joined, 0);
}

static void test_joined(void **state)
{
	struct world *w = *state;

	add(w, true, false);
	w->n_runs = 1;
	w->run = (struct gpc_pull_run){0, 2, 1, 1};
	assert_true(pull(w));
	assert_int_equal(w->ret.n, 4);
	assert_int_equal(w->ret.frames[0], 0x1001);
	assert_int_equal(w->ret.frames[1], FRAME(100));
	assert_int_equal(w->ret.frames[3], 0x3000);
	assert_int_equal(stats(w).joined, 1);
	/* A run that does not fit. */
	w->run.native_n = 3;
	assert_true(pull(w));
	assert_int_equal(stats(w).alone, 1);
}

static void test_not_exact(void **state)
{
	struct world *w = *state;

	add(w, true, false);
	w->n_runs = 1;
	w->run = (struct gpc_pull_run){0, 2, 1, 1};
	w->memory[3]++;
	/* A real-time reader finds it out behind the answer, any other before. */
	assert_true(pull(w));
	assert_int_equal(stats(w).joined, 0);
	assert_int_equal(stats(w).alone, 1);
	gpc_pulls_set_realtime(w->pulls, false);
	pull(w);
	assert_false(w->seen.flags & GPC_PULL_EXACT);
	gpc_pulls_set_realtime(w->pulls, true);
	w->memory[3]--;
	/* The stack is as it was, but much can have happened. */
	pull_aged(w, 20 * GPC_MS_NS);
	assert_false(w->seen.flags & GPC_PULL_EXACT);
	gpc_pulls_set_realtime(w->pulls, false);
	pull_aged(w, GPC_MS_NS);
	assert_false(w->seen.flags & GPC_PULL_EXACT);
	assert_int_equal(stats(w).checked, 4);
	assert_int_equal(stats(w).exact, 0);
	assert_true(stats(w).age_max_ns >= 20 * GPC_MS_NS);
}

/* It ran on while it was read: nothing is joined. */
static void test_moved_meanwhile(void **state)
{
	struct world *w = *state;

	add(w, true, false);
	w->n_runs = 1;
	w->run = (struct gpc_pull_run){0, 2, 1, 1};
	w->has_run = 1;
	assert_true(pull(w));
	/* Asked once more, and told that it may run on. */
	assert_int_equal(w->calls, 2);
	assert_false(w->seen.flags & GPC_PULL_EXACT);
	assert_int_equal(stats(w).joined, 0);
	assert_int_equal(stats(w).alone, 1);
	assert_int_equal(stats(w).exact, 0);
}

static void test_errors(void **state)
{
	struct world *w = *state;

	add(w, true, false);
	w->answer = GPC_E_CORRUPT;
	assert_false(pull(w));
	w->answer = GPC_OK;
	w->n = GPC_PULLED_MAX + 1;
	assert_false(pull(w));
	w->n = 1;
	w->n_runs = 100000;
	assert_false(pull(w));
	assert_int_equal(stats(w).failed, 3);
	w->n = w->n_runs = 0;
	assert_false(pull(w));
	assert_int_equal(stats(w).failed, 3);
	assert_int_equal(stats(w).answered, 0);
	/* As many as there is room for, with the mark instead of the last. */
	w->n = GPC_PULLED_MAX;
	assert_true(pull(w));
	assert_int_equal(w->ret.n, GPC_PULLED_MAX);
}

/* Until it was asked: the share of a second may be used up. */
static void pull_slowly(struct world *w)
{
	unsigned calls = w->calls;

	w->slow_us = 2200;
	while (w->calls == calls) {
		assert_false(pull(w));
		usleep(w->calls == calls ? 100000 : 0);
	}
}

static void test_twenty_slow_answers_in_a_row(void **state)
{
	struct world *w = *state;

	add(w, true, false);
	for (int i = 0; i < 19; i++)
		pull_slowly(w);
	w->slow_us = 0;
	usleep(1100000);
	assert_true(pull(w)); /* breaks the row */
	for (int i = 0; i < 20; i++) {
		assert_int_equal(w->given_up, 0);
		pull_slowly(w);
	}
	assert_int_equal(w->given_up, 1);
	assert_int_equal(w->calls, 40);
	w->slow_us = 0;
	assert_false(pull(w));
	assert_int_equal(w->calls, 40);
	assert_int_equal(stats(w).slow, 39);
}

/* A tenth of each second of a CPU. */
static void test_share(void **state)
{
	struct world *w = *state;
	uint64_t begin = gpc_now_ns(), calls;

	add(w, true, false);
	w->slow_us = 1700; /* with the clock's slack below what is slow */
	while (!stats(w).skipped && gpc_now_ns() - begin < 5 * GPC_SECOND_NS) {
		w->given_up = 0;
		pull(w);
		if (w->given_up)
			skip(); /* the machine is too busy to sleep so shortly */
	}
	assert_true(stats(w).skipped > 0);
	calls = w->calls;
	pull(w);
	assert_true(w->calls - calls <= 1);
	w->slow_us = 0;
	usleep(1100000);
	calls = w->calls;
	pull(w);
	assert_int_equal(w->calls, calls + 1);
}

static void test_thread_numbers_inside(void **state)
{
	struct world *w = *state;

	w->target.ns_pid = 1;
	add(w, true, false);
	pull(w);
	assert_int_equal(w->seen.ns_tid, 1);
	/* Another thread is not known before the chores are done; ours stands for it. */
	make_sample(w, gpc_now_ns(), (uint32_t)getpid(), 0x1001, 0);
	pull_made(w);
	assert_int_equal(w->seen.ns_tid, 0);
	gpc_pulls_chores(w->pulls);
	pull_made(w);
	assert_true(w->seen.ns_tid > 0);
	gpc_pulls_new_thread(w->pulls, PID, getpid());
	pull_made(w);
	assert_int_equal(w->seen.ns_tid, 0);
}

/* ---- steps ---------------------------------------------------------------------------- */

static void test_steps_alternate(void **state)
{
	struct world *w = *state;

	add(w, false, true);
	assert_int_equal(gpc_pulls_claim(w->pulls, w, 7, 0x1000, 0x1100), GPC_OK);
	assert_int_equal(gpc_pulls_claim(w->pulls, w, 7, 0x5000, 0x5100), GPC_OK);
	w->memory[3] = 0x8001;  /* from the leaf: native */
	w->memory[4] = SP + 64; /* its frame: fp, where to return */
	w->memory[5] = 0x5008;  /* generated again, from SP + 48 on */
	w->memory[9] = 0x9001;
	w->memory[8] = 0;
	memcpy(w->copy, w->memory, sizeof w->copy);
	make_sample(w, gpc_now_ns(), PID, 0x1004, SP + 32);
	assert_true(pull_made(w));
	assert_int_equal(w->ret.n, 4);
	assert_int_equal(w->ret.frames[0], FRAME(0x1004));
	assert_int_equal(w->ret.frames[1], 0x8000);
	assert_int_equal(w->ret.frames[2], FRAME(0x5008));
	assert_int_equal(w->ret.frames[3], 0x9000);
	assert_int_equal(stats(w).joined, 1);
}

/* The target makes an address of its stack look like the number of a name. */
static void test_an_address_is_no_name(void **state)
{
	struct world *w = *state;

	add(w, false, true);
	assert_int_equal(gpc_pulls_claim(w->pulls, w, 7, 0x1000, 0x1100), GPC_OK);
	w->memory[3] = FRAME(5) + 1;
	memcpy(w->copy, w->memory, sizeof w->copy);
	make_sample(w, gpc_now_ns(), PID, 0x1004, 0);
	assert_true(pull_made(w));
	assert_int_equal(w->ret.n, 2);
	assert_int_equal(w->ret.frames[0], FRAME(0x1004));
	assert_int_equal(w->ret.frames[1], 0);
}

static gpc_status begin(void *self, void *tctx, const struct gpc_pull_sample *s,
			struct gpc_step_state *state)
{
	struct world *w = tctx;

	(void)self;
	assert_int_equal(s->pc, state->pc);
	w->calls++;
	state->next_pc = 0x1008;
	state->next_sp = w->next_sp;
	state->next_fp = 0;
	return w->answer;
}

/* The collector knows where its frames are above native code that the unwinder
 * cannot follow, or follows too far. */
static void test_goes_on_where_the_collector_knows(void **state)
{
	struct world *w = *state;

	w->step.begin = begin;
	add(w, false, true);
	gpc_pulls_claim(w->pulls, w, 7, 0x1000, 0x1100);
	w->next_sp = SP + 64;
	w->memory[11] = 0x9001; /* from there */
	memcpy(w->copy, w->memory, sizeof w->copy);
	make_sample(w, gpc_now_ns(), PID, 0x8004, 0); /* no frame pointer */
	assert_true(pull_made(w));
	assert_int_equal(w->ret.n, 3);
	assert_int_equal(w->ret.frames[0], 0x8004);
	assert_int_equal(w->ret.frames[1], FRAME(0x1008));
	assert_int_equal(w->ret.frames[2], 0x9000);
	/* A frame pointer that leads beyond it. */
	w->memory[20] = 0;
	w->memory[21] = 0x7001;
	memcpy(w->copy, w->memory, sizeof w->copy);
	make_sample(w, gpc_now_ns(), PID, 0x8004, SP + 160);
	assert_true(pull_made(w));
	assert_int_equal(w->ret.frames[1], FRAME(0x1008));
	/* Below sp there is nothing: the native stack stays. */
	w->next_sp = SP - 64;
	make_sample(w, gpc_now_ns(), PID, 0x8004, 0);
	assert_false(pull_made(w));
	/* Nor is anything known when it fails. */
	w->next_sp = SP + 64;
	w->answer = GPC_E_CORRUPT;
	assert_false(pull_made(w));
	assert_int_equal(stats(w).failed, 0);
}

static gpc_status finish_stack(void *self, void *tctx, const struct gpc_pull_sample *s,
			       int32_t has_runtime, struct gpc_pull_out *out)
{
	struct world *w = tctx;

	(void)self;
	w->seen = *s;
	snprintf(w->name, sizeof w->name, "%s", s->thread_name);
	if (w->n)
		out->frames[out->n++] = FRAME(has_runtime ? 700 : 701);
	return w->answer;
}

/* Frames at the root end, also of a stack that is all native; and the name that the
 * thread has by now. */
static void test_finish(void **state)
{
	struct world *w = *state;
	char name[16] = "";

	assert_int_equal(prctl(PR_GET_NAME, name), 0);
	w->step.finish = finish_stack;
	add(w, false, true);
	gpc_pulls_claim(w->pulls, w, 7, 0x1000, 0x1100);
	w->memory[3] = 0x8001;
	memcpy(w->copy, w->memory, sizeof w->copy);
	make_sample(w, gpc_now_ns(), (uint32_t)getpid(), 0x1004, 0);
	assert_true(pull_made(w));
	assert_int_equal(w->ret.n, 3);
	assert_int_equal(w->ret.frames[2], FRAME(700));
	assert_string_equal(w->name, "");
	gpc_pulls_chores(w->pulls);
	make_sample(w, gpc_now_ns(), (uint32_t)getpid(), 0x8004, 0);
	assert_true(pull_made(w));
	assert_int_equal(w->ret.n, 2);
	assert_int_equal(w->ret.frames[0], 0x8004);
	assert_int_equal(w->ret.frames[1], FRAME(701));
	assert_string_equal(w->name, name);
	assert_int_equal(w->seen.ns_tid, getpid());
	/* It is called something else; that is not known yet. */
	gpc_pulls_new_thread(w->pulls, PID, getpid());
	assert_true(pull_made(w));
	assert_string_equal(w->name, "");
	/* Nothing added, or an error: the native stack stays. */
	w->n = 0;
	assert_false(pull_made(w));
	w->n = 1;
	w->answer = GPC_E_CORRUPT;
	assert_false(pull_made(w));
	assert_int_equal(stats(w).failed, 0);
}

static void test_steps_that_do_not_go_up(void **state)
{
	struct world *w = *state;

	add(w, false, true);
	gpc_pulls_claim(w->pulls, w, 7, 0x1000, 0x1100);
	w->is_still = true;
	assert_false(pull(w));
	assert_int_equal(w->calls, 1);
	w->is_still = false;
	w->answer = GPC_E_CORRUPT;
	assert_false(pull(w));
	assert_int_equal(stats(w).failed, 2);
}

static void test_without_claimed_code_the_native_stack_stays(void **state)
{
	struct world *w = *state;

	add(w, false, true);
	gpc_pulls_claim(w->pulls, w, 7, 0x1100, 0x1200);
	assert_false(pull(w));
	assert_int_equal(w->calls, 0);
	assert_int_equal(stats(w).failed, 0);
	assert_int_equal(gpc_pulls_claim(w->pulls, w, 7, 0x1000, 0x1100), GPC_OK);
	assert_true(pull(w));
	assert_int_equal(gpc_pulls_release(w->pulls, w, 7, 0x1000, 0x1100), GPC_OK);
	assert_int_equal(gpc_pulls_release(w->pulls, w, 7, 0x1000, 0x1100), GPC_E_CONFIG);
	assert_false(pull(w));
}

static void test_claims_from_attach(void **state)
{
	struct world *w = *state;

	assert_int_equal(gpc_pulls_claim(w->pulls, w, 7, 0x1100, 0x1100), GPC_E_CONFIG);
	assert_int_equal(gpc_pulls_claim(w->pulls, w, 7, 0x1000, 0x1100), GPC_OK);
	/* That attach failed. */
	assert_true(gpc_pulls_remove(w->pulls, w, 7));
	add(w, false, true);
	assert_false(pull(w));
	assert_true(gpc_pulls_remove(w->pulls, w, 7));
	/* This one does not; another process's claims are not its own. */
	assert_int_equal(gpc_pulls_claim(w->pulls, w, 8, 0x2000, 0x2100), GPC_OK);
	for (uint64_t i = 0; i < 1023; i++)
		assert_int_equal(gpc_pulls_claim(w->pulls, w, 7, 0x1000 + i, 0x1001 + i), GPC_OK);
	assert_int_equal(gpc_pulls_claim(w->pulls, w, 7, 0x9000, 0x9100), GPC_E_BUDGET);
	add(w, false, true);
	assert_true(pull(w));
	assert_int_equal(gpc_pulls_claim(w->pulls, w, 7, 0x9000, 0x9100), GPC_OK);
	assert_int_equal(gpc_pulls_claim(w->pulls, w, 7, 0x9100, 0x9200), GPC_E_BUDGET);
	gpc_pulls_remove(w->pulls, w, 8);
}

/* ---- threads ---------------------------------------------------------------------------- */

static void *pull_once(void *arg)
{
	pull(arg);
	return NULL;
}

/* A reader in another thread that hangs until it is let go. */
static void hang(struct world *w, pthread_t *thread)
{
	w->waits = true;
	add(w, true, false);
	assert_int_equal(pthread_create(thread, NULL, pull_once, w), 0);
	while (!__atomic_load_n(&w->ret.asked, __ATOMIC_ACQUIRE))
		usleep(1000);
	usleep(10000);
	gpc_pulls_hangs(w->pulls, &w->ret);
	gpc_pulls_chores(w->pulls);
}

static void let_go(struct world *w, pthread_t thread)
{
	assert_int_equal(write(w->gate[1], "x", 1), 1);
	pthread_join(thread, NULL);
}

static void test_one_that_hangs(void **state)
{
	struct world *w = *state;
	pthread_t thread;

	hang(w, &thread);
	assert_int_equal(w->given_up, 0);
	usleep(1100000);
	gpc_pulls_chores(w->pulls);
	gpc_pulls_chores(w->pulls);
	assert_int_equal(w->given_up, 1);
	assert_true(gpc_pulls_has_stuck(w->pulls));
	assert_false(gpc_pulls_remove(w->pulls, w, 7));
	assert_int_equal(gpc_pulls_count(w->pulls), 0);
	/* What it may come back to stays. */
	assert_false(gpc_pulls_free(w->pulls));
	let_go(w, thread);
	assert_false(gpc_pulls_has_stuck(w->pulls));
}

/* It waited for a lock of the process; meanwhile that was left alone. */
static void test_one_that_comes_back(void **state)
{
	struct world *w = *state, *other = calloc(1, sizeof *other);
	pthread_t thread;

	assert_non_null(other);
	hang(w, &thread);
	other->format = w->format;
	make_sample(other, gpc_now_ns(), PID, 0x1001, 0);
	assert_false(gpc_pulls_pull(w->pulls, 1, other->record.words, other->record.n,
				    &other->format, &other->ret));
	assert_int_equal(stats(w).asked, 1);
	let_go(w, thread);
	usleep(1100000);
	gpc_pulls_chores(w->pulls);
	assert_int_equal(w->given_up, 0);
	assert_int_equal(write(w->gate[1], "x", 1), 1); /* this one is not to wait */
	assert_true(gpc_pulls_pull(w->pulls, 1, other->record.words, other->record.n,
				   &other->format, &other->ret));
	assert_int_equal(stats(w).asked, 2);
	free(other->ret.own);
	free(other);
}

struct puller {
	struct world *shared, own; /* own: record and answer of this thread */
	bool *stop;
};

static void *pull_many(void *arg)
{
	struct puller *p = arg;
	struct world *w = &p->own;

	while (!__atomic_load_n(p->stop, __ATOMIC_ACQUIRE)) {
		make_sample(w, gpc_now_ns(), PID, 0x1001, 0);
		gpc_pulls_pull(p->shared->pulls, 1, w->record.words, w->record.n, &w->format,
			       &w->ret);
	}
	free(w->ret.own);
	return NULL;
}

static gpc_status walk_nothing(void *self, void *tctx, const struct gpc_pull_sample *s,
			       struct gpc_pull_out *out)
{
	(void)self;
	(void)tctx;
	out->frames[0] = FRAME(s->pc);
	out->n = 1;
	return GPC_OK;
}

static gpc_status step_to_the_end(void *self, void *tctx, const struct gpc_pull_sample *s,
				  struct gpc_step_state *state, struct gpc_pull_out *out)
{
	state->pc = 0;
	return walk_nothing(self, tctx, s, out);
}

static void test_come_and_go_while_readers_read(void **state)
{
	struct world *w = *state;
	struct puller *pullers = calloc(3, sizeof *pullers);
	pthread_t threads[3];
	bool stop = false;

	assert_non_null(pullers);
	w->walk.walk = walk_nothing;
	w->step.step = step_to_the_end;
	for (int i = 0; i < 3; i++) {
		pullers[i].shared = w;
		pullers[i].own.format = w->format;
		pullers[i].stop = &stop;
		assert_int_equal(pthread_create(&threads[i], NULL, pull_many, &pullers[i]), 0);
	}
	for (int i = 0; i < 300 || (i < 100000 && !stats(w).asked); i++) {
		assert_int_equal(gpc_pulls_claim(w->pulls, w, 7, 0x1000, 0x1100), GPC_OK);
		add(w, true, i % 2);
		gpc_pulls_set_names(w->pulls, w->names);
		gpc_pulls_chores(w->pulls);
		gpc_pulls_new_thread(w->pulls, PID, PID);
		stats(w);
		assert_true(gpc_pulls_remove(w->pulls, w, 7));
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELEASE);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	assert_true(stats(w).asked > 0);
	free(pullers);
}

#define world_test(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		world_test(test_nobody_asked),
		world_test(test_what_the_collector_sees),
		world_test(test_alone),
		world_test(test_joined),
		world_test(test_not_exact),
		world_test(test_moved_meanwhile),
		world_test(test_errors),
		world_test(test_twenty_slow_answers_in_a_row),
		world_test(test_share),
		world_test(test_thread_numbers_inside),
		world_test(test_steps_alternate),
		world_test(test_an_address_is_no_name),
		world_test(test_goes_on_where_the_collector_knows),
		world_test(test_finish),
		world_test(test_steps_that_do_not_go_up),
		world_test(test_without_claimed_code_the_native_stack_stays),
		world_test(test_claims_from_attach),
		world_test(test_one_that_hangs),
		world_test(test_one_that_comes_back),
		world_test(test_come_and_go_while_readers_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

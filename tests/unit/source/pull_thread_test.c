/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "fake_ring.h"
#include "source/pull_thread.h"

#define HANGS 666 /* pid of samples whose pull() waits to be let go */

struct world {
	struct fake_ring fake;
	struct gpc_slot *slot;
	uint64_t scratch[GPC_RECORD_MAX / 8];
	struct gpc_pulled out;
	unsigned pulls, hung, returned; /* atomic */
	const struct gpc_pulled *who;   /* what hangs() was told */
	int go;                         /* eventfd: ends the waits */
	int event;                      /* eventfd: tells of records */
	enum gpc_priority got;
};

static bool pull(void *ctx, uint32_t cpu, const void *record, size_t n,
		 const struct gpc_perf_format *format, struct gpc_pulled *ret)
{
	struct world *w = ctx;
	struct gpc_perf_record r;
	uint64_t one;

	assert_int_equal(cpu, 0);
	assert_true(gpc_perf_decode(record, n, format, &r));
	__atomic_add_fetch(&w->pulls, 1, __ATOMIC_ACQ_REL);
	ret->n = 1;
	ret->frames[0] = r.time;
	if (r.pid == HANGS) {
		if (read(w->go, &one, sizeof one) != (ssize_t)sizeof one)
			abort();
		__atomic_add_fetch(&w->returned, 1, __ATOMIC_ACQ_REL);
	}
	return r.time % 2;
}

static void hangs(void *ctx, struct gpc_pulled *ret)
{
	struct world *w = ctx;

	w->hung++;
	w->who = ret;
}

static int set_up(void **state)
{
	struct world *w = calloc(1, sizeof *w);

	assert_non_null(w);
	w->slot = fake_slot(&w->fake);
	w->event = w->slot->fd = eventfd(0, EFD_CLOEXEC);
	w->go = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
	assert_true(w->slot->fd >= 0 && w->go >= 0);
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	gpc_reader_thread_stop(w->slot);
	close(w->go);
	fake_slot_free(w->slot);
	free(w);
	return 0;
}

static void start(struct world *w, enum gpc_priority wanted)
{
	struct gpc_pull_hooks hooks = {.ctx = w, .pull = pull, .hangs = hangs};
	struct gpc_err err;

	assert_int_equal(gpc_reader_thread_start(w->slot, &hooks, wanted, &w->got, &err), GPC_OK);
}

/* The next record, within ten seconds. */
static uint64_t next(struct world *w)
{
	uint64_t until = gpc_now_ns() + 10 * GPC_SECOND_NS, time = 0;
	struct gpc_perf_record r;
	const void *bytes;
	size_t size;

	while (gpc_slot_next_time(w->slot, &time) != GPC_SLOT_READY) {
		assert_true(gpc_now_ns() < until);
		usleep(500);
	}
	bytes = gpc_slot_take(w->slot, w->scratch, &size, &w->out);
	assert_true(gpc_perf_decode(bytes, size, &w->slot->ring.format, &r));
	assert_int_equal(r.time, time);
	return time;
}

static void wait_for(unsigned *what, unsigned n)
{
	uint64_t until = gpc_now_ns() + 10 * GPC_SECOND_NS;

	while (__atomic_load_n(what, __ATOMIC_ACQUIRE) < n) {
		assert_true(gpc_now_ns() < until);
		usleep(500);
	}
}

static void let_go(struct world *w)
{
	uint64_t one = 1;

	assert_int_equal(write(w->go, &one, sizeof one), sizeof one);
}

static void tell(struct world *w)
{
	uint64_t one = 1;

	assert_int_equal(write(w->event, &one, sizeof one), sizeof one);
}

static bool sample(struct world *w, uint64_t time, uint32_t pid, uint64_t n_ips)
{
	bool is_there = fake_sample(&w->fake, time, pid, n_ips);

	tell(w);
	return is_there;
}

static void test_hands_on_in_order(void **state)
{
	struct world *w = *state;

	start(w, GPC_PRIORITY_NORMAL);
	assert_int_equal(w->got, GPC_PRIORITY_NORMAL);
	for (uint64_t t = 1; t <= 100; t++)
		assert_true(sample(w, t, 1, 2));
	for (uint64_t t = 1; t <= 100; t++) {
		assert_int_equal(next(w), t);
		assert_int_equal(w->out.n, t % 2);
		if (w->out.n)
			assert_int_equal(w->out.frames[0], t);
	}
	assert_true(gpc_reader_thread_cpu_ns(w->slot) > 0);
	assert_false(gpc_reader_thread_check(w->slot, 1));
}

static void test_only_samples_are_pulled(void **state)
{
	struct world *w = *state;
	struct rec_id id = {.pid = 1, .tid = 1, .time = 5};
	struct rec *r = calloc(1, sizeof *r);

	assert_non_null(r);
	rec_begin(r, PERF_RECORD_EXIT, 0);
	for (int i = 0; i < 4; i++)
		rec_u32(r, 1);
	rec_u64(r, 5);
	rec_trailer(r, REC_TYPE, &id);
	assert_true(fake_produce(&w->fake, r));
	tell(w);
	free(r);
	start(w, GPC_PRIORITY_NORMAL);
	assert_int_equal(next(w), 5);
	assert_int_equal(w->pulls, 0);
}

static void test_batched(void **state)
{
	struct world *w = *state;

	start(w, GPC_PRIORITY_BATCHED);
	assert_int_equal(w->got, GPC_PRIORITY_BATCHED);
	sample(w, 1, 1, 1);
	assert_int_equal(next(w), 1);
	assert_int_equal(w->pulls, 1);
}

static void *let_go_later(void *arg)
{
	usleep(2000000);
	let_go(arg);
	return NULL;
}

/* Whoever starts a reader holds the lock under which one that hangs is given up. */
static void test_starting_waits_for_no_process(void **state)
{
	struct world *w = *state;
	uint64_t begin = gpc_now_ns();
	pthread_t helper;

	sample(w, 1, HANGS, 1);
	assert_int_equal(pthread_create(&helper, NULL, let_go_later, w), 0);
	start(w, GPC_PRIORITY_BATCHED);
	assert_true(gpc_now_ns() - begin < GPC_SECOND_NS);
	wait_for(&w->pulls, 1); /* its first batch has it */
	pthread_join(helper, NULL);
	assert_int_equal(next(w), 1);
	assert_int_equal(w->out.n, 1);
}

/* An event whose end poll has been told of, for ever. */
static int ended_event(void)
{
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	close(ends[1]);
	return ends[0];
}

/* The ring is that of the first thread's event; others write into it when that thread
 * has ended. */
static void test_the_thread_of_the_ring_ends(void **state)
{
	struct world *w = *state;

	w->slot->fd = ended_event();
	assert_true(vec_push(&w->slot->others, ended_event()));
	assert_true(vec_push(&w->slot->others, w->event));
	start(w, GPC_PRIORITY_NORMAL);
	usleep(50000);
	for (uint64_t t = 1; t <= 3; t++) {
		sample(w, t, 1, 1);
		assert_int_equal(next(w), t);
	}
}

static void test_priority_is_told(void **state)
{
	struct world *w = *state;

	start(w, GPC_PRIORITY_REALTIME);
	/* With the right to it that is what it gets; else the next best. */
	assert_true(w->got == GPC_PRIORITY_REALTIME || geteuid() != 0 ||
		    w->got <= GPC_PRIORITY_NORMAL);
	assert_string_equal(gpc_priority_name(GPC_PRIORITY_REALTIME), "realtime");
	assert_string_equal(gpc_priority_name(GPC_PRIORITY_BATCHED), "batched");
}

static void test_one_that_hangs_is_replaced(void **state)
{
	struct world *w = *state;

	start(w, GPC_PRIORITY_NORMAL);
	sample(w, 1, HANGS, 1);
	sample(w, 3, 1, 1);
	wait_for(&w->pulls, 1);
	assert_false(gpc_reader_thread_check(w->slot, 60 * GPC_SECOND_NS));
	usleep(20000);
	assert_true(gpc_reader_thread_check(w->slot, GPC_MS_NS));
	assert_int_equal(w->hung, 1);
	assert_non_null(w->who);
	/* Its record goes on without frames, and so does what came while it hung. */
	assert_int_equal(next(w), 1);
	assert_int_equal(w->out.n, 0);
	assert_int_equal(next(w), 3);
	assert_int_equal(w->out.n, 0);
	/* What comes back meanwhile changes nothing. */
	let_go(w);
	wait_for(&w->returned, 1);
	usleep(20000);
	sample(w, 5, 1, 1);
	assert_int_equal(next(w), 5);
	assert_int_equal(w->out.n, 1);
	assert_int_equal(w->pulls, 2);
}

/* What was sampled before there was a reader is not its business. */
static void test_too_late_for_what_was_there(void **state)
{
	struct world *w = *state;

	sample(w, 1, 1, 1);
	start(w, GPC_PRIORITY_NORMAL);
	sample(w, 3, 1, 1);
	assert_int_equal(next(w), 1);
	assert_int_equal(w->out.n, 0);
	assert_int_equal(next(w), 3);
	assert_int_equal(w->out.n, 1);
}

static void test_stop_leaves_one_that_hangs(void **state)
{
	struct world *w = *state;
	uint64_t begin = gpc_now_ns(), time;

	start(w, GPC_PRIORITY_NORMAL);
	sample(w, 1, HANGS, 1);
	sample(w, 2, 1, 1);
	wait_for(&w->pulls, 1);
	gpc_reader_thread_stop(w->slot);
	assert_true(gpc_now_ns() - begin < 5 * GPC_SECOND_NS);
	assert_int_equal(w->hung, 1);
	assert_null(w->slot->thread);
	assert_int_equal(next(w), 1);
	/* The ring is the source's again. */
	gpc_slot_refresh(w->slot);
	assert_int_equal(gpc_slot_next_time(w->slot, &time), GPC_SLOT_READY);
	assert_int_equal(next(w), 2);
	let_go(w);
	wait_for(&w->returned, 1);
	usleep(20000);
	assert_int_equal(gpc_slot_next_time(w->slot, &time), GPC_SLOT_EMPTY);
}

static void test_stop_loses_nothing(void **state)
{
	struct world *w = *state;
	uint64_t taken = 0;

	for (int round = 0; round < 20; round++) {
		for (uint64_t t = 1; t <= 20; t++)
			assert_true(sample(w, (uint64_t)round * 20 + t, 1, 1));
		start(w, GPC_PRIORITY_NORMAL);
		gpc_reader_thread_stop(w->slot);
		gpc_slot_refresh(w->slot);
		for (uint64_t t = 1; t <= 20; t++)
			assert_int_equal(next(w), ++taken);
		gpc_slot_release(w->slot);
	}
}

#define world_test(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		world_test(test_hands_on_in_order),
		world_test(test_only_samples_are_pulled),
		world_test(test_batched),
		world_test(test_starting_waits_for_no_process),
		world_test(test_the_thread_of_the_ring_ends),
		world_test(test_priority_is_told),
		world_test(test_one_that_hangs_is_replaced),
		world_test(test_too_late_for_what_was_there),
		world_test(test_stop_leaves_one_that_hangs),
		world_test(test_stop_loses_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

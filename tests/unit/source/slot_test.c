/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "fake_ring.h"

/* Only whether there is one matters to a slot. */
#define SOME_READER ((struct gpc_reader_thread *)8)

struct world {
	struct fake_ring fake;
	struct gpc_slot *slot;
	uint64_t lifted[GPC_RECORD_MAX / 8], scratch[GPC_RECORD_MAX / 8];
	struct gpc_pulled in, out;
};

static int set_up(void **state)
{
	struct world *w = calloc(1, sizeof *w);

	assert_non_null(w);
	w->slot = fake_slot(&w->fake);
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	w->slot->thread = NULL;
	fake_slot_free(w->slot);
	free(w);
	return 0;
}

static struct gpc_perf_record take(struct world *w)
{
	struct gpc_perf_record r = {0};
	size_t size = 0;
	const void *bytes = gpc_slot_take(w->slot, w->scratch, &size, &w->out);

	assert_non_null(bytes);
	assert_true(gpc_perf_decode(bytes, size, &w->slot->ring.format, &r));
	return r;
}

static enum gpc_slot_state state_of(struct world *w, uint64_t *time)
{
	*time = 0;
	return gpc_slot_next_time(w->slot, time);
}

static void test_without_a_reader_the_ring_is_read(void **state)
{
	struct world *w = *state;
	uint64_t time;

	assert_int_equal(state_of(w, &time), GPC_SLOT_EMPTY);
	fake_sample(&w->fake, 10, 1, 3);
	gpc_slot_refresh(w->slot);
	assert_int_equal(state_of(w, &time), GPC_SLOT_READY);
	assert_int_equal(time, 10);
	w->out.n = 99;
	assert_int_equal(take(w).sample.ips[2], 10002);
	assert_int_equal(w->out.n, 0);
	gpc_slot_release(w->slot);
	assert_int_equal(w->fake.page.data_tail, w->fake.page.data_head);
	assert_int_equal(state_of(w, &time), GPC_SLOT_EMPTY);
}

static void test_a_record_on_its_way_holds_its_place(void **state)
{
	struct world *w = *state;
	const void *record;
	uint64_t time;
	size_t n, size;

	w->slot->thread = SOME_READER;
	fake_sample(&w->fake, 10, 1, 1);
	fake_sample(&w->fake, 20, 1, 1);
	/* In the ring: the reader is to come. */
	assert_int_equal(state_of(w, &time), GPC_SLOT_BUSY);
	assert_int_equal(time, 10);
	assert_null(gpc_slot_take(w->slot, w->scratch, &size, &w->out));
	record = gpc_slot_lift(w->slot, w->lifted, &n);
	assert_non_null(record);
	gpc_slot_release(w->slot); /* the source, that has a reader, does not touch the ring */
	assert_int_equal(w->fake.page.data_tail, 0);
	assert_int_equal(state_of(w, &time), GPC_SLOT_BUSY);
	assert_int_equal(time, 10);
	w->in.n = 2;
	w->in.epoch = 7;
	w->in.frames[0] = 0x100;
	w->in.frames[1] = 0x200;
	gpc_slot_put(w->slot, record, n, &w->in);
	assert_int_equal(state_of(w, &time), GPC_SLOT_READY);
	assert_int_equal(time, 10);
	assert_int_equal(take(w).sample.ips[0], 10000);
	assert_int_equal(w->out.n, 2);
	assert_int_equal(w->out.epoch, 7);
	assert_int_equal(w->out.frames[1], 0x200);
	/* The next one still waits in the ring. */
	assert_int_equal(state_of(w, &time), GPC_SLOT_BUSY);
	assert_int_equal(time, 20);
}

static void test_what_was_queued_comes_before_the_ring(void **state)
{
	struct world *w = *state;
	const void *record;
	uint64_t time;
	size_t n;

	w->slot->thread = SOME_READER;
	for (uint64_t t = 1; t <= 3; t++)
		fake_sample(&w->fake, t, 1, 1);
	for (int i = 0; i < 2; i++) {
		record = gpc_slot_lift(w->slot, w->lifted, &n);
		gpc_slot_put(w->slot, record, n, NULL);
	}
	w->slot->thread = NULL; /* the reader has ended */
	gpc_slot_refresh(w->slot);
	for (uint64_t t = 1; t <= 3; t++) {
		assert_int_equal(state_of(w, &time), GPC_SLOT_READY);
		assert_int_equal(time, t);
		assert_int_equal(take(w).time, t);
		assert_int_equal(w->out.n, 0);
	}
	assert_int_equal(state_of(w, &time), GPC_SLOT_EMPTY);
}

static void test_records_of_odd_length(void **state)
{
	struct world *w = *state;
	uint8_t bytes[13] = "0123456789ab";
	size_t size = 0;

	w->slot->thread = SOME_READER;
	w->in.n = 1;
	w->in.frames[0] = 0xabcdef;
	for (unsigned n = 8; n <= sizeof bytes; n++) {
		const void *at;

		gpc_slot_put(w->slot, bytes, n, &w->in);
		at = gpc_slot_take(w->slot, w->scratch, &size, &w->out);
		assert_int_equal(size, n);
		assert_memory_equal(at, bytes, n);
		assert_int_equal(w->out.frames[0], 0xabcdef);
	}
}

/* A reader that found frames leaves the copy of the stack behind, and nothing else. */
static void test_the_stack_is_left_behind(void **state)
{
	struct world *w = *state;
	struct rec *r = calloc(1, sizeof *r);
	uint64_t ips[2] = {0x111, 0x222};
	struct gpc_perf_record decoded;
	struct rec_id id = {.pid = 7, .tid = 8, .time = 30};
	const void *record;
	size_t n, size;

	assert_non_null(r);
	w->slot->thread = SOME_READER;
	w->slot->ring.format.sample_type |=
		PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER | PERF_SAMPLE_CGROUP;
	w->slot->ring.format.regs_mask = 3;
	rec_sample(r, &id, ips, 2);
	rec_u64(r, PERF_SAMPLE_REGS_ABI_64);
	rec_u64(r, 0xaa);
	rec_u64(r, 0xbb);
	rec_u64(r, 512); /* of the stack: length, bytes, how many are true */
	for (int i = 0; i < 64; i++)
		rec_u64(r, 0x5555);
	rec_u64(r, 400);
	rec_u64(r, 0xc6); /* control group */
	rec_end(r);
	assert_true(fake_produce(&w->fake, r));
	free(r);
	record = gpc_slot_lift(w->slot, w->lifted, &n);
	assert_true(gpc_perf_decode(record, n, &w->slot->ring.format, &decoded));
	assert_int_equal(decoded.sample.stack_bytes, 400);
	assert_true(
		gpc_perf_stack_extent(record, &decoded.sample, &w->in.stack_from, &w->in.stack_to));
	w->in.n = 1;
	w->in.frames[0] = 0x77;
	gpc_slot_put(w->slot, record, n, &w->in);
	assert_int_equal(w->fake.page.data_tail, w->fake.page.data_head);
	record = gpc_slot_take(w->slot, w->scratch, &size, &w->out);
	assert_int_equal(size, n - 512 - 8);
	assert_true(gpc_perf_decode(record, size, &w->slot->ring.format, &decoded));
	assert_int_equal(decoded.size, size);
	assert_int_equal(decoded.pid, 7);
	assert_int_equal(decoded.time, 30);
	assert_int_equal(decoded.sample.ips[1], 0x222);
	assert_int_equal(decoded.sample.regs[1], 0xbb);
	assert_int_equal(decoded.sample.cgroup, 0xc6);
	assert_int_equal(decoded.sample.stack_bytes, 0);
	assert_false(
		gpc_perf_stack_extent(record, &decoded.sample, &w->in.stack_from, &w->in.stack_to));
	assert_int_equal(w->out.n, 1);
	assert_int_equal(w->out.frames[0], 0x77);
}

static void test_the_queue_has_an_end(void **state)
{
	struct world *w = *state;
	unsigned kept = 0, put = 1200;
	size_t size;

	w->slot->thread = SOME_READER;
	w->in.n = GPC_PULLED_MAX;
	for (unsigned i = 0; i < put; i++)
		gpc_slot_put(w->slot, w->lifted, 8192, &w->in);
	assert_true(w->slot->dropped > 0);
	assert_true(w->slot->queue.n <= 8u << 20);
	while (gpc_slot_take(w->slot, w->scratch, &size, &w->out))
		kept++;
	assert_int_equal(kept + w->slot->dropped, put);
	/* And there is room again. */
	gpc_slot_put(w->slot, w->lifted, 8192, &w->in);
	assert_non_null(gpc_slot_take(w->slot, w->scratch, &size, &w->out));
}

/* ---- a reader and the source at once --------------------------------------------- */

#define MANY 20000

static void *read_all(void *arg)
{
	struct world *w = arg;

	for (uint64_t done = 0; done < MANY;) {
		struct gpc_perf_record r;
		size_t n;
		const void *record = gpc_slot_lift(w->slot, w->lifted, &n);

		if (!record) {
			sched_yield();
			continue;
		}
		gpc_perf_decode(record, n, &w->slot->ring.format, &r);
		w->in.n = (uint32_t)(r.time % 5);
		for (uint32_t i = 0; i < w->in.n; i++)
			w->in.frames[i] = r.time * 7 + i;
		gpc_slot_put(w->slot, record, n, w->in.n ? &w->in : NULL);
		done++;
	}
	return NULL;
}

static void test_threads(void **state)
{
	struct world *w = *state;
	uint64_t produced = 0, taken = 0, time;
	pthread_t thread;

	w->slot->thread = SOME_READER;
	assert_int_equal(pthread_create(&thread, NULL, read_all, w), 0);
	while (taken < MANY) {
		if (produced < MANY && fake_sample(&w->fake, produced + 1, 1, produced % 20))
			produced++;
		gpc_slot_refresh(w->slot);
		while (state_of(w, &time) == GPC_SLOT_READY) {
			struct gpc_perf_record r = take(w);

			taken++;
			assert_int_equal(r.time, taken);
			assert_int_equal(time, taken);
			assert_int_equal(r.sample.n_ips, (taken - 1) % 20);
			assert_int_equal(w->out.n, taken % 5);
			for (uint32_t i = 0; i < w->out.n; i++)
				assert_int_equal(w->out.frames[i], taken * 7 + i);
		}
		gpc_slot_release(w->slot);
	}
	pthread_join(thread, NULL);
	assert_int_equal(w->slot->dropped, 0);
}

#define world_test(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		world_test(test_without_a_reader_the_ring_is_read),
		world_test(test_a_record_on_its_way_holds_its_place),
		world_test(test_what_was_queued_comes_before_the_ring),
		world_test(test_records_of_odd_length),
		world_test(test_the_stack_is_left_behind),
		world_test(test_the_queue_has_an_end),
		world_test(test_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "record.h"
#include "source/ring.h"

#define SIZE 8192

/* A ring without a kernel: the test plays the producer. The data are a block of
 * their own, so that a sanitizer sees a read beyond the end. */
struct fake {
	struct perf_event_mmap_page page;
	struct gpc_ring ring;
	uint64_t scratch[65536 / 8];
};

static int set_up(void **state)
{
	struct fake *f = calloc(1, sizeof *f);

	assert_non_null(f);
	f->ring.page = &f->page;
	f->ring.size = SIZE;
	f->ring.data = malloc(SIZE);
	assert_non_null(f->ring.data);
	memset(f->ring.data, 0xa5, SIZE);
	f->ring.format = (struct gpc_perf_format){.sample_type = REC_TYPE, .sample_id_all = true};
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fake *f = *state;

	free(f->ring.data);
	free(f);
	return 0;
}

static void produce(struct fake *f, const struct rec *r)
{
	assert_true(f->page.data_head + r->n - f->page.data_tail <= SIZE);
	for (size_t i = 0; i < r->n; i++)
		f->ring.data[(f->page.data_head + i) % SIZE] = ((const uint8_t *)r->words)[i];
	f->page.data_head += r->n;
}

static void produce_sample(struct fake *f, uint64_t time, uint64_t n_ips)
{
	static struct rec r; /* large; filled anew each time */
	struct rec_id id = {.pid = 1, .tid = 1, .time = time};
	uint64_t ips[1024] = {0};

	for (uint64_t i = 0; i < n_ips; i++)
		ips[i] = time * 1000 + i;
	rec_sample(&r, &id, ips, n_ips);
	produce(f, &r);
}

static void consume_sample(struct fake *f, uint64_t time, uint64_t n_ips)
{
	struct gpc_perf_record got;
	uint64_t next = 0;
	size_t size = 0;
	const void *bytes;

	assert_true(gpc_ring_next_time(&f->ring, &next));
	assert_int_equal(next, time);
	bytes = gpc_ring_take(&f->ring, f->scratch, &size);
	assert_non_null(bytes);
	assert_true(gpc_perf_decode(bytes, size, &f->ring.format, &got));
	assert_int_equal(got.time, time);
	assert_int_equal(got.sample.n_ips, n_ips);
	for (uint64_t i = 0; i < n_ips; i++)
		assert_int_equal(got.sample.ips[i], time * 1000 + i);
}

static void test_empty(void **state)
{
	struct fake *f = *state;
	uint64_t time;
	size_t size;

	gpc_ring_refresh(&f->ring);
	assert_false(gpc_ring_next_time(&f->ring, &time));
	assert_null(gpc_ring_take(&f->ring, f->scratch, &size));
}

/* Records of all sizes, so that every one of their words falls on the ring's
 * end at some time. */
static void test_round_and_round(void **state)
{
	struct fake *f = *state;

	for (uint64_t time = 1; time < 20000; time++) {
		produce_sample(f, time, time % 37);
		gpc_ring_refresh(&f->ring);
		consume_sample(f, time, time % 37);
		gpc_ring_release(&f->ring);
		assert_int_equal(f->page.data_tail, f->page.data_head);
	}
	assert_true(f->page.data_head > 100 * SIZE);
}

static void test_record_at_the_end_is_copied_only_when_it_wraps(void **state)
{
	struct fake *f = *state;
	size_t size = 0;
	const void *bytes;

	f->page.data_head = f->page.data_tail = f->ring.tail = SIZE - 72;
	produce_sample(f, 5, 0); /* 64 bytes: ends 8 before the end */
	produce_sample(f, 6, 0); /* its header is the last word */
	gpc_ring_refresh(&f->ring);
	bytes = gpc_ring_take(&f->ring, f->scratch, &size);
	assert_ptr_equal(bytes, f->ring.data + SIZE - 72);
	bytes = gpc_ring_take(&f->ring, f->scratch, &size);
	assert_ptr_equal(bytes, f->scratch);
	assert_int_equal(size, 64);
}

/* Positions never wrap in practice, but they are only numbers. */
static void test_positions_overflow(void **state)
{
	struct fake *f = *state;

	f->page.data_head = f->page.data_tail = f->ring.tail = 0 - UINT64_C(128);
	for (uint64_t time = 1; time <= 4; time++)
		produce_sample(f, time, 3);
	gpc_ring_refresh(&f->ring);
	for (uint64_t time = 1; time <= 4; time++)
		consume_sample(f, time, 3);
	assert_int_equal(f->ring.tail, f->page.data_head);
}

static void test_space_is_given_back_only_on_release(void **state)
{
	struct fake *f = *state;

	produce_sample(f, 1, 2);
	gpc_ring_refresh(&f->ring);
	consume_sample(f, 1, 2);
	assert_int_equal(f->page.data_tail, 0);
	gpc_ring_release(&f->ring);
	assert_int_equal(f->page.data_tail, f->page.data_head);
}

static void test_what_comes_later_is_seen_after_refresh(void **state)
{
	struct fake *f = *state;
	uint64_t time;

	produce_sample(f, 1, 2);
	assert_false(gpc_ring_next_time(&f->ring, &time));
	gpc_ring_refresh(&f->ring);
	assert_true(gpc_ring_next_time(&f->ring, &time));
}

/* An interrupt between reading the clock and writing the record. */
static void test_time_never_goes_back(void **state)
{
	struct fake *f = *state;
	uint64_t time = 0;
	size_t size;

	produce_sample(f, 100, 0);
	produce_sample(f, 90, 0);
	produce_sample(f, 110, 0);
	gpc_ring_refresh(&f->ring);
	for (int i = 0; i < 3; i++) {
		assert_true(gpc_ring_next_time(&f->ring, &time));
		assert_int_equal(time, i < 2 ? 100 : 110);
		assert_non_null(gpc_ring_take(&f->ring, f->scratch, &size));
	}
}

static void test_record_without_time_keeps_its_place(void **state)
{
	struct fake *f = *state;
	uint64_t time = 0;
	size_t size;
	struct rec r;

	produce_sample(f, 100, 0);
	rec_begin(&r, PERF_RECORD_THROTTLE, 0);
	rec_end(&r); /* shorter than its trailer */
	produce(f, &r);
	gpc_ring_refresh(&f->ring);
	assert_true(gpc_ring_next_time(&f->ring, &time));
	assert_non_null(gpc_ring_take(&f->ring, f->scratch, &size));
	assert_true(gpc_ring_next_time(&f->ring, &time));
	assert_int_equal(time, 100);
}

/* ---- garbage ------------------------------------------------------------------ */

static void garbage(struct fake *f, uint16_t size, size_t bytes)
{
	struct rec r;

	rec_begin(&r, PERF_RECORD_THROTTLE, 0);
	while (r.n < bytes)
		rec_u64(&r, 0);
	rec_claim(&r, size);
	produce(f, &r);
}

/* After a senseless header nothing up to the head can be believed; what the
 * kernel writes later can. */
static void test_senseless_header_drops_up_to_the_head(void **state)
{
	static const uint16_t sizes[] = {0, 4, 7, 12, 8192, 65535, 65528};
	struct fake *f = *state;
	uint64_t time;
	size_t size;

	for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
		garbage(f, sizes[k], 64);
		produce_sample(f, 50, 0);
		gpc_ring_refresh(&f->ring);
		assert_false(gpc_ring_next_time(&f->ring, &time));
		assert_null(gpc_ring_take(&f->ring, f->scratch, &size));
		gpc_ring_release(&f->ring);
		produce_sample(f, 60, 1);
		gpc_ring_refresh(&f->ring);
		consume_sample(f, 60, 1);
		gpc_ring_release(&f->ring);
		f->ring.last_time = 0;
	}
}

/* A head further away than the ring is long: the kernel has overrun us, which
 * it never does, or the page is broken. */
static void test_head_beyond_the_ring(void **state)
{
	static const uint64_t jumps[] = {SIZE + 8, 65536 * 2, UINT64_MAX / 2, UINT64_MAX - 7};
	struct fake *f = *state;
	uint64_t time;
	size_t size;

	for (size_t k = 0; k < sizeof jumps / sizeof *jumps; k++) {
		struct perf_event_header head = {.type = PERF_RECORD_SAMPLE, .size = 65528};

		memset(f->ring.data, 0, SIZE);
		memcpy(f->ring.data + (f->ring.tail & (SIZE - 1) & ~UINT64_C(7)), &head,
		       sizeof head);
		f->page.data_head = f->ring.tail + jumps[k];
		gpc_ring_refresh(&f->ring);
		assert_false(gpc_ring_next_time(&f->ring, &time));
		assert_null(gpc_ring_take(&f->ring, f->scratch, &size));
		assert_int_equal(f->ring.tail, f->page.data_head);
		gpc_ring_release(&f->ring);
	}
}

static void test_map_refuses_what_is_no_perf_event(void **state)
{
	struct gpc_ring ring = {0};
	struct gpc_err err;

	(void)state;
	assert_true(gpc_ring_map(-1, 32768, 8192, &ring, &err) < 0);
	assert_null(ring.page);
	gpc_ring_unmap(&ring);
}

#define fake_test(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		fake_test(test_empty),
		fake_test(test_round_and_round),
		fake_test(test_record_at_the_end_is_copied_only_when_it_wraps),
		fake_test(test_positions_overflow),
		fake_test(test_space_is_given_back_only_on_release),
		fake_test(test_what_comes_later_is_seen_after_refresh),
		fake_test(test_time_never_goes_back),
		fake_test(test_record_without_time_keeps_its_place),
		fake_test(test_senseless_header_drops_up_to_the_head),
		fake_test(test_head_beyond_the_ring),
		cmocka_unit_test(test_map_refuses_what_is_no_perf_event),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

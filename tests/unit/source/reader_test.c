/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "record.h"
#include "source/reader_impl.h"
#include "source/slot.h"

#define RINGS 9
#define BYTES 65536
#define SEEN  20000

/* Rings that the test fills, and what the reader made of them. */
struct bench {
	struct gpc_reader *reader;
	struct perf_event_mmap_page *pages[RINGS];
	unsigned n_rings;
	uint64_t next_number[RINGS]; /* records are numbered ring by ring */
	uint64_t latest[RINGS];      /* the highest time that a ring has seen */
	struct rec rec;
	unsigned n_seen, n_raw;
	uint64_t last_time;
	bool is_out_of_order;
	struct {
		uint64_t time, number;
		uint32_t stream;
		uint32_t pid;
	} seen[SEEN];
};

static void add_ring(struct bench *b, uint32_t stream)
{
	struct gpc_reader_ring ring = {.bytes = BYTES,
				       .format = {REC_TYPE, true},
				       .stream = stream,
				       .cpu = b->n_rings};

	ring.mapping = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE) + BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(ring.mapping, MAP_FAILED);
	assert_int_equal(gpc_reader_adopt(b->reader, &ring, NULL), GPC_OK);
	b->pages[b->n_rings++] = ring.mapping;
}

static int set_up(void **state)
{
	struct bench *b = calloc(1, sizeof *b);

	assert_int_equal(gpc_reader_new(NULL, &b->reader, NULL), GPC_OK);
	*state = b;
	return 0;
}

static int tear_down(void **state)
{
	struct bench *b = *state;

	gpc_reader_free(b->reader);
	free(b);
	return 0;
}

/* A sample of process (ring + 1) whose only address is its number. */
static void produce(struct bench *b, unsigned ring, uint64_t time)
{
	struct perf_event_mmap_page *page = b->pages[ring];
	uint8_t *data = (uint8_t *)page + sysconf(_SC_PAGESIZE);
	struct rec_id id = {.pid = ring + 1, .time = time};
	uint64_t number = b->next_number[ring]++;

	rec_sample(&b->rec, &id, &number, 1);
	assert_true(page->data_head + b->rec.n - page->data_tail <= BYTES);
	for (size_t i = 0; i < b->rec.n; i++)
		data[(page->data_head + i) % BYTES] = ((const uint8_t *)b->rec.words)[i];
	page->data_head += b->rec.n;
}

static void on_record(void *ctx, const struct gpc_perf_record *r, uint32_t stream,
		      const struct gpc_pulled *pulled)
{
	(void)pulled;
	struct bench *b = ctx;
	unsigned ring = r->pid - 1;

	assert_true(b->n_seen < SEEN);
	/* What came late in its ring stands at the latest time of the ring. */
	if (r->time > b->latest[ring])
		b->latest[ring] = r->time;
	if (b->latest[ring] < b->last_time)
		b->is_out_of_order = true;
	b->last_time = b->latest[ring];
	b->seen[b->n_seen].time = r->time;
	b->seen[b->n_seen].number = r->sample.ips[0];
	b->seen[b->n_seen].stream = stream;
	b->seen[b->n_seen++].pid = r->pid;
}

static void on_raw(void *ctx, const void *bytes, size_t n, uint32_t stream,
		   const struct gpc_perf_format *format)
{
	struct bench *b = ctx;
	struct gpc_perf_record r;

	assert_true(gpc_perf_decode(bytes, n, format, &r));
	assert_int_equal(format->sample_type, REC_TYPE);
	(void)stream;
	b->n_raw++;
}

static uint64_t drain(struct bench *b, uint64_t until)
{
	struct gpc_reader_visitor v = {.ctx = b, .record = on_record, .raw = on_raw};

	b->last_time = 0;
	return gpc_reader_drain(b->reader, until, &v);
}

static void test_nothing_there(void **state)
{
	struct bench *b = *state;

	assert_int_equal(drain(b, UINT64_MAX), 0);
	add_ring(b, 0);
	assert_int_equal(drain(b, UINT64_MAX), 0);
}

static void test_two_rings_are_one_stream(void **state)
{
	static const uint64_t times[2][4] = {{10, 20, 21, 40}, {5, 20, 30, 50}};
	static const uint64_t merged[] = {5, 10, 20, 20, 21, 30, 40, 50};
	struct bench *b = *state;

	for (unsigned r = 0; r < 2; r++) {
		add_ring(b, r);
		for (int i = 0; i < 4; i++)
			produce(b, r, times[r][i]);
	}
	assert_int_equal(drain(b, 40), 6);
	assert_int_equal(drain(b, 40), 0);
	assert_int_equal(drain(b, 51), 2);
	assert_int_equal(b->n_raw, 8);
	for (int i = 0; i < 8; i++)
		assert_int_equal(b->seen[i].time, merged[i]);
	assert_int_equal(b->seen[2].stream, 0); /* of equal times, side-band first */
	assert_int_equal(b->seen[3].stream, 1);
}

static void test_equal_times_in_every_ring(void **state)
{
	struct bench *b = *state;

	for (unsigned r = 0; r < RINGS; r++)
		add_ring(b, (RINGS - 1 - r) / 3);
	for (int i = 0; i < 20; i++)
		for (unsigned r = 0; r < RINGS; r++)
			produce(b, r, 1000);
	assert_int_equal(drain(b, 1000), 0);
	assert_int_equal(drain(b, 1001), 20 * RINGS);
	for (unsigned i = 1; i < b->n_seen; i++)
		assert_true(b->seen[i - 1].stream <= b->seen[i].stream);
}

/* A CPU may publish a record after younger ones of others have been used. */
static void test_late_record_comes_with_the_next_drain(void **state)
{
	struct bench *b = *state;

	add_ring(b, 0);
	add_ring(b, 0);
	produce(b, 0, 100);
	assert_int_equal(drain(b, 150), 1);
	produce(b, 1, 90);
	produce(b, 0, 120);
	assert_int_equal(drain(b, 150), 2);
	assert_int_equal(b->seen[1].time, 90);
	assert_int_equal(b->seen[2].time, 120);
}

/* Only whether there is one matters to a slot. */
#define SOME_READER ((struct gpc_reader_thread *)8)

/* A reader works on a record while older ones of it wait in the queue: what is younger
 * on other CPUs waits too, and who asks is told. */
static void test_a_record_in_flight_holds_back_younger_ones(void **state)
{
	uint64_t *lifted = calloc(1, GPC_RECORD_MAX);
	struct bench *b = *state;
	struct gpc_slot *slot;
	const void *record;
	size_t n;

	assert_non_null(lifted);
	add_ring(b, 0);
	add_ring(b, 0);
	slot = gpc_reader_slot(b->reader, 0);
	slot->thread = SOME_READER;
	produce(b, 0, 10);
	produce(b, 0, 20);
	produce(b, 1, 30);
	record = gpc_slot_lift(slot, lifted, &n);
	gpc_slot_put(slot, record, n, NULL);
	/* In the ring, not lifted yet. */
	assert_true(gpc_reader_is_behind(b->reader, 25));
	record = gpc_slot_lift(slot, lifted, &n);
	assert_true(gpc_reader_is_behind(b->reader, 25));
	assert_false(gpc_reader_is_behind(b->reader, 20));
	assert_int_equal(drain(b, 40), 1);
	assert_int_equal(b->seen[0].time, 10);
	assert_int_equal(drain(b, 40), 0);
	gpc_slot_put(slot, record, n, NULL);
	assert_false(gpc_reader_is_behind(b->reader, 40));
	assert_int_equal(drain(b, 40), 2);
	assert_int_equal(b->seen[1].time, 20);
	assert_int_equal(b->seen[2].time, 30);
	slot->thread = NULL;
	free(lifted);
}

/* Each record once, the order of its ring kept, and times that never go back
 * within a drain: whatever the times, whenever it is drained. */
static void check_all_seen(struct bench *b)
{
	uint64_t expected[RINGS] = {0};

	for (unsigned i = 0; i < b->n_seen; i++) {
		unsigned ring = b->seen[i].pid - 1;

		assert_int_equal(b->seen[i].number, expected[ring]);
		expected[ring]++;
	}
	for (unsigned r = 0; r < b->n_rings; r++) {
		assert_int_equal(expected[r], b->next_number[r]);
		assert_int_equal(b->pages[r]->data_tail, b->pages[r]->data_head);
	}
	assert_false(b->is_out_of_order);
}

static void one_round(struct bench *b, unsigned *seed)
{
	uint64_t clock[RINGS] = {0}, now = 0;

	for (unsigned r = 0, n = 1 + (unsigned)rand_r(seed) % RINGS; r < n; r++)
		add_ring(b, r % 2);
	for (int batch = 0; batch < 40; batch++) {
		uint64_t until;
		unsigned before = b->n_seen;

		for (int i = 0; i < 60; i++) {
			unsigned r = (unsigned)rand_r(seed) % b->n_rings;
			uint64_t jitter = rand_r(seed) % 5 == 0 ? (uint64_t)rand_r(seed) % 20 : 0;

			clock[r] += (uint64_t)rand_r(seed) % 30;
			produce(b, r, clock[r] > jitter ? clock[r] - jitter : clock[r]);
			now = clock[r] > now ? clock[r] : now;
		}
		until = now > 50 ? now - 50 : now;
		drain(b, until);
		for (unsigned i = before; i < b->n_seen; i++)
			assert_true(b->seen[i].time < until);
	}
	drain(b, UINT64_MAX);
	check_all_seen(b);
}

static void test_random_rings(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= 40; seed++) {
		unsigned random = seed;
		void *bench = NULL;

		set_up(&bench);
		one_round(bench, &random);
		tear_down(&bench);
	}
}

/* ---- with a kernel ------------------------------------------------------------- */

static void spin(uint64_t ns)
{
	uint64_t end = gpc_clock_ns(CLOCK_PROCESS_CPUTIME_ID) + ns;

	while (gpc_clock_ns(CLOCK_PROCESS_CPUTIME_ID) < end)
		;
}

static void count_ours(void *ctx, const struct gpc_perf_record *r, uint32_t stream,
		       const struct gpc_pulled *pulled)
{
	(void)pulled;
	unsigned *n = ctx;

	(void)stream;
	if (r->type == PERF_RECORD_SAMPLE && r->pid == (uint32_t)getpid())
		++*n;
}

static void test_our_own_samples(void **state)
{
	struct gpc_perf_request req = {.name = "cpu-clock",
				       .type = PERF_TYPE_SOFTWARE,
				       .config = PERF_COUNT_SW_CPU_CLOCK,
				       .rate = 999,
				       .samples = true,
				       .inherit = true};
	int32_t pids[] = {getpid(), 0x3fffffff};
	struct bench *b = *state;
	struct gpc_reader_stats stats;
	struct gpc_err err = {0};
	unsigned n = 0;
	struct gpc_reader_visitor v = {.ctx = &n, .record = count_ours};
	uint32_t stream = 0;
	gpc_status st = gpc_reader_open(b->reader, &req, pids, 2, &stream, &err);

	if (st == GPC_E_PERM || err.sys == ENOSYS)
		skip();
	assert_int_equal(st, GPC_OK);
	gpc_reader_stats(b->reader, stream, &stats);
	assert_true(stats.rings >= 1 && stats.ring_bytes >= 8192);
	spin(300 * GPC_MS_NS);
	gpc_reader_drain(b->reader, UINT64_MAX, &v);
	assert_true(n > 150 && n < 450);
	gpc_reader_close(b->reader, stream);
	gpc_reader_stats(b->reader, stream, &stats);
	assert_int_equal(stats.rings, 0);
	/* Nobody is left of these. */
	assert_int_equal(gpc_reader_open(b->reader, &req, pids + 1, 1, &stream, &err), GPC_E_GONE);
}

#define bench_test(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		bench_test(test_nothing_there),
		bench_test(test_two_rings_are_one_stream),
		bench_test(test_equal_times_in_every_ring),
		bench_test(test_late_record_comes_with_the_next_drain),
		bench_test(test_a_record_in_flight_holds_back_younger_ones),
		cmocka_unit_test(test_random_rings),
		bench_test(test_our_own_samples),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

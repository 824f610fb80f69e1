/* SPDX-License-Identifier: Apache-2.0 */
/* Distances between samples: as drawn, and as this kernel keeps them. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/thread.h"
#include "no_pull.h"
#include "source/reader.h"
#include "source/spacing.h"

#define HZ       997
#define MEAN_NS  (GPC_SECOND_NS / HZ)
#define LATE_NS  (MEAN_NS / 20)
#define CPUS_MAX 64

/* Not every kernel writes samples of idle CPUs. */
struct load {
	pthread_t threads[CPUS_MAX];
	unsigned n;
	bool is_over; /* atomic */
};

struct distances {
	uint64_t last[CPUS_MAX];
	unsigned n, shorter; /* than half the mean */
	uint64_t sum_ns;
};

static void drawn(void **state)
{
	struct gpc_spacing s;
	uint64_t sum = 0;
	(void)state;

	gpc_spacing_init(&s, -1, MEAN_NS);
	for (int i = 0; i < 100000; i++) {
		uint64_t d = gpc_spacing_distance(&s, LATE_NS);

		assert_true(d >= MEAN_NS / 20);
		sum += d + LATE_NS;
	}
	/* The standard error is 0.3 %. */
	assert_true(sum / 100000 > MEAN_NS * 98 / 100 && sum / 100000 < MEAN_NS * 102 / 100);
}

static void silent(void **state)
{
	struct gpc_spacing s;
	unsigned n = 0;
	(void)state;

	gpc_spacing_init(&s, -1, 100 * MEAN_NS);
	assert_int_equal(gpc_spacing_wait_ms(&s), -1);
	gpc_spacing_next(&s, gpc_now_ns());
	while (gpc_spacing_wait_ms(&s) >= 0) {
		assert_true((uint64_t)gpc_spacing_wait_ms(&s) * GPC_MS_NS > s.last_ns);
		assert_true(n++ < 100);
		gpc_spacing_silent(&s);
	}
	assert_int_equal(n, 2);
	gpc_spacing_next(&s, gpc_now_ns());
	assert_true(gpc_spacing_wait_ms(&s) > 0);
}

/* Set once; then nobody is woken to set another. */
static void even_when_calm(void **state)
{
	struct gpc_spacing s;
	(void)state;

	gpc_spacing_init(&s, -1, 100 * MEAN_NS);
	gpc_spacing_next(&s, gpc_now_ns());
	assert_true(s.last_ns > 0);
	s.is_calm = true;
	gpc_spacing_next(&s, gpc_now_ns());
	assert_int_equal(s.last_ns, 0);
	assert_int_equal(gpc_spacing_wait_ms(&s), -1);
	s.is_calm = false;
	gpc_spacing_next(&s, gpc_now_ns());
	assert_true(gpc_spacing_wait_ms(&s) > 0);
	s.is_calm = true; /* while it waits for the one that it has set */
	gpc_spacing_silent(&s);
	assert_int_equal(gpc_spacing_wait_ms(&s), -1);
}

static void on_record(void *ctx, const struct gpc_perf_record *r, uint32_t stream,
		      const struct gpc_pulled *pulled)
{
	struct distances *d = ctx;
	uint64_t last;

	(void)stream;
	(void)pulled;
	if (r->type != PERF_RECORD_SAMPLE || r->cpu >= CPUS_MAX)
		return;
	last = d->last[r->cpu];
	d->last[r->cpu] = r->time;
	if (!last)
		return;
	d->n++;
	d->sum_ns += r->time - last;
	d->shorter += r->time - last < MEAN_NS / 2;
}

static struct distances watch(struct gpc_reader *reader, unsigned ms)
{
	struct distances d = {0};
	struct gpc_reader_visitor v = {.ctx = &d, .record = on_record};

	for (unsigned i = 0; i < ms / 50; i++) {
		usleep(50000);
		gpc_reader_drain(reader, UINT64_MAX, &v);
	}
	return d;
}

static void throw_away(struct gpc_reader *reader)
{
	(void)watch(reader, 100);
}

static void *burn(void *arg)
{
	struct load *load = arg;

	gpc_thread_pin(__atomic_fetch_add(&load->n, 1, __ATOMIC_RELAXED));
	while (!__atomic_load_n(&load->is_over, __ATOMIC_RELAXED))
		;
	return NULL;
}

static unsigned begin(struct load *load)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	unsigned n = 0;

	for (; n < cpus && n < CPUS_MAX; n++)
		if (pthread_create(&load->threads[n], NULL, burn, load) != 0)
			abort();
	return n;
}

static void end(struct load *load, unsigned n)
{
	__atomic_store_n(&load->is_over, true, __ATOMIC_RELAXED);
	while (n)
		pthread_join(load->threads[--n], NULL);
}

static void kept(void **state)
{
	struct gpc_perf_request req = {.name = "cpu-clock",
				       .type = PERF_TYPE_SOFTWARE,
				       .config = PERF_COUNT_SW_CPU_CLOCK,
				       .rate = HZ,
				       .samples = true,
				       .pulled = true,
				       .wake_bytes = 1};
	struct gpc_pull_hooks hooks = NO_PULL;
	struct gpc_reader *reader = NULL;
	struct gpc_err err = {0};
	enum gpc_priority got;
	struct load load = {0};
	struct distances d;
	unsigned burning;
	uint32_t stream;
	gpc_status st;
	(void)state;

	assert_int_equal(gpc_reader_new(NULL, &reader, NULL), GPC_OK);
	st = gpc_reader_open(reader, &req, NULL, 0, &stream, &err);
	if (st == GPC_OK)
		assert_int_equal(gpc_reader_start_pull(reader, &hooks, GPC_PRIORITY_REALTIME, &got,
						       &err),
				 GPC_OK);
	if (st != GPC_OK || got != GPC_PRIORITY_REALTIME) {
		gpc_reader_free(reader);
		skip(); /* not allowed here */
	}
	burning = begin(&load);
	throw_away(reader);
	d = watch(reader, 1500);
	/* Of exponential ones beyond a tenth 1 - exp(-(0.5 - 0.1) / 0.9), 36 %, are so short. */
	assert_true(d.n > 1000);
	assert_true(d.shorter > d.n * 30 / 100 && d.shorter < d.n * 50 / 100);
	assert_true(d.sum_ns / d.n > MEAN_NS * 85 / 100 && d.sum_ns / d.n < MEAN_NS * 115 / 100);

	gpc_reader_stop_pull(reader);
	throw_away(reader);
	d = watch(reader, 500);
	end(&load, burning);
	assert_true(d.n > 250 && d.shorter < d.n * 15 / 100);
	gpc_reader_free(reader);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(drawn),
		cmocka_unit_test(silent),
		cmocka_unit_test(kept),
		cmocka_unit_test(even_when_calm),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

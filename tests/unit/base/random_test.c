/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"

#define N    200000
#define MEAN 1000000

/* Of distances longer than x of the mean there are exp(-x). */
static void exponential(void **state)
{
	unsigned beyond_half = 0, beyond_two = 0;
	struct gpc_random r;
	double sum = 0;
	(void)state;

	gpc_random_init(&r, 42);
	for (int i = 0; i < N; i++) {
		uint64_t d = gpc_random_distance(&r, MEAN);

		assert_true(d <= (uint64_t)20 * MEAN);
		sum += (double)d;
		beyond_half += d > MEAN / 2;
		beyond_two += d > 2 * MEAN;
	}
	/* Standard errors: 0.22 %, 0.11 %, 0.08 % of N. */
	assert_true(sum / N > 0.99 * MEAN && sum / N < 1.01 * MEAN);
	assert_true(beyond_half > 0.6025 * N && beyond_half < 0.6105 * N);
	assert_true(beyond_two > 0.1320 * N && beyond_two < 0.1387 * N);
}

/* The sum of neighbours tells whether they go together. */
static void without_memory(void **state)
{
	struct gpc_random r;
	unsigned both_short = 0;
	uint64_t last = 2 * MEAN;
	(void)state;

	gpc_random_init(&r, 7);
	for (int i = 0; i < N; i++) {
		uint64_t d = gpc_random_distance(&r, MEAN);

		both_short += d < MEAN && last < MEAN;
		last = d;
	}
	/* (1 - 1/e)^2 is 0.3996. */
	assert_true(both_short > 0.3940 * N && both_short < 0.4052 * N);
}

static void seeds_that_lie_close_together(void **state)
{
	struct gpc_random a, b;
	double sum = 0;
	(void)state;

	for (uint64_t seed = 0; seed < 2000; seed++) {
		gpc_random_init(&a, seed << 1);
		gpc_random_init(&b, (seed << 1) + 2);
		assert_true(gpc_random_next(&a) != gpc_random_next(&b));
		sum += (double)gpc_random_distance(&a, MEAN);
	}
	assert_true(sum / 2000 > 0.85 * MEAN && sum / 2000 < 1.15 * MEAN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exponential),
		cmocka_unit_test(without_memory),
		cmocka_unit_test(seeds_that_lie_close_together),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

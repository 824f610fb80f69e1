/* SPDX-License-Identifier: Apache-2.0 */
/* What <gpc/gpc.h> promises of on_log. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "core_impl.h"

#define THREADS 4
#define LINES   500

struct owner {
	struct gpc_core *core;
	unsigned lines; /* not atomic: the core sees to it */
	int inside, collisions;
	bool logs_itself;
};

static void on_log(void *ctx, const struct gpc_log_line *line)
{
	struct owner *o = ctx;

	(void)line;
	if (__atomic_fetch_add(&o->inside, 1, __ATOMIC_RELAXED))
		__atomic_store_n(&o->collisions, 1, __ATOMIC_RELAXED);
	o->lines++;
	if (o->lines % 50 == 0)
		usleep(100);
	if (o->logs_itself)
		gpc_debug(&o->core->log, "core", "from the callback");
	__atomic_fetch_sub(&o->inside, 1, __ATOMIC_RELAXED);
}

static void begin(struct owner *o)
{
	struct gpc_core_setup setup = {.size = sizeof setup,
				       .ctx = o,
				       .log_level = GPC_DEBUG,
				       .on_log = on_log};

	assert_int_equal(gpc_core_new(&setup, &o->core, NULL), GPC_OK);
}

static void *log_much(void *arg)
{
	struct owner *o = arg;

	for (int i = 0; i < LINES; i++)
		gpc_debug(&o->core->log, "core", "line %d", i);
	return NULL;
}

static void test_never_two_at_once(void **state)
{
	struct owner o = {0};
	pthread_t threads[THREADS];

	(void)state;
	begin(&o);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, log_much, &o), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(o.collisions, 0);
	assert_int_equal(o.lines, THREADS * LINES);
	gpc_core_free(o.core);
}

/* It must not; if it does, it neither hangs nor goes on for ever. */
static void test_a_callback_that_logs(void **state)
{
	struct owner o = {.logs_itself = true};

	(void)state;
	begin(&o);
	gpc_debug(&o.core->log, "core", "one");
	gpc_debug(&o.core->log, "core", "two");
	assert_int_equal(o.lines, 2);
	gpc_core_free(o.core);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_never_two_at_once),
		cmocka_unit_test(test_a_callback_that_logs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

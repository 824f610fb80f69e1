/* SPDX-License-Identifier: Apache-2.0 */
/* A reader that comes back while it is given up. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "pull_world.h"

#define RACES 20000

struct watchdog {
	struct world *w;
	pthread_barrier_t gate;
	bool is_done; /* atomic: the reader is back */
};

static void spin(unsigned n)
{
	for (volatile unsigned i = 0; i < n; i++)
		;
}

static void *say_it_hangs(void *arg)
{
	struct watchdog *d = arg;
	struct world *w = d->w;

	for (unsigned i = 0; i < RACES; i++) {
		pthread_barrier_wait(&d->gate);
		while (!__atomic_load_n(&w->ret.asked, __ATOMIC_ACQUIRE) &&
		       !__atomic_load_n(&d->is_done, __ATOMIC_ACQUIRE))
			;
		spin(i % 50);
		gpc_pulls_hangs(w->pulls, &w->ret);
		pthread_barrier_wait(&d->gate);
	}
	return NULL;
}

static gpc_status walk_shortly(void *self, void *tctx, const struct gpc_pull_sample *s,
			       struct gpc_pull_out *out)
{
	struct world *w = self;

	(void)tctx;
	spin(w->calls++ % 97);
	out->frames[0] = FRAME(s->pc);
	out->n = 1;
	return GPC_OK;
}

/* A reader comes back at the very moment at which it is said to hang: either it counts
 * as hanging until it is back, or not at all; and whom it asked may be gone by then. */
static void test_comes_back_just_then(void **state)
{
	struct world *w = *state, *other = calloc(1, sizeof *other);
	struct watchdog d = {.w = w};
	pthread_t thread;

	assert_non_null(other);
	other->format = w->format;
	w->walk.walk = walk_shortly;
	pthread_barrier_init(&d.gate, NULL, 2);
	assert_int_equal(pthread_create(&thread, NULL, say_it_hangs, &d), 0);
	for (unsigned i = 0; i < RACES; i++) {
		uint64_t asked;

		add(w, true, false);
		__atomic_store_n(&d.is_done, false, __ATOMIC_RELEASE);
		pthread_barrier_wait(&d.gate);
		pull(w);
		__atomic_store_n(&d.is_done, true, __ATOMIC_RELEASE);
		if (i % 2)
			assert_true(gpc_pulls_remove(w->pulls, w, 7));
		pthread_barrier_wait(&d.gate);
		if (i % 2)
			continue;
		asked = stats(w).asked;
		make_sample(other, gpc_now_ns(), PID, 0x1001, 0);
		gpc_pulls_pull(w->pulls, 1, other->record.words, other->record.n, &other->format,
			       &other->ret);
		assert_int_equal(stats(w).asked, asked + 1);
		assert_true(gpc_pulls_remove(w->pulls, w, 7));
	}
	pthread_join(thread, NULL);
	pthread_barrier_destroy(&d.gate);
	free(other->ret.own);
	free(other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_comes_back_just_then, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* gpc_core_state from any thread, while the core starts, runs and stops. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "core_impl.h"

struct asker {
	struct gpc_core *core;
	int is_over; /* atomic */
	uint32_t most_processes;
};

static void *ask(void *arg)
{
	struct asker *a = arg;

	while (!__atomic_load_n(&a->is_over, __ATOMIC_ACQUIRE)) {
		struct gpc_core_state s = {.size = sizeof s};

		gpc_core_state(a->core, &s);
		if (s.processes > a->most_processes)
			a->most_processes = s.processes;
		sched_yield();
	}
	return NULL;
}

static void on_profile(void *ctx, const struct gpc_profile *p, const struct gpc_profile_api *api)
{
	(void)ctx;
	(void)p;
	(void)api;
}

/* With whatever plugins the build has and rights there are: starting may fail. */
static void test_state_at_any_time(void **state)
{
	struct gpc_core_setup setup = {.size = sizeof setup, .on_profile = on_profile};
	struct asker askers[2] = {0};
	pthread_t threads[2];
	struct gpc_core *core;
	struct gpc_err err;

	(void)state;
	assert_int_equal(gpc_core_new(&setup, &core, NULL), GPC_OK);
	assert_int_equal(gpc_core_set(core, "profiling-duration", "3600", &err), GPC_OK);
	for (int i = 0; i < 2; i++) {
		askers[i].core = core;
		assert_int_equal(pthread_create(&threads[i], NULL, ask, &askers[i]), 0);
	}
	if (gpc_core_start(core, &err) < 0)
		print_message("not started: %s\n", err.text);
	usleep(200000);
	for (int i = 0; i < 2; i++) {
		__atomic_store_n(&askers[i].is_over, 1, __ATOMIC_RELEASE);
		pthread_join(threads[i], NULL);
	}
	gpc_core_free(core);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_state_at_any_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

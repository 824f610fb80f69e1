/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles on their way to a sink that is slow, or away for a while. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "core_impl.h"

struct bench {
	struct gpc_core *core;
	struct gpc_sink sink;
	struct gpc_loaded_module module;
	struct gpc_names *names;
	const struct gpc_host *host;
	uint64_t away_until_ns; /* write() says GPC_E_RETRY until then; atomic */
	unsigned tries, written;
	uint32_t last;   /* number of the profile written last */
	bool is_blocked; /* atomic */
	bool was_told;   /* to stop, before it was blocked no more */
};

static struct bench *the_bench(const void *options)
{
	return *(struct bench *const *)options;
}

static gpc_status create(const struct gpc_host *h, const void *options, void **self)
{
	struct bench *b = the_bench(options);

	b->host = h;
	*self = b;
	return GPC_OK;
}

static void destroy(void *self)
{
	(void)self;
}

static gpc_status write_profile(void *self, const struct gpc_profile *p)
{
	struct gpc_profile_info info = {.struct_size = sizeof info};
	struct bench *b = self;

	__atomic_add_fetch(&b->tries, 1, __ATOMIC_RELAXED);
	while (__atomic_load_n(&b->is_blocked, __ATOMIC_ACQUIRE) && !b->was_told) {
		b->was_told = b->host->should_stop(b->host);
		usleep(1000);
	}
	if (gpc_now_ns() < __atomic_load_n(&b->away_until_ns, __ATOMIC_ACQUIRE))
		return GPC_E_RETRY;
	gpc_profile_info(p, &info);
	b->last = info.seq;
	b->written++;
	return GPC_OK;
}

static int set_up(void **state)
{
	struct bench *b = calloc(1, sizeof *b);
	struct gpc_core_setup setup = {.size = sizeof setup};
	struct gpc_module_state module = {.module = &b->module, .is_enabled = true};

	b->sink = (struct gpc_sink){.struct_size = sizeof b->sink,
				    .name = "fake",
				    .summary = "",
				    .create = create,
				    .destroy = destroy,
				    .write = write_profile};
	b->module.sinks = &b->sink;
	b->module.n_sinks = 1;
	b->names = gpc_names_new(1);
	assert_int_equal(gpc_core_new(&setup, &b->core, NULL), GPC_OK);
	module.options = malloc(sizeof b); /* freed with the core */
	*(struct bench **)module.options = b;
	assert_true(vec_push(&b->core->states, module));
	assert_int_equal(gpc_deliver_new(b->core, &b->core->deliver, NULL), GPC_OK);
	*state = b;
	return 0;
}

static int tear_down(void **state)
{
	struct bench *b = *state;

	gpc_core_free(b->core);
	gpc_names_put(b->names);
	free(b);
	return 0;
}

static void put(struct bench *b, uint32_t seq)
{
	struct gpc_profile_span span = {.seq = seq};
	struct gpc_profile *p;

	assert_int_equal(gpc_profile_new(b->names, &span, &p, NULL), GPC_OK);
	gpc_deliver_put(b->core->deliver, p);
	gpc_profile_put(p);
}

static void end(struct bench *b)
{
	gpc_deliver_free(b->core->deliver);
	b->core->deliver = NULL;
}

static struct gpc_core_state state_of(struct bench *b)
{
	struct gpc_core_state s = {.size = sizeof s};

	gpc_core_state(b->core, &s);
	return s;
}

static void test_what_is_dropped_is_counted(void **state)
{
	struct bench *b = *state;

	b->is_blocked = true;
	put(b, 0);
	while (!__atomic_load_n(&b->tries, __ATOMIC_RELAXED))
		usleep(1000);
	for (uint32_t seq = 1; seq <= 11; seq++)
		put(b, seq);
	assert_int_equal(state_of(b).dropped, 3); /* eight wait */
	__atomic_store_n(&b->is_blocked, false, __ATOMIC_RELEASE);
	end(b);
	assert_int_equal(b->written, 9);
	assert_int_equal(b->last, 11);
	assert_int_equal(state_of(b).dropped, 3);
	assert_int_equal(state_of(b).failed_writes, 0);
}

/* A server that is back within seconds gets the last profile. */
static void test_the_last_one_is_tried_again(void **state)
{
	struct bench *b = *state;
	uint64_t begin = gpc_now_ns();

	b->away_until_ns = begin + 1200 * GPC_MS_NS;
	put(b, 0);
	end(b);
	assert_int_equal(b->written, 1);
	assert_true(b->tries >= 3 && b->tries <= 6);
	assert_true(gpc_now_ns() - begin < 8 * GPC_SECOND_NS);
	assert_int_equal(state_of(b).failed_writes, 0);
}

/* Not for ever, however many wait. */
static void test_the_end_is_not_put_off(void **state)
{
	struct bench *b = *state;
	uint64_t begin = gpc_now_ns();

	b->away_until_ns = UINT64_MAX;
	for (uint32_t seq = 0; seq < 4; seq++)
		put(b, seq);
	end(b);
	assert_int_equal(b->written, 0);
	assert_int_equal(state_of(b).failed_writes, 4);
	assert_true(gpc_now_ns() - begin >= 9 * GPC_SECOND_NS);
	assert_true(gpc_now_ns() - begin < 20 * GPC_SECOND_NS);
}

static void test_a_sink_is_told_to_stop(void **state)
{
	struct bench *b = *state;

	b->is_blocked = true;
	put(b, 0);
	end(b);
	assert_true(b->was_told);
	assert_int_equal(b->written, 1);
}

#define bench_test(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		bench_test(test_what_is_dropped_is_counted),
		bench_test(test_the_last_one_is_tried_again),
		bench_test(test_the_end_is_not_put_off),
		bench_test(test_a_sink_is_told_to_stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

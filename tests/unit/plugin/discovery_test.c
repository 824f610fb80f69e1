/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../proc/child.h"
#include "collector.h"
#include "plugin/discovery.h"

#define SETTLE_US 200000 /* longer than the 50 ms in which mappings settle */

/* Two collectors, one real process, and a table that the test plays. */
struct world {
	struct fake a, b;
	struct gpc_instance *instances[2];
	struct gpc_services services;
	struct gpc_names *names;
	struct gpc_discovery_setup setup;
	struct gpc_discovery *discovery;
	pid_t pid;
	bool is_reaped;
	int32_t pids[1];
	/* What the table says of the process; atomic. */
	uint64_t id;
	bool is_gone;
};

static bool identify(void *ctx, int32_t pid, struct gpc_target_id *ret)
{
	struct world *w = ctx;

	if (__atomic_load_n(&w->is_gone, __ATOMIC_ACQUIRE))
		return false;
	*ret = (struct gpc_target_id){.pid = pid,
				      .id = __atomic_load_n(&w->id, __ATOMIC_ACQUIRE) +
					    (pid == w->pid ? 0 : 1000)};
	return true;
}

static int set_up(void **state)
{
	char *argv[] = {"sleep", "1000", NULL};
	struct world *w = calloc(1, sizeof *w);

	w->pid = child_exec("/bin/sleep", argv);
	assert_true(w->pid > 0);
	w->id = 10;
	w->services.stack_bytes = 1 << 20;
	w->names = gpc_names_new(1);
	fake_init(&w->a, "alpha", "python", "sleep*");
	fake_init(&w->b, "beta", "java", "sleep*");
	w->setup = (struct gpc_discovery_setup){.instances = w->instances,
						.n_instances = 2,
						.identify = identify,
						.ctx = w};
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	fake_set(&w->a, is_stuck, false);
	gpc_discovery_free(w->discovery);
	gpc_instance_free(w->a.instance);
	gpc_instance_free(w->b.instance);
	gpc_names_put(w->names);
	if (!w->is_reaped)
		child_end(w->pid);
	free(w);
	return 0;
}

static void begin(struct world *w)
{
	assert_int_equal(fake_run(&w->a, &w->services, w->names, NULL), GPC_OK);
	assert_int_equal(fake_run(&w->b, &w->services, w->names, NULL), GPC_OK);
	w->instances[0] = w->a.instance;
	w->instances[1] = w->b.instance;
	assert_int_equal(gpc_discovery_new(&w->setup, &w->discovery, NULL), GPC_OK);
}

static void tell(struct world *w, uint32_t kind)
{
	struct gpc_process p = {.pid = w->pid,
				.id = w->id,
				.is_sampled = kind != GPC_PROC_EXEC,
				.is_announced = true};
	struct gpc_process_event ev = {.struct_size = sizeof ev,
				       .kind = kind,
				       .pid = w->pid,
				       .path = ""};

	gpc_discovery_changed(w->discovery, &p, &ev);
}

static void exec_it(struct world *w)
{
	__atomic_add_fetch(&w->id, 1, __ATOMIC_ACQ_REL);
	tell(w, GPC_PROC_EXEC);
}

/* ---- who is asked when --------------------------------------------------------- */

static void test_each_image_is_asked_once(void **state)
{
	struct world *w = *state;

	begin(w);
	tell(w, GPC_PROC_SAMPLED);
	tell(w, GPC_PROC_SAMPLED);
	assert_int_equal(fake_wait_for(&w->a, attaches, 1), 1);
	assert_int_equal(fake_get(&w->a, attached_to), 10);
	for (int i = 0; i < 3; i++) {
		tell(w, GPC_PROC_MMAP);
		usleep(SETTLE_US / 2);
	}
	usleep(SETTLE_US);
	assert_int_equal(fake_get(&w->a, claims), 1);
	assert_int_equal(fake_get(&w->a, attaches), 1);
	exec_it(w);
	assert_int_equal(fake_wait_for(&w->a, detaches, 1), 1);
	assert_int_equal(fake_get(&w->a, detached_from), 10);
	usleep(SETTLE_US);
	assert_int_equal(fake_get(&w->a, claims), 1); /* nobody has sampled it yet */
	tell(w, GPC_PROC_SAMPLED);
	assert_int_equal(fake_wait_for(&w->a, attaches, 2), 2);
	assert_int_equal(fake_get(&w->a, attached_to), 11);
	assert_int_equal(fake_get(&w->a, claims), 2);
	tell(w, GPC_PROC_EXIT);
	assert_int_equal(fake_wait_for(&w->a, detaches, 2), 2);
	assert_int_equal(fake_get(&w->a, detached_from), 11);
}

/* An interpreter may be loaded late: a no is no verdict for ever. */
static void test_asked_again_after_new_mappings(void **state)
{
	struct world *w = *state;

	w->a.score = 0;
	begin(w);
	tell(w, GPC_PROC_SAMPLED);
	assert_int_equal(fake_wait_for(&w->a, claims, 1), 1);
	usleep(SETTLE_US);
	assert_int_equal(fake_get(&w->a, attaches), 0);
	for (int i = 0; i < 50; i++)
		tell(w, GPC_PROC_MMAP); /* a burst is one question */
	assert_int_equal(fake_wait_for(&w->a, claims, 2), 2);
	usleep(SETTLE_US);
	assert_int_equal(fake_get(&w->a, claims), 2);
	fake_set(&w->a, score, 70);
	tell(w, GPC_PROC_MMAP);
	assert_int_equal(fake_wait_for(&w->a, attaches, 1), 1);
}

static void test_mappings_of_the_unsampled_ask_nobody(void **state)
{
	struct world *w = *state;

	begin(w);
	tell(w, GPC_PROC_MMAP);
	tell(w, GPC_PROC_EXEC);
	usleep(SETTLE_US);
	assert_int_equal(fake_get(&w->a, claims), 0);
}

static void test_match_table_comes_first(void **state)
{
	struct world *w = *state;

	w->a.match[0].glob = "python*";
	begin(w);
	tell(w, GPC_PROC_SAMPLED);
	assert_int_equal(fake_wait_for(&w->b, attaches, 1), 1);
	assert_int_equal(fake_get(&w->a, claims), 0);
}

static void test_kernel_threads_are_nobodys(void **state)
{
	struct world *w = *state;
	struct gpc_process p = {.pid = w->pid, .id = 10, .is_sampled = true, .is_kernel = true};
	struct gpc_process_event ev = {.kind = GPC_PROC_SAMPLED, .pid = w->pid, .path = ""};

	begin(w);
	gpc_discovery_changed(w->discovery, &p, &ev);
	ev.kind = GPC_PROC_EXIT;
	gpc_discovery_changed(w->discovery, NULL, &ev);
	usleep(SETTLE_US);
	assert_int_equal(fake_get(&w->a, claims), 0);
}

/* ---- who wins --------------------------------------------------------------------- */

static void check_winner(struct world *w, struct fake *winner, struct fake *loser)
{
	begin(w);
	tell(w, GPC_PROC_SAMPLED);
	assert_int_equal(fake_wait_for(winner, attaches, 1), 1);
	usleep(SETTLE_US);
	assert_int_equal(fake_get(loser, claims), 1);
	assert_int_equal(fake_get(loser, attaches), 0);
	/* The runtime is taken: the loser need not be asked with every mapping. */
	tell(w, GPC_PROC_MMAP);
	usleep(SETTLE_US);
	assert_int_equal(fake_get(loser, claims), 1);
	assert_int_equal(fake_get(loser, attaches), 0);
}

static void test_surer_wins(void **state)
{
	struct world *w = *state;

	w->b.collector.runtime = "python";
	w->b.score = 61;
	w->b.collector.touch = GPC_TOUCH_INJECTS;
	check_winner(w, &w->b, &w->a);
}

static void test_then_the_gentler(void **state)
{
	struct world *w = *state;

	w->b.collector.runtime = "python";
	w->a.collector.touch = GPC_TOUCH_PAUSES;
	check_winner(w, &w->b, &w->a);
}

static void test_then_by_name(void **state)
{
	struct world *w = *state;

	w->b.collector.runtime = "python";
	check_winner(w, &w->a, &w->b);
}

static void test_runtimes_do_not_compete(void **state)
{
	struct world *w = *state;

	w->b.score = 100;
	begin(w);
	tell(w, GPC_PROC_SAMPLED);
	assert_int_equal(fake_wait_for(&w->a, attaches, 1), 1);
	assert_int_equal(fake_wait_for(&w->b, attaches, 1), 1);
}

/* A loser that said no could become the one. */
static void test_no_leaves_the_field(void **state)
{
	struct world *w = *state;

	w->b.collector.runtime = "python";
	w->a.score = 0;
	w->b.score = -5;
	begin(w);
	tell(w, GPC_PROC_SAMPLED);
	assert_int_equal(fake_wait_for(&w->b, claims, 1), 1);
	usleep(SETTLE_US);
	assert_int_equal(fake_get(&w->a, attaches) + fake_get(&w->b, attaches), 0);
	fake_set(&w->b, score, 1);
	tell(w, GPC_PROC_MMAP);
	assert_int_equal(fake_wait_for(&w->b, attaches, 1), 1);
}

/* ---- races ---------------------------------------------------------------------------- */

static void test_ends_while_it_is_looked_at(void **state)
{
	struct world *w = *state;

	fake_set(&w->a, is_stuck, true);
	begin(w);
	tell(w, GPC_PROC_SAMPLED);
	assert_int_equal(fake_wait_for(&w->a, claims, 1), 1);
	tell(w, GPC_PROC_EXIT);
	__atomic_store_n(&w->is_gone, true, __ATOMIC_RELEASE);
	fake_set(&w->a, is_stuck, false);
	/* Whether it is attached in between or not: nobody stays. */
	usleep(SETTLE_US);
	assert_int_equal(fake_wait_for(&w->a, detaches, fake_get(&w->a, attaches)),
			 fake_get(&w->a, attaches));
	assert_int_equal(gpc_instance_targets(w->a.instance), 0);
	assert_int_equal(gpc_instance_targets(w->b.instance), 0);
}

static void test_exec_while_it_is_looked_at(void **state)
{
	struct world *w = *state;

	fake_set(&w->a, is_stuck, true);
	begin(w);
	tell(w, GPC_PROC_SAMPLED);
	assert_int_equal(fake_wait_for(&w->a, claims, 1), 1);
	exec_it(w);
	fake_set(&w->a, is_stuck, false);
	usleep(SETTLE_US);
	assert_int_equal(gpc_instance_targets(w->a.instance), 0);
	tell(w, GPC_PROC_SAMPLED);
	for (int i = 0; i < 500 && fake_get(&w->a, attached_to) != 11; i++)
		usleep(10000);
	assert_int_equal(fake_get(&w->a, attached_to), 11);
	assert_int_equal(gpc_instance_targets(w->a.instance), 1);
}

static void test_gone_before_it_was_looked_at(void **state)
{
	struct world *w = *state;

	begin(w);
	child_end(w->pid);
	tell(w, GPC_PROC_SAMPLED);
	usleep(SETTLE_US);
	assert_int_equal(fake_get(&w->a, claims), 0);
	w->is_reaped = true;
}

/* ---- limits on whom ---------------------------------------------------------------------- */

static void test_young_processes_wait(void **state)
{
	struct world *w = *state;
	uint64_t born = gpc_now_ns();

	w->setup.min_age_ns = 600 * GPC_MS_NS;
	begin(w);
	tell(w, GPC_PROC_SAMPLED);
	assert_int_equal(fake_wait_for(&w->a, attaches, 1), 1);
	/* Births are counted in ticks of 10 ms. */
	assert_true(gpc_now_ns() - born >= 500 * GPC_MS_NS);
	assert_true(gpc_now_ns() - born < 5 * GPC_SECOND_NS);
}

static void test_only_these_and_what_they_start(void **state)
{
	struct world *w = *state;

	w->pids[0] = getpid(); /* the parent */
	w->setup.pids = w->pids;
	w->setup.n_pids = 1;
	begin(w);
	tell(w, GPC_PROC_SAMPLED);
	assert_int_equal(fake_wait_for(&w->a, attaches, 1), 1);
}

static void test_not_those_of_others(void **state)
{
	struct world *w = *state;
	pid_t other = child_start(NULL, NULL);

	w->pids[0] = other;
	w->setup.pids = w->pids;
	w->setup.n_pids = 1;
	begin(w);
	tell(w, GPC_PROC_SAMPLED);
	usleep(2 * SETTLE_US);
	assert_int_equal(fake_get(&w->a, claims), 0);
	child_end(other);
}

/* ---- asked for ------------------------------------------------------------------------------ */

static void test_found_in_its_own_way(void **state)
{
	struct world *w = *state;

	w->a.match[0].glob = "nothing";
	w->b.match[0].glob = "nothing";
	begin(w);
	assert_int_equal(gpc_discovery_attach(w->discovery, w->a.instance, 0), GPC_E_CONFIG);
	for (int i = 0; i < 3; i++)
		assert_int_equal(gpc_discovery_attach(w->discovery, w->a.instance, w->pid), GPC_OK);
	assert_int_equal(fake_wait_for(&w->a, attaches, 1), 1);
	assert_int_equal(gpc_discovery_attach(w->discovery, w->a.instance, w->pid), GPC_OK);
	usleep(SETTLE_US);
	assert_int_equal(fake_get(&w->a, attaches), 1);
	assert_int_equal(fake_get(&w->a, claims), 0);
	assert_int_equal(fake_get(&w->b, attaches), 0);
	tell(w, GPC_PROC_EXIT);
	assert_int_equal(fake_wait_for(&w->a, detaches, 1), 1);
}

static void test_ends_with_questions_open(void **state)
{
	struct world *w = *state;

	w->setup.min_age_ns = 3600 * GPC_SECOND_NS;
	begin(w);
	tell(w, GPC_PROC_SAMPLED);
	usleep(SETTLE_US / 2);
	gpc_discovery_free(w->discovery);
	w->discovery = NULL;
	gpc_discovery_free(NULL);
	assert_int_equal(fake_get(&w->a, claims), 0);
}

#define world_test(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		world_test(test_each_image_is_asked_once),
		world_test(test_asked_again_after_new_mappings),
		world_test(test_mappings_of_the_unsampled_ask_nobody),
		world_test(test_match_table_comes_first),
		world_test(test_kernel_threads_are_nobodys),
		world_test(test_surer_wins),
		world_test(test_then_the_gentler),
		world_test(test_then_by_name),
		world_test(test_runtimes_do_not_compete),
		world_test(test_no_leaves_the_field),
		world_test(test_ends_while_it_is_looked_at),
		world_test(test_exec_while_it_is_looked_at),
		world_test(test_gone_before_it_was_looked_at),
		world_test(test_young_processes_wait),
		world_test(test_only_these_and_what_they_start),
		world_test(test_not_those_of_others),
		world_test(test_found_in_its_own_way),
		world_test(test_ends_with_questions_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

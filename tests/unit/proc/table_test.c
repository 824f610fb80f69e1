/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fake_proc.h"

static unsigned count_events(const struct world *w, uint32_t kind)
{
	unsigned n = 0;

	for (unsigned i = 0; i < w->n_events; i++)
		n += w->events[i].kind == kind;
	return n;
}

/* ---- the first sample ------------------------------------------------------------ */

static void test_there_before_us(void **state)
{
	struct world *w = *state;
	struct gpc_process *p;
	const struct gpc_space *s;

	lives_as(w, 50, "before us", 3, 0);
	write_file(w, 50, "maps", MAPS);
	p = sampled(w, 50);
	assert_string_equal(p->comm, "before us");
	assert_int_equal(p->ppid, 3);
	assert_false(p->is_kernel);
	assert_null(p->space); /* nobody has asked what its addresses mean */
	s = gpc_table_space(w->table, p);
	assert_int_equal(s->n, 3); /* data is no code */
	assert_int_equal(gpc_space_find(s, 0x400123)->kind, GPC_AREA_FILE);
	assert_int_equal(gpc_space_find(s, 0x400123)->offset, 0x1000);
	assert_int_equal(gpc_space_find(s, 0x7000123)->kind, GPC_AREA_ANON);
	assert_int_equal(gpc_space_find(s, 0x8000123)->kind, GPC_AREA_VDSO);
	assert_int_equal(w->n_files, 1);
	assert_int_equal(w->file_pid, 50);
	assert_ptr_equal(sampled(w, 50), p);
	assert_int_equal(count_events(w, GPC_PROC_SAMPLED), 1);
}

/* A4.1: a process is called what it was called at exec, whatever its threads
 * call themselves later. */
static void test_name_stays(void **state)
{
	struct world *w = *state;

	lives_as(w, 50, "first", 1, 0);
	sampled(w, 50);
	lives_as(w, 50, "renamed", 1, 0);
	w->window++;
	assert_string_equal(sampled(w, 50)->comm, "first");
	gpc_table_exec(w->table, 50, "by-exec");
	assert_string_equal(sampled(w, 50)->comm, "by-exec");
}

static void test_pseudo_processes(void **state)
{
	struct world *w = *state;

	assert_string_equal(sampled(w, 0)->comm, "swapper");
	assert_string_equal(sampled(w, -1)->comm, ":-1");
	assert_true(sampled(w, 0)->is_kernel && sampled(w, -1)->is_kernel);
	assert_int_equal(gpc_table_space(w->table, sampled(w, 0))->n, 0);
	assert_true(sampled(w, 0)->id != sampled(w, -1)->id);
}

static void test_kernel_thread(void **state)
{
	struct world *w = *state;

	lives_as(w, 9, "ksoftirqd/0", 2, 0x00200040);
	write_file(w, 9, "maps", MAPS); /* would be believed if it were read */
	assert_true(sampled(w, 9)->is_kernel);
	assert_int_equal(gpc_table_space(w->table, sampled(w, 9))->n, 0);
	/* A helper that the kernel starts is a program after its exec. */
	gpc_table_exec(w->table, 9, "modprobe");
	assert_false(sampled(w, 9)->is_kernel);
}

static void test_gone_without_a_trace(void **state)
{
	struct world *w = *state;
	struct gpc_process *p = sampled(w, 4321);

	assert_string_equal(p->comm, ":4321");
	assert_int_equal(gpc_table_space(w->table, p)->n, 0);
}

/* ---- fork -------------------------------------------------------------------------- */

static void test_fork_shares_until_a_side_changes(void **state)
{
	struct world *w = *state;
	struct gpc_process *parent, *child;

	lives_as(w, 50, "parent", 1, 0);
	write_file(w, 50, "maps", MAPS);
	parent = sampled(w, 50);
	gpc_table_space(w->table, parent);
	gpc_table_fork(w->table, 51, 50);
	child = sampled(w, 51);
	assert_string_equal(child->comm, "parent");
	assert_int_equal(child->ppid, 50);
	assert_ptr_equal(gpc_table_space(w->table, child), parent->space);
	map(w, 51, 0x9000000, 8, "/lib/child.so");
	assert_null(gpc_space_find(parent->space, 0x9000000));
	assert_non_null(gpc_space_find(child->space, 0x9000000));
	map(w, 50, 0xa000000, 9, "/lib/parent.so");
	assert_null(gpc_space_find(child->space, 0xa000000));
}

/* Twenty milliseconds of life: gone when its first sample is read. */
static void test_child_gone_before_it_was_looked_at(void **state)
{
	struct world *w = *state;
	struct gpc_process *child;

	lives_as(w, 50, "unseen parent", 1, 0);
	write_file(w, 50, "maps", MAPS);
	gpc_table_fork(w->table, 51, 50);
	child = sampled(w, 51);
	assert_string_equal(child->comm, "unseen parent");
	assert_int_equal(gpc_table_space(w->table, child)->n, 3);
	gpc_table_exit(w->table, 51);
	assert_int_equal(gpc_table_space(w->table, child)->n, 3);
}

static void test_grandchild_gone(void **state)
{
	struct world *w = *state;

	lives_as(w, 50, "top", 1, 0);
	write_file(w, 50, "maps", MAPS);
	gpc_table_space(w->table, sampled(w, 50));
	gpc_table_fork(w->table, 51, 50);
	gpc_table_fork(w->table, 52, 51);
	gpc_table_exit(w->table, 51);
	assert_string_equal(sampled(w, 52)->comm, "top");
	assert_int_equal(gpc_table_space(w->table, sampled(w, 52))->n, 3);
}

/* ---- exec --------------------------------------------------------------------------- */

static void test_exec_is_a_new_image(void **state)
{
	struct world *w = *state;
	struct gpc_process *old, *new;

	lives_as(w, 50, "shell", 1, 0);
	write_file(w, 50, "maps", MAPS);
	old = sampled(w, 50);
	gpc_table_space(w->table, old);
	gpc_table_exec(w->table, 50, "tool");
	new = sampled(w, 50);
	assert_ptr_not_equal(old, new);
	assert_true(new->id > old->id);
	assert_int_equal(new->exec_count, 1);
	assert_int_equal(new->ppid, old->ppid);
	assert_int_equal(gpc_table_space(w->table, new)->n, 0);
	map(w, 50, 0x400000, 11, "/bin/tool");
	assert_int_equal(new->space->n, 1);
	/* What was counted before can still be told. */
	assert_ptr_equal(gpc_table_by_id(w->table, old->id), old);
	assert_string_equal(old->comm, "shell");
	assert_int_equal(old->space->n, 3);
	assert_ptr_equal(gpc_table_find(w->table, 50), new);
}

static void test_exec_before_any_sample_needs_no_second_entry(void **state)
{
	struct world *w = *state;
	size_t before;

	gpc_table_fork(w->table, 51, 50);
	before = gpc_table_count(w->table);
	gpc_table_exec(w->table, 51, "wrapper");
	gpc_table_exec(w->table, 51, "program");
	assert_int_equal(gpc_table_count(w->table), before);
	assert_string_equal(sampled(w, 51)->comm, "program");
	assert_int_equal(sampled(w, 51)->exec_count, 2);
}

/* A collector may hold the number of a process that has slept so far. */
static void test_number_that_was_given_away_is_not_used_for_the_next_image(void **state)
{
	struct world *w = *state;
	struct gpc_process *p;
	uint64_t id;

	lives_as(w, 50, "sleeper", 1, 0);
	p = gpc_table_enter(w->table, 50);
	assert_non_null(p);
	id = p->id;
	assert_string_equal(p->comm, "sleeper");
	gpc_table_exec(w->table, 50, "other");
	assert_true(gpc_table_find(w->table, 50)->id != id);
	assert_int_equal(gpc_table_find(w->table, 50)->exec_count, 1);
}

static void test_exec_of_a_process_never_heard_of(void **state)
{
	struct world *w = *state;

	gpc_table_exec(w->table, 70, "stranger");
	map(w, 70, 0x400000, 11, "/bin/stranger");
	assert_string_equal(sampled(w, 70)->comm, "stranger");
	assert_int_equal(gpc_table_space(w->table, sampled(w, 70))->n, 1);
}

/* exec in a loop, sampled each time: bounded within a window. */
static void test_many_generations(void **state)
{
	struct world *w = *state;

	lives_as(w, 50, "loop", 1, 0);
	for (int i = 0; i < 1000; i++) {
		sampled(w, 50);
		gpc_table_exec(w->table, 50, "loop");
		w->n_events = 0;
	}
	assert_true(gpc_table_count(w->table) <= 66);
	assert_int_equal(sampled(w, 50)->exec_count, 1000);
	gpc_table_trim(w->table, w->window, 5000);
	assert_int_equal(gpc_table_count(w->table), 1);
	assert_non_null(gpc_table_find(w->table, 50));
}

/* ---- exit ------------------------------------------------------------------------------ */

static void test_late_sample_after_exit(void **state)
{
	struct world *w = *state;
	struct gpc_process *p;
	uint64_t id;

	lives_as(w, 50, "short", 1, 0);
	p = sampled(w, 50);
	id = p->id;
	gpc_table_at(w->table, 2000);
	gpc_table_exit(w->table, 50);
	gone(w, 50);
	assert_ptr_equal(sampled(w, 50), p);
	assert_string_equal(p->comm, "short");
	assert_int_equal(p->exit_ns, 2000);
	gpc_table_trim(w->table, w->window, 2000); /* ended in the next window */
	assert_ptr_equal(gpc_table_by_id(w->table, id), p);
	gpc_table_trim(w->table, w->window, 2001);
	assert_null(gpc_table_by_id(w->table, id));
	assert_null(gpc_table_find(w->table, 50));
}

static void test_sampled_in_a_later_window_than_the_one_trimmed(void **state)
{
	struct world *w = *state;

	sampled(w, 50);
	gpc_table_exit(w->table, 50);
	w->window = 2;
	sampled(w, 50);
	gpc_table_trim(w->table, 1, 5000);
	assert_non_null(gpc_table_find(w->table, 50));
	gpc_table_trim(w->table, 2, 5000);
	assert_null(gpc_table_find(w->table, 50));
}

static void test_pid_used_again(void **state)
{
	struct world *w = *state;
	struct gpc_process *first, *second;
	uint64_t first_id;

	lives_as(w, 50, "first", 1, 0);
	lives_as(w, 60, "other parent", 1, 0);
	first = sampled(w, 50);
	first_id = first->id;
	gpc_table_exec(w->table, 50, "second image");
	sampled(w, 50);
	gpc_table_exit(w->table, 50);
	sampled(w, 60);
	gpc_table_fork(w->table, 50, 60);
	second = sampled(w, 50);
	assert_true(second->id != first_id);
	assert_int_equal(second->exec_count, 0);
	assert_int_equal(second->exit_ns, 0);
	assert_string_equal(second->comm, "other parent");
	assert_ptr_equal(gpc_table_by_id(w->table, first_id), first);
	gpc_table_trim(w->table, w->window, 5000);
	assert_null(gpc_table_by_id(w->table, first_id));
	assert_ptr_equal(gpc_table_find(w->table, 50), second);
	assert_int_equal(gpc_table_count(w->table), 2);
}

static void test_enter(void **state)
{
	struct world *w = *state;
	struct gpc_process *p;

	assert_null(gpc_table_enter(w->table, 50));
	assert_null(gpc_table_enter(w->table, 0));
	assert_null(gpc_table_enter(w->table, -1));
	lives_as(w, 50, "idle", 1, 0);
	p = gpc_table_enter(w->table, 50);
	assert_non_null(p);
	assert_false(p->is_sampled);
	assert_ptr_equal(gpc_table_enter(w->table, 50), p);
	gpc_table_exit(w->table, 50);
	assert_ptr_not_equal(gpc_table_enter(w->table, 50), p); /* somebody has the pid */
	gpc_table_exit(w->table, 50);
	write_file(w, 50, "stat", "50 (idle) Z 1 1 1 0 -1 0 0 0 0 0 10 20 0 0 20 0 1 0 555 0 0\n");
	assert_null(gpc_table_enter(w->table, 50)); /* ended, not reaped */
	gone(w, 50);
	assert_null(gpc_table_enter(w->table, 50));
}

/* pthread_exit() in main: the process goes on without its main thread. */
static void test_main_thread_ends(void **state)
{
	struct world *w = *state;
	struct gpc_process *p;

	lives_as(w, 50, "headless", 1, 0);
	p = sampled(w, 50);
	write_file(w, 50, "stat",
		   "50 (headless) Z 1 1 1 0 -1 0 0 0 0 0 10 20 0 0 20 0 3 0 555 0 0\n");
	gpc_table_exit(w->table, 50);
	assert_int_equal(p->exit_ns, 0);
	assert_ptr_equal(gpc_table_enter(w->table, 50), p);
	gpc_table_trim(w->table, w->window, 5000);
	assert_ptr_equal(gpc_table_find(w->table, 50), p);
	/* The last thread's end is told by nobody. */
	gone(w, 50);
	w->n_events = 0;
	gpc_table_trim(w->table, ++w->window, 6000);
	assert_int_equal(w->events[0].kind, GPC_PROC_EXIT);
	gpc_table_trim(w->table, ++w->window, 7000);
	assert_null(gpc_table_find(w->table, 50));
}

/* ---- what discovery is told -------------------------------------------------------------- */

static void test_events(void **state)
{
	struct world *w = *state;

	gpc_table_at(w->table, 1111);
	gpc_table_fork(w->table, 51, 50);
	gpc_table_exec(w->table, 51, "prog");
	map(w, 51, 0x400000, 11, "/bin/prog");
	sampled(w, 51);
	sampled(w, 51);
	gpc_table_exit(w->table, 51);
	gpc_table_exit(w->table, 999); /* never seen */
	assert_int_equal(w->n_events, 6);
	assert_int_equal(w->events[0].kind, GPC_PROC_FORK);
	assert_int_equal(w->events[1].kind, GPC_PROC_EXEC);
	assert_string_equal(w->events[1].path, "prog");
	assert_int_equal(w->events[2].kind, GPC_PROC_MMAP);
	assert_string_equal(w->events[2].path, "/bin/prog");
	assert_int_equal(w->events[3].kind, GPC_PROC_SAMPLED);
	assert_int_equal(w->events[4].kind, GPC_PROC_EXIT);
	assert_int_equal(w->events[5].kind, GPC_PROC_EXIT);
	assert_int_equal(w->events[5].pid, 999);
	assert_int_equal(w->events[5].id, 0);
	for (int i = 0; i < 6; i++)
		assert_int_equal(w->events[i].time_ns, 1111);
}

static void test_each_image_is_announced(void **state)
{
	struct world *w = *state;

	lives_as(w, 50, "x", 1, 0);
	sampled(w, 50);
	gpc_table_exec(w->table, 50, "y");
	sampled(w, 50);
	sampled(w, 50);
	assert_int_equal(count_events(w, GPC_PROC_SAMPLED), 2);
}

static void test_late_listeners_are_told_of_live_images_only(void **state)
{
	struct world *w = *state;
	uint64_t id;

	lives_as(w, 50, "x", 1, 0);
	lives_as(w, 51, "ends", 1, 0);
	lives_as(w, 52, "idle", 1, 0);
	sampled(w, 50);
	gpc_table_exec(w->table, 50, "y");
	id = sampled(w, 50)->id;
	sampled(w, 51);
	gpc_table_exit(w->table, 51);
	gpc_table_enter(w->table, 52);
	w->n_events = 0;
	gpc_table_tell_sampled(w->table);
	assert_int_equal(w->n_events, 1);
	assert_int_equal(w->events[0].kind, GPC_PROC_SAMPLED);
	assert_int_equal(w->events[0].pid, 50);
	assert_int_equal(w->events[0].id, id);
}

static void test_no_such_procfs(void **state)
{
	struct gpc_table_needs needs = {0};
	struct gpc_table *t = NULL;
	struct gpc_err err;

	(void)state;
	assert_int_equal(gpc_table_new("/nowhere/proc", NULL, &needs, NULL, &t, &err), GPC_E_GONE);
	assert_null(t);
	gpc_table_free(NULL);
}

#define world_test(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		world_test(test_there_before_us),
		world_test(test_name_stays),
		world_test(test_pseudo_processes),
		world_test(test_kernel_thread),
		world_test(test_gone_without_a_trace),
		world_test(test_fork_shares_until_a_side_changes),
		world_test(test_child_gone_before_it_was_looked_at),
		world_test(test_grandchild_gone),
		world_test(test_exec_is_a_new_image),
		world_test(test_exec_before_any_sample_needs_no_second_entry),
		world_test(test_number_that_was_given_away_is_not_used_for_the_next_image),
		world_test(test_exec_of_a_process_never_heard_of),
		world_test(test_many_generations),
		world_test(test_late_sample_after_exit),
		world_test(test_sampled_in_a_later_window_than_the_one_trimmed),
		world_test(test_pid_used_again),
		world_test(test_enter),
		world_test(test_main_thread_ends),
		world_test(test_events),
		world_test(test_each_image_is_announced),
		world_test(test_late_listeners_are_told_of_live_images_only),
		cmocka_unit_test(test_no_such_procfs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

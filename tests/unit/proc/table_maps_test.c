/* SPDX-License-Identifier: Apache-2.0 */
/* What the process table makes of mappings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fake_proc.h"

static void test_mappings_of_sleepers_wait_for_their_sample(void **state)
{
	struct world *w = *state;

	lives_as(w, 50, "sleeper", 1, 0);
	gpc_table_enter(w->table, 50);
	map(w, 50, 0x9000000, 8, "/lib/x.so");
	assert_int_equal(w->n_files, 0);
	write_file(w, 50, "maps", MAPS);
	assert_int_equal(gpc_table_space(w->table, sampled(w, 50))->n, 3);
}

static void test_what_is_a_file(void **state)
{
	static const struct {
		const char *path;
		uint64_t inode;
		uint32_t kind;
	} cases[] = {
		{"/usr/lib/x.so", 5, GPC_AREA_FILE},   {"/usr/lib/none.so", 0, GPC_AREA_ANON},
		{"//anon", 0, GPC_AREA_ANON},          {"/memfd:jit", 77, GPC_AREA_ANON},
		{"/dev/zero", 78, GPC_AREA_ANON},      {"/SYSV00000000", 79, GPC_AREA_ANON},
		{"/anon_hugepage", 80, GPC_AREA_ANON}, {"[vdso]", 0, GPC_AREA_VDSO},
		{"[heap]", 0, GPC_AREA_ANON},          {"", 0, GPC_AREA_ANON},
	};
	struct world *w = *state;

	gpc_table_exec(w->table, 50, "x");
	for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
		const struct gpc_area *a;

		map(w, 50, 0x10000 * (k + 1), cases[k].inode, cases[k].path);
		a = gpc_space_find(gpc_table_find(w->table, 50)->space, 0x10000 * (k + 1));
		assert_non_null(a);
		assert_int_equal(a->kind, cases[k].kind);
		assert_int_equal(a->image != 0, cases[k].kind == GPC_AREA_FILE);
	}
}

/* A runtime maps the file in which it notes its code, so that others find it. */
static void test_jitdump_is_found_by_its_mapping(void **state)
{
	struct world *w = *state;

	gpc_table_exec(w->table, 50, "x");
	map(w, 50, 0x1000, 5, "/tmp/jit-50.dump.so");
	assert_int_equal(w->n_jitdumps, 0);
	map(w, 50, 0x2000, 6, "/tmp/x/jit-50.dump");
	assert_int_equal(w->n_jitdumps, 1);
	assert_string_equal(w->jitdump, "/tmp/x/jit-50.dump");
}

static void test_senseless_mappings(void **state)
{
	struct world *w = *state;
	struct gpc_table_mmap m = {.pid = 50, .start = UINT64_MAX - 10, .length = 100, .path = ""};

	gpc_table_exec(w->table, 50, "x");
	gpc_table_mmap(w->table, &m);
	m.start = 5;
	m.length = 0;
	gpc_table_mmap(w->table, &m);
	assert_int_equal(gpc_table_find(w->table, 50)->space->n, 0);
}

/* After lost records what lives is read again; what has gone cannot be. */
static void test_distrust(void **state)
{
	struct world *w = *state;
	struct gpc_process *alive, *dead;

	lives_as(w, 50, "alive", 1, 0);
	gpc_table_exec(w->table, 50, "alive");
	alive = sampled(w, 50);
	map(w, 50, 0x9000000, 8, "/lib/old.so");
	gpc_table_exec(w->table, 60, "dead");
	dead = sampled(w, 60);
	map(w, 60, 0x9000000, 8, "/lib/old.so");
	gpc_table_exit(w->table, 60);
	gpc_table_distrust(w->table);
	write_file(w, 50, "maps", MAPS);
	assert_null(gpc_space_find(gpc_table_space(w->table, alive), 0x9000000));
	assert_int_equal(gpc_table_space(w->table, alive)->n, 3);
	assert_non_null(gpc_space_find(gpc_table_space(w->table, dead), 0x9000000));
}

/* The end of a process may be among what was lost. */
static void test_ends_that_were_lost(void **state)
{
	struct world *w = *state;
	struct gpc_process *alive, *gone;

	lives_as(w, 50, "alive", 1, 0);
	gpc_table_exec(w->table, 50, "alive");
	alive = sampled(w, 50);
	gpc_table_exec(w->table, 60, "gone");
	gone = sampled(w, 60);
	sampled(w, 0); /* the idle loop lives for ever, without a folder */
	gpc_table_distrust(w->table);
	assert_int_equal(alive->exit_ns, 0);
	assert_int_equal(gone->exit_ns, 1000);
	assert_int_equal(gpc_table_find(w->table, 0)->exit_ns, 0);
	assert_int_equal(w->events[w->n_events - 1].kind, GPC_PROC_EXIT);
	assert_int_equal(w->events[w->n_events - 1].pid, 60);
}

/* Without mmap events the mappings are read, and what is new is told. */
static void test_without_mmaps(void **state)
{
	struct world *w = *state;
	struct gpc_process *p;

	gpc_table_without_mmaps(w->table);
	lives_as(w, 50, "x", 1, 0);
	gpc_table_exec(w->table, 50, "x");
	write_file(w, 50, "maps", "400000-500000 r-xp 00000000 08:01 11 /bin/x\n");
	gpc_table_used(w->table, 50);
	p = gpc_table_find(w->table, 50);
	assert_int_equal(gpc_table_space(w->table, p)->n, 1);
	write_file(w, 50, "maps",
		   "400000-500000 r-xp 00000000 08:01 11 /bin/x\n"
		   "900000-a00000 r-xp 00000000 08:01 12 /lib/late.so\n");
	w->n_events = 0;
	gpc_table_used(w->table, 50);
	assert_int_equal(gpc_table_space(w->table, p)->n, 2);
	assert_int_equal(w->n_events, 1);
	assert_int_equal(w->events[0].kind, GPC_PROC_MMAP);
	assert_string_equal(w->events[0].path, "/lib/late.so");
	gpc_table_used(w->table, 50);
	assert_int_equal(w->n_events, 1);
	/* After an exec nothing of it is left. */
	write_file(w, 50, "maps", "400000-500000 r-xp 00000000 08:01 13 /bin/y\n");
	gpc_table_exec(w->table, 50, "y");
	assert_int_equal(gpc_table_space(w->table, gpc_table_find(w->table, 50))->n, 1);
}

static void test_mappings_of_idle_processes_are_forgotten(void **state)
{
	struct world *w = *state;
	struct gpc_process *p;

	lives_as(w, 50, "idle", 1, 0);
	write_file(w, 50, "maps", MAPS);
	p = sampled(w, 50);
	gpc_table_space(w->table, p);
	gpc_table_trim(w->table, w->window + 5, 5000);
	assert_non_null(p->space);
	gpc_table_trim(w->table, w->window + 6, 5000);
	assert_null(p->space);
	assert_ptr_equal(gpc_table_find(w->table, 50), p);
	w->window += 7;
	assert_int_equal(gpc_table_space(w->table, sampled(w, 50))->n, 3);
}

static void test_images_in_use(void **state)
{
	struct world *w = *state;
	struct gpc_u64map set = {0};
	uint64_t unused;

	gpc_table_exec(w->table, 50, "x");
	sampled(w, 50);
	map(w, 50, 0x400000, 11, "/bin/x");
	map(w, 50, 0x500000, 12, "/lib/y");
	map(w, 50, 0x600000, 11, "/bin/x");
	gpc_table_exec(w->table, 60, "z");
	map(w, 60, 0x400000, 13, "/bin/z");
	assert_true(gpc_table_images(w->table, &set));
	assert_int_equal(set.n, 3);
	for (uint64_t image = 1; image <= 3; image++)
		assert_true(gpc_u64map_get(&set, image, &unused));
	gpc_u64map_deinit(&set);
}

#define world_test(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		world_test(test_mappings_of_sleepers_wait_for_their_sample),
		world_test(test_ends_that_were_lost),
		world_test(test_without_mmaps),
		world_test(test_what_is_a_file),
		world_test(test_jitdump_is_found_by_its_mapping),
		world_test(test_senseless_mappings),
		world_test(test_distrust),
		world_test(test_mappings_of_idle_processes_are_forgotten),
		world_test(test_images_in_use),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

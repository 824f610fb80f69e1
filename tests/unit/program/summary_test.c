/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "draw.h"

static const struct gpc_summary_row *row(const struct gpc_summary *s, int which, const char *name)
{
	const struct gpc_summary_row *found = gpc_summary_find(&s->tables[which], name);

	if (!found)
		fail_msg("no row %s", name);
	return found;
}

static void check(const struct gpc_summary *s, int which, const char *name, uint64_t self,
		  uint64_t total)
{
	assert_int_equal(row(s, which, name)->self, self);
	assert_int_equal(row(s, which, name)->total, total);
}

static void counts_functions_and_languages(void **state)
{
	struct gpc_summary s = {0};
	struct draw d;

	(void)state;
	draw_begin(&d);
	draw_process(&d, 10, "app", "");
	draw_stack(&d, "main;work", 30);
	draw_stack(&d, "main;work;read_[k]", 20);
	draw_stack(&d, "main;f_[p];g_[p];f_[p]", 7); /* recursion counts once */
	draw_stack(&d, "main", 3);
	draw_stack(&d, "main;x_[lua]", 1);
	draw_end(&d, &s);
	assert_int_equal(s.samples, 61);
	check(&s, GPC_FUNCTIONS, "main", 3, 61);
	check(&s, GPC_FUNCTIONS, "work", 30, 50);
	check(&s, GPC_FUNCTIONS, "read_[k]", 20, 20);
	check(&s, GPC_FUNCTIONS, "f_[p]", 7, 7);
	check(&s, GPC_FUNCTIONS, "g_[p]", 0, 7);
	check(&s, GPC_LANGUAGES, "native", 33, 61);
	check(&s, GPC_LANGUAGES, "kernel [k]", 20, 20);
	check(&s, GPC_LANGUAGES, "Python [p]", 7, 7);
	check(&s, GPC_LANGUAGES, "[lua]", 1, 1);
	assert_null(gpc_summary_find(&s.tables[GPC_FUNCTIONS], "read"));
	gpc_summary_deinit(&s);
}

/* A function of the same name in another process is the same function. */
static void joins_processes_by_name(void **state)
{
	struct gpc_summary s = {0};
	struct draw d;

	(void)state;
	draw_begin(&d);
	draw_process(&d, 10, "cc1", "build");
	draw_stack(&d, "main", 5);
	draw_process(&d, 11, "cc1", "build");
	draw_stack(&d, "main", 6);
	draw_stack(&d, "main;more", 1);
	draw_process(&d, 12, "ld", "");
	draw_stack(&d, "main", 8);
	draw_end(&d, &s);
	check(&s, GPC_FUNCTIONS, "main", 19, 20);
	check(&s, GPC_PROCESSES, "cc1", 12, 12);
	assert_int_equal(row(&s, GPC_PROCESSES, "cc1")->n_processes, 2);
	assert_int_equal(row(&s, GPC_PROCESSES, "ld")->n_processes, 1);
	assert_int_equal(row(&s, GPC_PROCESSES, "ld")->pid, 12);
	check(&s, GPC_CONTAINERS, "build", 12, 12);
	check(&s, GPC_CONTAINERS, "(no container)", 8, 8);
	gpc_summary_deinit(&s);
}

static void tells_pids_apart(void **state)
{
	struct gpc_summary s = {.has_pids = true};
	struct draw d;

	(void)state;
	draw_begin(&d);
	draw_process(&d, 10, "cc1", "");
	draw_stack(&d, "main", 5);
	draw_process(&d, 11, "cc1", "");
	draw_stack(&d, "main", 6);
	draw_end(&d, &s);
	check(&s, GPC_PROCESSES, "     10 cc1", 5, 5);
	check(&s, GPC_PROCESSES, "     11 cc1", 6, 6);
	gpc_summary_deinit(&s);
}

static void idle_is_apart(void **state)
{
	struct gpc_summary s = {0};
	struct draw d;

	(void)state;
	draw_begin(&d);
	draw_process(&d, 0, "swapper", "");
	draw_stack(&d, "do_idle_[k]", 40);
	draw_process(&d, 0, "swapper/1", "");
	draw_stack(&d, "do_idle_[k]", 2);
	draw_process(&d, 77, "swapper", ""); /* anybody may call himself that */
	draw_stack(&d, "main", 4);
	draw_process(&d, 0, "swappers", "");
	draw_stack(&d, "main", 5);
	draw_end(&d, &s);
	assert_int_equal(s.idle, 42);
	assert_int_equal(s.samples, 9);
	assert_null(gpc_summary_find(&s.tables[GPC_FUNCTIONS], "do_idle_[k]"));
	gpc_summary_deinit(&s);
}

static void what_is_missing(void **state)
{
	struct gpc_summary s = {0};
	struct draw d;

	(void)state;
	draw_begin(&d);
	draw_process(&d, 10, "app", "");
	draw_stack(&d, "", 9); /* no place in memory */
	draw_stack(&d, "main;(/usr/lib/x.so)", 4);
	draw_stack(&d, "main;[unknown]", 2);
	draw_stack(&d, "(/usr/lib/x.so);main", 1);
	draw_stack(&d, "[Profiling error: no];main", 3);
	draw_end(&d, &s);
	assert_int_equal(s.samples, 19);
	assert_int_equal(s.over, 9);
	assert_int_equal(s.nameless, 6);
	assert_int_equal(s.errors, 3);
	check(&s, GPC_FUNCTIONS, "[stacks over the memory limit]", 9, 9);
	assert_int_equal(s.lost, 7); /* of both sources, and not what a report says */
	assert_int_equal(s.throttled, 1);
	assert_int_equal(s.hz, 100);
	assert_true(s.seconds == 2.0);
	assert_false(s.has_no_kernel);
	assert_true(s.has_no_kernel_names);
	gpc_summary_deinit(&s);
}

static void names_are_bounded(void **state)
{
	struct gpc_summary s = {0};
	const struct gpc_summary_table *t = &s.tables[GPC_FUNCTIONS];
	uint64_t sum = 0;
	char name[32];
	struct draw d;

	(void)state;
	draw_begin(&d);
	draw_process(&d, 10, "app", "");
	for (int i = 0; i < GPC_SUMMARY_ROWS + 100; i++) {
		snprintf(name, sizeof name, "f%d%s", i, i < GPC_SUMMARY_ROWS ? "" : "_[k]");
		draw_stack(&d, name, 2);
	}
	draw_end(&d, &s);
	assert_int_equal(t->rows.n, GPC_SUMMARY_ROWS + 1);
	check(&s, GPC_FUNCTIONS, GPC_SUMMARY_OTHERS, 200, 200);
	check(&s, GPC_LANGUAGES, "kernel [k]", 200, 200);
	for (size_t i = 0; i < t->rows.n; i++)
		sum += t->rows.at[i].self;
	assert_int_equal(sum, s.samples);
	gpc_summary_deinit(&s);
}

static void long_names(void **state)
{
	struct gpc_summary s = {0};
	char *name = malloc(10001);
	struct draw d;

	(void)state;
	memset(name, 'x', 10000);
	name[10000] = '\0';
	draw_begin(&d);
	draw_process(&d, 10, "app", name);
	draw_stack(&d, name, 2);
	draw_end(&d, &s);
	assert_true(strlen(s.tables[GPC_FUNCTIONS].rows.at[0].name) < 3000);
	free(name);
	gpc_summary_deinit(&s);
}

static void sorts(void **state)
{
	const struct gpc_summary_row **rows;
	struct gpc_summary s = {0};
	struct draw d;

	(void)state;
	assert_null(gpc_summary_sorted(&s.tables[GPC_FUNCTIONS], false));
	draw_begin(&d);
	draw_process(&d, 10, "app", "");
	draw_stack(&d, "main;b", 4);
	draw_stack(&d, "main;a", 4);
	draw_stack(&d, "main;c", 5);
	draw_end(&d, &s);
	rows = gpc_summary_sorted(&s.tables[GPC_FUNCTIONS], false);
	assert_string_equal(rows[0]->name, "c");
	assert_string_equal(rows[1]->name, "a");
	assert_string_equal(rows[2]->name, "b");
	assert_string_equal(rows[3]->name, "main");
	free(rows);
	rows = gpc_summary_sorted(&s.tables[GPC_FUNCTIONS], true);
	assert_string_equal(rows[0]->name, "main");
	assert_string_equal(rows[1]->name, "c");
	free(rows);
	gpc_summary_deinit(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_functions_and_languages),
		cmocka_unit_test(joins_processes_by_name),
		cmocka_unit_test(tells_pids_apart),
		cmocka_unit_test(idle_is_apart),
		cmocka_unit_test(what_is_missing),
		cmocka_unit_test(names_are_bounded),
		cmocka_unit_test(long_names),
		cmocka_unit_test(sorts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

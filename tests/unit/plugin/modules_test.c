/* SPDX-License-Identifier: Apache-2.0 */
#include "place.h"

#include "plugin/tables.h"

struct lines { /* what was logged */
	unsigned n;
	char last[512];
};

static void keep_line(void *ctx, const struct gpc_log_line *line)
{
	struct lines *l = ctx;

	l->n++;
	snprintf(l->last, sizeof l->last, "%s", line->message);
}

static void scans_a_folder(void **state)
{
	struct place *p = *state;
	struct gpc_modules ms = {0};
	struct lines lines = {0};
	struct gpc_log log;

	gpc_log_init(&log, GPC_WARN, keep_line, &lines);
	place_module(p, "older", "1.so");
	place_module(p, "good", "2.so");
	place_module(p, "no_note", "3.so");
	place_write(p, "README", "no plugin", 9);
	place_write(p, ".hidden.so", "no plugin", 9);
	assert_int_equal(mkdir(place_path(p, "dir.so"), 0755), 0);
	assert_int_equal(mkfifo(place_path(p, "fifo.so"), 0600), 0);
	assert_int_equal(gpc_modules_scan(&ms, p->dir, true, &log, NULL), GPC_OK);
	assert_int_equal(ms.n, 2);
	assert_string_equal(ms.at[0]->module.name, "good"); /* by name, not by file */
	assert_string_equal(ms.at[1]->module.name, "older");
	assert_int_equal(ms.n_refused, 3);
	assert_string_equal(ms.refused[0].path, place_path(p, "3.so"));
	assert_non_null(strstr(ms.refused[0].reason, "no gpc note"));
	assert_null(strstr(ms.refused[0].reason, p->dir));
	assert_string_equal(ms.refused[1].path, place_path(p, "dir.so"));
	assert_string_equal(ms.refused[2].path, place_path(p, "fifo.so"));
	assert_int_equal(lines.n, 3);
	assert_non_null(strstr(lines.last, "fifo.so: it is no regular file"));
	assert_ptr_equal(gpc_modules_find(&ms, "good"), ms.at[0]);
	assert_null(gpc_modules_find(&ms, "goo"));
	gpc_modules_deinit(&ms);
	assert_int_equal(ms.n, 0);
	gpc_log_deinit(&log);
}

static void the_first_of_a_name_wins(void **state)
{
	struct place *p = *state;
	struct gpc_modules ms = {0};

	place_module(p, "twin_a", "a.so");
	place_module(p, "twin_b", "b.so");
	assert_int_equal(gpc_modules_scan(&ms, p->dir, true, NULL, NULL), GPC_OK);
	assert_int_equal(ms.n, 1);
	assert_string_equal(ms.at[0]->path, place_path(p, "a.so"));
	assert_int_equal(ms.n_refused, 1);
	assert_non_null(strstr(ms.refused[0].reason, "its module name \"twin\" is taken by"));
	/* The same folder again, or by another way, adds nothing and refuses nothing. */
	assert_int_equal(gpc_modules_scan(&ms, p->dir, true, NULL, NULL), GPC_OK);
	assert_int_equal(ms.n, 1);
	assert_int_equal(ms.n_refused, 1);
	gpc_modules_deinit(&ms);
}

static gpc_status create(const struct gpc_host *h, const void *options, void **self)
{
	(void)h;
	(void)options;
	(void)self;
	return GPC_OK;
}

static void destroy(void *self)
{
	(void)self;
}

static const struct gpc_collector good_sampler = {.struct_size = sizeof good_sampler,
						  .scope = GPC_SCOPE_SYSTEM,
						  .name = "good_sampler",
						  .create = create,
						  .destroy = destroy};
static const struct gpc_collector *const collectors[] = {&good_sampler, NULL};

static const struct gpc_module *rival_entry(void)
{
	static const struct gpc_module rival = {.struct_size = sizeof rival,
						.abi_major = GPC_ABI_MAJOR,
						.abi_minor = GPC_ABI_MINOR,
						.name = "rival",
						.version = "1",
						.collectors = collectors};

	return &rival;
}

static void collectors_are_unique_in_the_core(void **state)
{
	struct place *p = *state;
	struct gpc_modules ms = {0};
	struct gpc_loaded_module *m;
	struct gpc_err err;

	assert_int_equal(gpc_module_builtin(rival_entry, &m, NULL), GPC_OK);
	assert_int_equal(gpc_modules_add(&ms, m, NULL), GPC_OK);
	assert_int_equal(gpc_module_load(place_module(p, "good", "good.so"), &m, NULL), GPC_OK);
	assert_int_equal(gpc_modules_add(&ms, m, &err), GPC_E_CONFIG); /* and frees it */
	assert_non_null(strstr(err.text, "collector name \"good_sampler\" is taken by (built in)"));
	assert_int_equal(ms.n, 1);
	gpc_modules_deinit(&ms);
}

static void folders_that_are_not_there(void **state)
{
	struct place *p = *state;
	struct gpc_modules ms = {0};
	struct lines lines = {0};
	struct gpc_log log;
	struct gpc_err err;

	gpc_log_init(&log, GPC_TRACE, keep_line, &lines);
	assert_int_equal(gpc_modules_scan(&ms, place_path(p, "none"), false, &log, NULL), GPC_OK);
	assert_int_equal(lines.n, 0);
	assert_int_equal(gpc_modules_scan(&ms, p->file, true, &log, &err), GPC_E_GONE);
	assert_non_null(strstr(err.text, "/none"));
	place_write(p, "file", "", 0);
	assert_true(gpc_modules_scan(&ms, p->file, true, &log, &err) < 0);
	assert_int_equal(gpc_modules_scan(&ms, p->file, false, &log, &err), GPC_OK);
	assert_int_equal(lines.n, 1);
	gpc_modules_deinit(&ms);
	gpc_log_deinit(&log);
}

static void an_empty_folder_is_fine(void **state)
{
	struct place *p = *state;
	struct gpc_modules ms = {0};

	assert_int_equal(gpc_modules_scan(&ms, p->dir, true, NULL, NULL), GPC_OK);
	assert_int_equal(ms.n + ms.n_refused, 0);
	gpc_modules_deinit(&ms);
}

static void distrusts_a_folder_as_a_whole(void **state)
{
	struct place *p = *state;
	struct gpc_modules ms = {0};

	place_module(p, "good", "good.so");
	assert_int_equal(chmod(p->dir, 01777), 0);
	assert_int_equal(gpc_modules_scan(&ms, p->dir, true, NULL, NULL), GPC_OK);
	assert_int_equal(ms.n, 0);
	assert_int_equal(ms.n_refused, 1);
	assert_non_null(strstr(ms.refused[0].reason, "its folder"));
	gpc_modules_deinit(&ms);
}

static void finds_the_default_folder(void **state)
{
	struct place *p = *state;
	char expected[PATH_MAX * 2];
	char *dir;

	assert_int_equal(mkdir(place_path(p, "lib"), 0755), 0);
	place_write(p, "lib/libgpc.so.1", "", 0);
	assert_int_equal(symlink("libgpc.so.1", place_path(p, "lib/libgpc.so")), 0);
	assert_int_equal(gpc_modules_dir_of(p->file, &dir, NULL), GPC_OK);
	snprintf(expected, sizeof expected, "%s/lib/gpc/plugins", p->dir);
	assert_string_equal(dir, expected);
	free(dir);
	assert_int_equal(mkdir(place_path(p, "core"), 0755), 0);
	place_write(p, "core/libgpc.so", "", 0);
	assert_int_equal(gpc_modules_dir_of(p->file, &dir, NULL), GPC_OK);
	snprintf(expected, sizeof expected, "%s/plugins", p->dir);
	assert_string_equal(dir, expected);
	free(dir);
	assert_true(gpc_modules_dir_of(place_path(p, "none"), &dir, NULL) < 0);
	assert_int_equal(gpc_modules_default_dir(&dir, NULL), GPC_OK);
	assert_int_equal(dir[0], '/');
	free(dir);
}

int main(void)
{
#define with_place(fn) cmocka_unit_test_setup_teardown(fn, place_setup, place_teardown)
	const struct CMUnitTest tests[] = {
		with_place(scans_a_folder),
		with_place(the_first_of_a_name_wins),
		with_place(collectors_are_unique_in_the_core),
		with_place(folders_that_are_not_there),
		with_place(an_empty_folder_is_fine),
		with_place(distrusts_a_folder_as_a_whole),
		with_place(finds_the_default_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

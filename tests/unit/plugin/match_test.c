/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../proc/child.h"
#include "plugin/match.h"

#define ROW(k, text)                                                                 \
	{                                                                            \
		.struct_size = sizeof(struct gpc_match), .kind = (k), .glob = (text) \
	}
#define END                      \
	{                        \
		.struct_size = 0 \
	}
#define CODE (GPC_MAP_READ | GPC_MAP_EXEC)

/* A process as the table knows it; nobody looks for it in /proc. */
static void init_view(struct gpc_target_view *v, const char *exe, uint64_t inode)
{
	memset(v, 0, sizeof *v);
	snprintf(v->exe, sizeof v->exe, "%s", exe);
	v->target.exe = v->exe;
	v->exe_dev = 8;
	v->exe_ino = inode;
	v->exe_mtime_ns = 1000;
}

static void give_maps(struct gpc_target_view *v, const struct gpc_map *maps, uint32_t n)
{
	v->target.maps = maps;
	v->target.n_maps = n;
	v->target.map_stride = sizeof *maps;
}

static struct gpc_matcher *new_matcher(const struct gpc_match *const *tables, unsigned n)
{
	struct gpc_matcher *m = NULL;

	assert_int_equal(gpc_matcher_new(tables, n, &m, NULL), GPC_OK);
	return m;
}

/* What one table says of one process. */
static uint64_t ask_one(const struct gpc_match *table, const struct gpc_target_view *v)
{
	struct gpc_matcher *m = new_matcher(&table, 1);
	uint64_t bits = gpc_matcher_ask(m, v);

	gpc_matcher_free(m);
	return bits;
}

static uint64_t ask_exe(const char *glob, const char *exe)
{
	const struct gpc_match table[] = {ROW(GPC_MATCH_EXE, glob), END};
	struct gpc_target_view v;

	init_view(&v, exe, 1);
	return ask_one(table, &v);
}

/* ---- rows -------------------------------------------------------------------------- */

static void test_name_of_the_executable(void **state)
{
	(void)state;
	assert_int_equal(ask_exe("python3.[0-9]*", "/usr/bin/python3.11"), 1);
	assert_int_equal(ask_exe("python3.?", "/usr/bin/python3.11"), 0);
	assert_int_equal(ask_exe("java", "/opt/java/bin/java"), 1);
	assert_int_equal(ask_exe("java", "/opt/java/bin/javac"), 0);
	/* Folders are no part of it, however they are called. */
	assert_int_equal(ask_exe("python*", "/opt/python3/bin/ruby"), 0);
	assert_int_equal(ask_exe("*/bin/*", "/usr/bin/python3"), 0);
	assert_int_equal(ask_exe("php-fpm*", "php-fpm8.2"), 1);
	assert_int_equal(ask_exe("python*", ""), 0);
}

static void test_any_row_will_do(void **state)
{
	const struct gpc_match table[] = {ROW(GPC_MATCH_EXE, "node"), ROW(GPC_MATCH_EXE, "nodejs"),
					  END};
	const struct gpc_match any[] = {ROW(GPC_MATCH_ANY, NULL), END};
	const struct gpc_match none[] = {END};
	const struct gpc_match unknown[] = {ROW(99, "*"), END};
	struct gpc_target_view v;

	(void)state;
	init_view(&v, "/usr/bin/nodejs", 1);
	assert_int_equal(ask_one(table, &v), 1);
	assert_int_equal(ask_one(any, &v), 1);
	assert_int_equal(ask_one(none, &v), 0);
	assert_int_equal(ask_one(NULL, &v), 0);
	/* A kind of a later version is no match. */
	assert_int_equal(ask_one(unknown, &v), 0);
}

/* A plugin of a later version has longer rows: their size says where the next is. */
static void test_longer_rows(void **state)
{
	struct longer {
		struct gpc_match row;
		uint64_t later;
	} table[] = {
		{{sizeof(struct longer), GPC_MATCH_EXE, "node"}, UINT64_MAX},
		{{sizeof(struct longer), GPC_MATCH_EXE, "ruby*"}, UINT64_MAX},
		{END, 0},
	};
	struct gpc_target_view v;

	(void)state;
	init_view(&v, "/usr/bin/ruby3.1", 1);
	assert_int_equal(ask_one(&table[0].row, &v), 1);
	init_view(&v, "/usr/bin/perl", 1);
	assert_int_equal(ask_one(&table[0].row, &v), 0);
}

static void test_symbols_and_sections_of_real_executables(void **state)
{
	const struct gpc_match table[] = {ROW(GPC_MATCH_SYMBOL, "gpc_test_runtime_marker"), END};
	const struct gpc_match other[] = {ROW(GPC_MATCH_SYMBOL, "gpc_test_runtime_marke"), END};
	const struct gpc_match sections[] = {ROW(GPC_MATCH_SECTION, ".init_array"), END};
	const struct gpc_match no_section[] = {ROW(GPC_MATCH_SECTION, ".init_arra"), END};
	char *marked[] = {TEST_MARKED, NULL}, *sleeper[] = {"sleep", "1000", NULL};
	struct gpc_target_view v;
	pid_t pid = child_exec(TEST_MARKED, marked);

	(void)state;
	assert_true(pid > 0);
	init_view(&v, TEST_MARKED, 1);
	v.target.pid = pid;
	assert_int_equal(ask_one(table, &v), 1);
	assert_int_equal(ask_one(other, &v), 0);
	child_end(pid);
	assert_int_equal(ask_one(table, &v), 0); /* there is no file to look at any more */
	assert_int_equal(ask_one(sections, &v), 0);
	pid = child_exec("/bin/sleep", sleeper);
	assert_true(pid > 0);
	v.target.pid = pid;
	assert_int_equal(ask_one(table, &v), 0);
	assert_int_equal(ask_one(sections, &v), 1);
	assert_int_equal(ask_one(no_section, &v), 0);
	child_end(pid);
}

static uint64_t ask_map(uint32_t prot, const char *path)
{
	const struct gpc_match table[] = {ROW(GPC_MATCH_MAPPED, "libpython3*.so*"), END};
	const struct gpc_map maps[] = {{.prot = CODE, .path = "/lib/libc.so.6"},
				       {.prot = prot, .path = path}};
	struct gpc_target_view v;

	init_view(&v, "/usr/bin/libpython3.so", 1); /* the executable's name is not asked */
	give_maps(&v, maps, 2);
	return ask_one(table, &v);
}

static void test_mapped_files(void **state)
{
	(void)state;
	assert_int_equal(ask_map(CODE, "/usr/lib/libpython3.11.so.1.0"), 1);
	assert_int_equal(ask_map(CODE | GPC_MAP_WRITE, "/x/libpython3.so"), 1);
	assert_int_equal(ask_map(CODE, "/usr/lib/libpython2.7.so"), 0);
	assert_int_equal(ask_map(CODE, "/libpython3.so/other"), 0);
	/* Read as data, it is not run. */
	assert_int_equal(ask_map(GPC_MAP_READ, "/usr/lib/libpython3.11.so.1.0"), 0);
	assert_int_equal(ask_map(GPC_MAP_READ | GPC_MAP_WRITE, "/x/libpython3.so"), 0);
	/* Names of what is no file. */
	assert_int_equal(ask_map(CODE, "libpython3.so"), 0);
	assert_int_equal(ask_map(CODE, ""), 0);
}

/* ---- what is remembered ------------------------------------------------------------- */

static void test_one_look_at_each_file(void **state)
{
	const struct gpc_match table[] = {ROW(GPC_MATCH_EXE, "python*"), END};
	const struct gpc_match *tables[] = {table};
	struct gpc_matcher *m = new_matcher(tables, 1);
	struct gpc_target_view python, other;

	(void)state;
	init_view(&python, "/usr/bin/python3", 7);
	init_view(&other, "/usr/bin/perl", 8);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(gpc_matcher_ask(m, &python), 1);
		assert_int_equal(gpc_matcher_ask(m, &other), 0);
		assert_int_equal(gpc_matcher_looks(m), 2);
	}
	/* The same file in another mount namespace. */
	snprintf(python.exe, sizeof python.exe, "/mnt/bin/python3");
	assert_int_equal(gpc_matcher_ask(m, &python), 1);
	assert_int_equal(gpc_matcher_looks(m), 2);
	gpc_matcher_free(m);
	gpc_matcher_free(NULL);
}

/* Each part of the identity counts: another file is looked at. */
static void test_another_file_is_another_question(void **state)
{
	const struct gpc_match table[] = {ROW(GPC_MATCH_EXE, "busybox"), END};
	const struct gpc_match *tables[] = {table};
	struct gpc_matcher *m = new_matcher(tables, 1);
	struct gpc_target_view v;

	(void)state;
	init_view(&v, "/bin/busybox", 7);
	assert_int_equal(gpc_matcher_ask(m, &v), 1);
	v.exe_ino = 8;
	gpc_matcher_ask(m, &v);
	assert_int_equal(gpc_matcher_looks(m), 2);
	v.exe_dev = 9;
	gpc_matcher_ask(m, &v);
	assert_int_equal(gpc_matcher_looks(m), 3);
	v.exe_mtime_ns++; /* replaced in place */
	gpc_matcher_ask(m, &v);
	assert_int_equal(gpc_matcher_looks(m), 4);
	/* A hard link with another name. */
	snprintf(v.exe, sizeof v.exe, "/bin/sh");
	assert_int_equal(gpc_matcher_ask(m, &v), 0);
	assert_int_equal(gpc_matcher_looks(m), 5);
	gpc_matcher_free(m);
}

/* inode 0: the file is not known, and two of those are not the same. */
static void test_unknown_files_are_not_remembered(void **state)
{
	const struct gpc_match table[] = {ROW(GPC_MATCH_EXE, "python*"), END};
	const struct gpc_match *tables[] = {table};
	struct gpc_matcher *m = new_matcher(tables, 1);
	struct gpc_target_view v;

	(void)state;
	init_view(&v, "/usr/bin/python3", 0);
	for (unsigned i = 1; i <= 3; i++) {
		assert_int_equal(gpc_matcher_ask(m, &v), 1);
		assert_int_equal(gpc_matcher_looks(m), i);
	}
	gpc_matcher_free(m);
}

/* What is mapped belongs to the process: asked each time, in both directions. */
static void test_mappings_are_not_remembered(void **state)
{
	const struct gpc_match table[] = {ROW(GPC_MATCH_MAPPED, "libruby*"), END};
	const struct gpc_match *tables[] = {table};
	const struct gpc_map with[] = {{.prot = CODE, .path = "/usr/lib/libruby-3.1.so"}};
	struct gpc_matcher *m = new_matcher(tables, 1);
	struct gpc_target_view v;

	(void)state;
	init_view(&v, "/usr/bin/server", 7);
	assert_int_equal(gpc_matcher_ask(m, &v), 0);
	give_maps(&v, with, 1); /* it has loaded the library since */
	assert_int_equal(gpc_matcher_ask(m, &v), 1);
	give_maps(&v, NULL, 0); /* another process of the same file */
	assert_int_equal(gpc_matcher_ask(m, &v), 0);
	assert_int_equal(gpc_matcher_looks(m), 1);
	gpc_matcher_free(m);
}

/* Beyond the bound the memory starts anew; answers stay right. */
static void test_memory_is_bounded(void **state)
{
	const struct gpc_match table[] = {ROW(GPC_MATCH_EXE, "p*"), END};
	const struct gpc_match *tables[] = {table};
	struct gpc_matcher *m = new_matcher(tables, 1);
	struct gpc_target_view v;
	const unsigned n = 16384 + 10;

	(void)state;
	for (unsigned i = 1; i <= n; i++) {
		init_view(&v, i % 2 ? "/bin/p" : "/bin/q", i);
		assert_int_equal(gpc_matcher_ask(m, &v), i % 2);
	}
	assert_int_equal(gpc_matcher_looks(m), n);
	assert_int_equal(gpc_matcher_ask(m, &v), n % 2); /* one of the last: remembered */
	assert_int_equal(gpc_matcher_looks(m), n);
	init_view(&v, "/bin/p", 1); /* the first: forgotten */
	assert_int_equal(gpc_matcher_ask(m, &v), 1);
	assert_int_equal(gpc_matcher_looks(m), n + 1);
	gpc_matcher_free(m);
}

/* ---- several collectors ------------------------------------------------------------- */

static void test_a_bit_for_each_collector(void **state)
{
	const struct gpc_match by_name[] = {ROW(GPC_MATCH_EXE, "uwsgi*"), END};
	const struct gpc_match by_map[] = {ROW(GPC_MATCH_MAPPED, "libpython*"), END};
	const struct gpc_match both[] = {ROW(GPC_MATCH_EXE, "python*"),
					 ROW(GPC_MATCH_MAPPED, "libphp*"), END};
	const struct gpc_match any[] = {ROW(GPC_MATCH_ANY, NULL), END};
	const struct gpc_match *tables[] = {by_name, NULL, by_map, both, any};
	const struct gpc_map python[] = {{.prot = CODE, .path = "/lib/libpython3.11.so"}};
	const struct gpc_map php[] = {{.prot = CODE, .path = "/lib/libphp8.so"}};
	struct gpc_matcher *m = new_matcher(tables, 5);
	struct gpc_target_view v;

	(void)state;
	init_view(&v, "/usr/bin/uwsgi-core", 1);
	assert_int_equal(gpc_matcher_ask(m, &v), 1 << 0 | 1 << 4);
	give_maps(&v, python, 1);
	assert_int_equal(gpc_matcher_ask(m, &v), 1 << 0 | 1 << 2 | 1 << 4);
	give_maps(&v, php, 1);
	assert_int_equal(gpc_matcher_ask(m, &v), 1 << 0 | 1 << 3 | 1 << 4);
	init_view(&v, "/usr/bin/python3", 2);
	assert_int_equal(gpc_matcher_ask(m, &v), 1 << 3 | 1 << 4);
	gpc_matcher_free(m);
}

static void test_as_many_as_there_are_bits(void **state)
{
	const struct gpc_match no[] = {ROW(GPC_MATCH_EXE, "nobody"), END};
	const struct gpc_match any[] = {ROW(GPC_MATCH_ANY, NULL), END};
	const struct gpc_match *tables[GPC_MATCH_MAX + 1];
	struct gpc_matcher *m = NULL;
	struct gpc_target_view v;
	struct gpc_err err = {0};

	(void)state;
	for (int k = 0; k <= GPC_MATCH_MAX; k++)
		tables[k] = no;
	assert_int_equal(gpc_matcher_new(tables, GPC_MATCH_MAX + 1, &m, &err), GPC_E_CONFIG);
	assert_null(m);
	assert_non_null(strstr(err.text, "64"));
	init_view(&v, "/bin/true", 1);
	tables[GPC_MATCH_MAX - 1] = any;
	m = new_matcher(tables, GPC_MATCH_MAX);
	for (int i = 0; i < 2; i++)
		assert_true(gpc_matcher_ask(m, &v) == UINT64_C(1) << 63);
	assert_int_equal(gpc_matcher_looks(m), 1);
	gpc_matcher_free(m);
	/* All of them: that answer cannot be remembered, and is right all the same. */
	for (int k = 0; k < GPC_MATCH_MAX; k++)
		tables[k] = any;
	m = new_matcher(tables, GPC_MATCH_MAX);
	for (int i = 0; i < 2; i++)
		assert_true(gpc_matcher_ask(m, &v) == UINT64_MAX);
	gpc_matcher_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_name_of_the_executable),
		cmocka_unit_test(test_any_row_will_do),
		cmocka_unit_test(test_longer_rows),
		cmocka_unit_test(test_symbols_and_sections_of_real_executables),
		cmocka_unit_test(test_mapped_files),
		cmocka_unit_test(test_one_look_at_each_file),
		cmocka_unit_test(test_another_file_is_another_question),
		cmocka_unit_test(test_unknown_files_are_not_remembered),
		cmocka_unit_test(test_mappings_are_not_remembered),
		cmocka_unit_test(test_memory_is_bounded),
		cmocka_unit_test(test_a_bit_for_each_collector),
		cmocka_unit_test(test_as_many_as_there_are_bits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/io.h"
#include "proc/maps.h"

static struct gpc_maps_line only(const char *text)
{
	struct gpc_maps_line line, more;
	const char *at = text, *end = text + strlen(text);

	assert_true(gpc_maps_next(&at, end, &line));
	assert_false(gpc_maps_next(&at, end, &more));
	assert_ptr_equal(at, end);
	return line;
}

static void check_path(const char *written, const char *path, bool is_deleted)
{
	char text[9000];
	struct gpc_maps_line line;

	snprintf(text, sizeof text, "1000-2000 r-xp 00000000 08:01 42      %s\n", written);
	line = only(text);
	assert_int_equal(line.path_len, strlen(path));
	assert_memory_equal(line.path, path, line.path_len);
	assert_int_equal(line.is_deleted, is_deleted);
}

static void test_fields(void **state)
{
	struct gpc_maps_line l = only("7f0123456000-7fffffffffff rw-s 0000a000 fd:1f "
				      "18446744073709551 /dev/shm/x\n");

	(void)state;
	assert_int_equal(l.map.start, 0x7f0123456000);
	assert_int_equal(l.map.end, 0x7fffffffffff);
	assert_int_equal(l.map.offset, 0xa000);
	assert_int_equal(l.map.prot, GPC_MAP_READ | GPC_MAP_WRITE);
	assert_int_equal(l.map.dev_major, 0xfd);
	assert_int_equal(l.map.dev_minor, 0x1f);
	assert_int_equal(l.map.inode, 18446744073709551);
	assert_null(l.map.path);
}

static void test_addresses_at_the_top(void **state)
{
	struct gpc_maps_line l =
		only("ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]");

	(void)state;
	assert_true(l.map.start == 0xffffffffff600000);
	assert_int_equal(l.map.prot, GPC_MAP_EXEC);
	assert_memory_equal(l.path, "[vsyscall]", l.path_len);
}

static void test_without_a_path(void **state)
{
	struct gpc_maps_line l = only("1000-2000 rwxp 00000000 00:00 0 \n");

	(void)state;
	assert_int_equal(l.path_len, 0);
	assert_int_equal(only("1000-2000 rwxp 00000000 00:00 0").path_len, 0);
}

static void test_odd_paths(void **state)
{
	char longest[4097] = "/";

	(void)state;
	memset(longest + 1, 'x', sizeof longest - 2);
	check_path("/usr/lib/libc.so.6", "/usr/lib/libc.so.6", false);
	check_path("/a b/ c  d ", "/a b/ c  d ", false);
	check_path("/gone (deleted)", "/gone", true);
	check_path("/twice (deleted) (deleted)", "/twice (deleted)", true);
	check_path("/not(deleted)", "/not(deleted)", false);
	check_path("/inside (deleted)/x", "/inside (deleted)/x", false);
	check_path("/back\\slash\\012", "/back\\slash\\012", false);
	check_path("/\xff\xfe\x80 \x01\t", "/\xff\xfe\x80 \x01\t", false);
	check_path("/1000-2000 r-xp 0 08:01 1 /y", "/1000-2000 r-xp 0 08:01 1 /y", false);
	check_path("/memfd:jit (deleted)", "/memfd:jit", true);
	check_path(longest, longest, false);
}

static void test_lines_that_do_not_parse_are_skipped(void **state)
{
	static const char *const bad[] = {
		"",
		"\n",
		"nonsense\n",
		"1000 r-xp 0 0:0 0 /x\n",
		"1000-1000 r-xp 0 0:0 0 /empty\n",
		"2000-1000 r-xp 0 0:0 0 /backwards\n",
		"1000-2000 r-x\n",
		"1000-2000 r-xp\n",
		"1000-2000 r-xp 0\n",
		"1000-2000 r-xp 0 08:01\n",
		"1000-2000 r-xp 0 0801 3 /x\n",
		"1000-2000 r-xp 0 08:01 x /x\n",
		"+1000-2000 r-xp 0 08:01 3 /x\n",
		"1000--2000 r-xp 0 08:01 3 /x\n",
		" 1000-2000 r-xp 0 08:01 3 /x\n",
		"1000-2000 r-xp -1 08:01 3 /x\n",
		"11112222333344445-2000 r-xp 0 08:01 3 /x\n",
		"1000-2000 r-xp 0 08:01 99999999999999999999 /x\n",
	};

	(void)state;
	for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
		char text[300];
		struct gpc_maps_line line;
		const char *at = text;

		snprintf(text, sizeof text, "%s1000-2000 r-xp 0 08:01 3 /good\n", bad[k]);
		assert_true(gpc_maps_next(&at, text + strlen(text), &line));
		assert_memory_equal(line.path, "/good", 5);
		assert_false(gpc_maps_next(&at, text + strlen(text), &line));
	}
}

static void test_cut_anywhere(void **state)
{
	static const char text[] = "1000-2000 r-xp 0000a000 08:01 42    /x (deleted)\n"
				   "3000-4000 rw-p 00000000 00:00 0 \n";

	(void)state;
	for (size_t n = 0; n < sizeof text; n++) {
		char *copy = malloc(n + 1);
		const char *at = copy;
		struct gpc_maps_line line;

		memcpy(copy, text, n);
		while (gpc_maps_next(&at, copy + n, &line))
			assert_true(line.path >= copy && line.path + line.path_len <= copy + n);
		free(copy);
	}
}

/* Our own maps: every line is understood, and this function lies in one. */
static void test_our_own(void **state)
{
	char *text = NULL;
	size_t n = 0, lines = 0, parsed = 0;
	struct gpc_maps_line line;
	const char *at;
	bool is_found = false;

	(void)state;
	assert_int_equal(gpc_read_file(AT_FDCWD, "/proc/self/maps", 1 << 24, &text, &n, NULL),
			 GPC_OK);
	for (size_t i = 0; i < n; i++)
		lines += text[i] == '\n';
	for (at = text; gpc_maps_next(&at, text + n, &line); parsed++)
		is_found |= line.map.start <= (uintptr_t)test_our_own &&
			    (uintptr_t)test_our_own < line.map.end &&
			    (line.map.prot & GPC_MAP_EXEC) && line.map.inode;
	assert_int_equal(parsed, lines);
	assert_true(is_found);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_addresses_at_the_top),
		cmocka_unit_test(test_without_a_path),
		cmocka_unit_test(test_odd_paths),
		cmocka_unit_test(test_lines_that_do_not_parse_are_skipped),
		cmocka_unit_test(test_cut_anywhere),
		cmocka_unit_test(test_our_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

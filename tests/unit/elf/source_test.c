/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/source.h"

#include "fixture.h"

static void reads_only_what_is_there(void **state)
{
	struct gpc_elf_source source = gpc_elf_source_memory("0123456789", 10);
	char buf[16];

	(void)state;
	assert_true(gpc_elf_read(&source, 4, buf, 6));
	assert_memory_equal(buf, "456789", 6);
	assert_false(gpc_elf_read(&source, 4, buf, 7));
	assert_false(gpc_elf_read(&source, 10, buf, 1));
	assert_false(gpc_elf_read(&source, UINT64_MAX, buf, 1));
	assert_int_equal(gpc_elf_read_array(&source, 1, buf, 4, 4), 2);
}

static void clamps_parts(void **state)
{
	struct gpc_elf_source source = gpc_elf_source_memory("0123456789", 10);
	struct gpc_elf_range beyond = {11, 5}, large = {8, UINT64_MAX}, good = {2, 3};

	(void)state;
	gpc_elf_clamp(&source, &beyond);
	assert_int_equal(beyond.size, 0);
	gpc_elf_clamp(&source, &large);
	assert_int_equal(large.size, 2);
	gpc_elf_clamp(&source, &good);
	assert_int_equal(good.size, 3);
}

static void reads_strings_up_to_the_table_end(void **state)
{
	struct gpc_elf_source source = gpc_elf_source_memory("abc\0defghi", 10);
	struct gpc_elf_range strings = {1, 6};
	autofree char *first = gpc_elf_string(&source, &strings, 0);
	autofree char *open_ended = gpc_elf_string(&source, &strings, 3);

	(void)state;
	assert_string_equal(first, "bc");
	assert_string_equal(open_ended, "def");
	assert_null(gpc_elf_string(&source, &strings, 6));
	assert_null(gpc_elf_string(&source, &strings, UINT64_MAX));
}

static void cuts_endless_strings(void **state)
{
	size_t n = 5 * GPC_ELF_NAME_MAX;
	autofree char *bytes = calloc(1, n);
	struct gpc_elf_source source = gpc_elf_source_memory(bytes, n);
	struct gpc_elf_range strings = {0, n};
	autofree char *text = NULL;

	(void)state;
	memset(bytes, 'a', n);
	bytes[9000] = '\0';
	text = gpc_elf_string(&source, &strings, 0);
	assert_int_equal(strlen(text), 9000);
	free(take(text));
	text = gpc_elf_string(&source, &strings, 9001);
	assert_int_equal(strlen(text), GPC_ELF_NAME_MAX);
}

static void compares_in_a_window(void **state)
{
	struct gpc_elf_source source = gpc_elf_source_memory("xabc\0def", 8);
	struct gpc_elf_window window = {.source = &source};
	struct gpc_elf_range strings = {1, 7};

	(void)state;
	assert_true(gpc_elf_window_is(&window, &strings, 4, "def", 3));
	assert_true(gpc_elf_window_is(&window, &strings, 0, "abc", 4));
	assert_false(gpc_elf_window_is(&window, &strings, 0, "ab", 3));
	assert_false(gpc_elf_window_is(&window, &strings, 4, "def", 4));
	assert_false(gpc_elf_window_is(&window, &strings, UINT64_MAX, "def", 4));
}

static void refuses_what_is_no_file(void **state)
{
	struct gpc_elf_source source;
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(gpc_elf_source_fd(ends[0], &source, NULL), GPC_E_UNSUPPORTED);
	close(ends[0]);
	close(ends[1]);
	assert_true(gpc_elf_source_fd(ends[0], &source, NULL) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_only_what_is_there),
		cmocka_unit_test(clamps_parts),
		cmocka_unit_test(reads_strings_up_to_the_table_end),
		cmocka_unit_test(cuts_endless_strings),
		cmocka_unit_test(compares_in_a_window),
		cmocka_unit_test(refuses_what_is_no_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

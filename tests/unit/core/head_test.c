/* SPDX-License-Identifier: Apache-2.0 */
/* The file of external metadata: fresh for each profile, or not used. */
#include "made_core.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static const char path[] = "/tmp/gpc-external-metadata-test";

static void write_text(const char *text, size_t n)
{
	FILE *out = fopen(path, "w");

	assert_non_null(out);
	assert_int_equal(fwrite(text, 1, n, out), n);
	assert_int_equal(fclose(out), 0);
}

static int set_up(void **state)
{
	static const char text[] = "{\"static\": {\"rack\": \"r1\"}, \"application\": "
				   "{\"77\": {\"job\": \"nightly\"}}}";

	write_text(text, strlen(text));
	*state = made_core(path);
	return 0;
}

static int tear_down(void **state)
{
	struct gpc_core *core = *state;

	core->opts.external_metadata = NULL;
	gpc_core_free(core);
	unlink(path);
	return 0;
}

static uint32_t index_of_77(struct gpc_core *core)
{
	gpc_core_begin_app_metadata(core);
	return gpc_core_app_metadata(core, 77, NULL);
}

static void make_stale(void)
{
	const struct timespec times[2] = {{.tv_sec = time(NULL) - 301},
					  {.tv_sec = time(NULL) - 301}};

	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void test_fresh(void **state)
{
	assert_int_equal(index_of_77(*state), 1);
	assert_int_equal(gpc_core_app_metadata(*state, 78, NULL), 0);
}

/* By now 77 may be another process. */
static void test_stale(void **state)
{
	assert_int_equal(index_of_77(*state), 1);
	make_stale();
	assert_int_equal(index_of_77(*state), 0);
	assert_int_equal(utimensat(AT_FDCWD, path, NULL, 0), 0);
	assert_int_equal(index_of_77(*state), 1);
}

static void test_gone_or_damaged(void **state)
{
	write_text("{oops", 5);
	assert_int_equal(index_of_77(*state), 0);
	unlink(path);
	assert_int_equal(index_of_77(*state), 0);
	assert_int_equal(mkfifo(path, 0600), 0); /* must not hang */
	assert_int_equal(index_of_77(*state), 0);
}

static void test_too_large(void **state)
{
	static const char text[] = "{\"application\": {\"77\": {\"job\": \"nightly\"}}}";
	size_t n = (16u << 20) + 1;
	char *large = malloc(n);

	memset(large, ' ', n);
	memcpy(large, text, strlen(text));
	write_text(large, n);
	assert_int_equal(index_of_77(*state), 0);
	write_text(large, n - 1);
	assert_int_equal(index_of_77(*state), 1);
	free(large);
}

#define core_test(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		core_test(test_fresh),
		core_test(test_stale),
		core_test(test_gone_or_damaged),
		core_test(test_too_large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

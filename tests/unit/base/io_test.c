/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/io.h"

/* A folder of its own for each test. */
struct place {
	char path[64];
	int dir;
};

static int set_up(void **state)
{
	struct place *p = calloc(1, sizeof *p);

	if (!p)
		return -1;
	*state = p;
	strcpy(p->path, "/tmp/gpc-io-test-XXXXXX");
	if (!mkdtemp(p->path))
		return -1;
	p->dir = open(p->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return p->dir < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
	struct place *p = *state;
	char command[96];
	int status;

	snprintf(command, sizeof command, "rm -rf %s", p->path);
	status = system(command);
	close(p->dir);
	free(p);
	return status;
}

static void make_file(int dir, const char *name, const void *bytes, size_t n)
{
	autoclose int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	struct gpc_err err;

	assert_true(fd >= 0);
	assert_int_equal(gpc_write_all(fd, bytes, n, &err), GPC_OK);
}

static void test_read_file_of_any_size(void **state)
{
	static const size_t sizes[] = {0, 1, 4094, 4095, 4096, 4097, 8191, 100000};
	int dir = ((struct place *)*state)->dir;
	struct gpc_err err;

	for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
		autofree char *bytes = calloc(1, sizes[s] + 1);
		autofree char *got = NULL;
		size_t n = 99;

		for (size_t i = 0; i < sizes[s]; i++)
			bytes[i] = (char)(i % 251);
		make_file(dir, "f", bytes, sizes[s]);
		assert_int_equal(gpc_read_file(dir, "f", sizes[s], &got, &n, &err), GPC_OK);
		assert_int_equal(n, sizes[s]);
		assert_memory_equal(got, bytes, n + 1); /* the NUL too */
	}
}

static void test_read_file_over_the_limit(void **state)
{
	int dir = ((struct place *)*state)->dir;
	char *got = (char *)0x1;
	size_t n = 99;
	struct gpc_err err;

	make_file(dir, "f", "123456", 6);
	assert_int_equal(gpc_read_file(dir, "f", 5, &got, &n, &err), GPC_E_BUDGET);
	assert_ptr_equal(got, (char *)0x1); /* untouched */
	assert_int_equal(n, 99);
	assert_string_equal(err.text, "f: longer than 5 bytes");
}

static void test_read_file_that_is_none(void **state)
{
	int dir = ((struct place *)*state)->dir;
	char *got = NULL;
	struct gpc_err err;

	assert_int_equal(gpc_read_file(dir, "nothing", 5, &got, NULL, &err), GPC_E_GONE);
	assert_non_null(strstr(err.text, "nothing"));
	assert_int_equal(gpc_read_file(dir, ".", 5, &got, NULL, &err), GPC_E_SYSTEM);
	assert_int_equal(err.sys, EISDIR);
	assert_int_equal(gpc_read_file(dir, "nothing", 5, NULL, NULL, NULL), GPC_E_GONE);
	assert_null(got);
}

/* A FIFO without a writer must not block the reader. */
static void test_read_file_does_not_wait_for_a_fifo(void **state)
{
	int dir = ((struct place *)*state)->dir;
	autofree char *got = NULL;
	struct gpc_err err;

	assert_int_equal(mkfifoat(dir, "fifo", 0600), 0);
	alarm(10);
	assert_int_equal(gpc_read_file(dir, "fifo", 5, &got, NULL, &err), GPC_OK);
	alarm(0);
	assert_string_equal(got, "");
}

static void test_read_small(void **state)
{
	int dir = ((struct place *)*state)->dir;
	char buf[8];

	make_file(dir, "f", "0123456789", 10);
	assert_int_equal(gpc_read_small(dir, "f", buf, sizeof buf), 7);
	assert_string_equal(buf, "0123456");
	make_file(dir, "f", "abc", 3);
	assert_int_equal(gpc_read_small(dir, "f", buf, sizeof buf), 3);
	assert_string_equal(buf, "abc");
	assert_int_equal(gpc_read_small(dir, "nothing", buf, sizeof buf), -1);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(gpc_read_small(dir, ".", buf, sizeof buf), -1);
}

static void test_write_all_reports_failure(void **state)
{
	autoclose int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	struct gpc_err err;

	(void)state;
	assert_true(full >= 0);
	assert_int_equal(gpc_write_all(full, "x", 1, &err), GPC_E_SYSTEM);
	assert_int_equal(err.sys, ENOSPC);
	assert_int_equal(gpc_write_all(full, "x", 0, &err), GPC_OK);
	assert_int_equal(gpc_write_all(-1, "x", 1, &err), GPC_E_SYSTEM);
	assert_int_equal(err.sys, EBADF);
}

static void test_mkdirs(void **state)
{
	const struct place *p = *state;
	char path[128];
	struct gpc_err err;
	struct stat st;

	snprintf(path, sizeof path, "%s/a//b/c/", p->path);
	assert_int_equal(gpc_mkdirs(path, 0700, &err), GPC_OK);
	assert_int_equal(gpc_mkdirs(path, 0700, &err), GPC_OK);
	assert_int_equal(stat(path, &st), 0);
	assert_true(S_ISDIR(st.st_mode));
}

static void test_mkdirs_refuses_what_is_no_folder(void **state)
{
	const struct place *p = *state;
	char path[128];
	struct gpc_err err;

	make_file(p->dir, "file", "", 0);
	snprintf(path, sizeof path, "%s/file", p->path);
	assert_true(gpc_mkdirs(path, 0700, &err) < 0);
	assert_non_null(strstr(err.text, "file"));
	snprintf(path, sizeof path, "%s/file/below", p->path);
	assert_true(gpc_mkdirs(path, 0700, &err) < 0);
	assert_true(gpc_mkdirs("", 0700, &err) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_read_file_of_any_size, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_read_file_over_the_limit, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_read_file_that_is_none, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_read_file_does_not_wait_for_a_fifo, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_read_small, set_up, tear_down),
		cmocka_unit_test(test_write_all_reports_failure),
		cmocka_unit_test_setup_teardown(test_mkdirs, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_mkdirs_refuses_what_is_no_folder, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

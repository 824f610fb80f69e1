/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "program/heartbeat.h"
#include "program/pidfile.h"

struct fixture {
	char root[64], path[96];
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);

	strcpy(f->root, "/tmp/gpc-pidfile-XXXXXX");
	assert_non_null(mkdtemp(f->root));
	snprintf(f->path, sizeof f->path, "%s/x", f->root);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	unlink(f->path);
	assert_int_equal(rmdir(f->root), 0);
	free(f);
	return 0;
}

static void put(const struct fixture *f, const char *text)
{
	int fd = open(f->path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	assert_int_equal(gpc_write_all(fd, text, strlen(text), NULL), GPC_OK);
	close(fd);
}

static void our_pid(void **state)
{
	struct fixture *f = *state;
	char want[16], found[64];

	put(f, "something longer than a pid");
	assert_int_equal(gpc_pidfile_write(f->path, NULL), GPC_OK);
	assert_true(gpc_read_small(AT_FDCWD, f->path, found, sizeof found) > 0);
	snprintf(want, sizeof want, "%d", getpid());
	assert_string_equal(found, want);
	gpc_pidfile_remove(f->path);
	assert_int_equal(access(f->path, F_OK), -1);
	gpc_pidfile_remove(f->path);
}

static void of_another(void **state)
{
	struct fixture *f = *state;
	char text[64];

	put(f, "1");
	gpc_pidfile_remove(f->path);
	assert_int_equal(access(f->path, F_OK), 0);
	snprintf(text, sizeof text, "%d1", getpid());
	put(f, text);
	gpc_pidfile_remove(f->path);
	assert_int_equal(access(f->path, F_OK), 0);
}

static void a_path_that_cannot_be(void **state)
{
	struct fixture *f = *state;
	struct gpc_err err;

	assert_true(gpc_pidfile_write(f->root, &err) < 0);
	assert_non_null(strstr(err.text, f->root));
	assert_true(gpc_heartbeat_touch(f->root, &err) < 0);
	assert_non_null(strstr(err.text, f->root));
	assert_true(gpc_pidfile_write("/dev/full", &err) < 0);
	assert_non_null(strstr(err.text, "/dev/full"));
}

static void heartbeat(void **state)
{
	struct fixture *f = *state;
	struct timespec old[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
	char text[16];
	struct stat st;

	umask(022);
	assert_int_equal(gpc_heartbeat_touch(f->path, NULL), GPC_OK);
	assert_int_equal(stat(f->path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0644);
	put(f, "kept");
	assert_int_equal(utimensat(AT_FDCWD, f->path, old, 0), 0);
	assert_int_equal(gpc_heartbeat_touch(f->path, NULL), GPC_OK);
	assert_int_equal(stat(f->path, &st), 0);
	assert_true(st.st_mtime > 1);
	assert_true(gpc_read_small(AT_FDCWD, f->path, text, sizeof text) > 0);
	assert_string_equal(text, "kept");
}

#define test(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(our_pid),
		test(of_another),
		test(a_path_that_cannot_be),
		test(heartbeat),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

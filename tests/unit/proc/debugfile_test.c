/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/debugfile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/io.h"

/* A folder of its own, with copies of fixtures. */
struct folder {
	char path[256];
};

static void join(const struct folder *f, const char *name, char ret[512])
{
	snprintf(ret, 512, "%s/%s", f->path, name);
}

static void copy(const struct folder *f, const char *fixture, const char *name)
{
	char from[512], to[512];
	autofree char *bytes = NULL;
	autoclose int fd = -1;
	size_t n;

	snprintf(from, sizeof from, "%s/%s", FIXTURES, fixture);
	join(f, name, to);
	assert_int_equal(gpc_read_file(AT_FDCWD, from, 1 << 20, &bytes, &n, NULL), GPC_OK);
	fd = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, bytes, n), n);
}

static int set_up(void **state)
{
	const char *base = getenv("TMPDIR");
	struct folder *f = calloc(1, sizeof *f);
	char debug[512];

	snprintf(f->path, sizeof f->path, "%s/debugfile-XXXXXX", base ? base : "/tmp");
	assert_non_null(mkdtemp(f->path));
	join(f, ".debug", debug);
	assert_int_equal(mkdir(debug, 0700), 0);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	static const char *const names[] = {"a.so", "lib.debug", "noid.debug", ".debug/lib.debug",
					    ".debug/noid.debug"};
	struct folder *f = *state;
	char path[512];

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		join(f, names[i], path);
		unlink(path);
	}
	join(f, ".debug", path);
	rmdir(path);
	rmdir(f->path);
	free(f);
	return 0;
}

/* The inode of what is found for a.so; 0: nothing. */
static ino_t found(const struct folder *f)
{
	char path[512];
	struct gpc_debugfiles files;
	autoclose int file = -1;
	autoclose int fd = -1;
	struct stat st;

	join(f, "a.so", path);
	file = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(file >= 0);
	files = gpc_debugfiles_open(getpid(), path, file);
	fd = files.own;
	assert_int_equal(files.shared, -1);
	return fd >= 0 && fstat(fd, &st) == 0 ? st.st_ino : 0;
}

static ino_t inode(const struct folder *f, const char *name)
{
	char path[512];
	struct stat st;

	join(f, name, path);
	assert_int_equal(stat(path, &st), 0);
	return st.st_ino;
}

static void finds_it_beside_the_file(void **state)
{
	const struct folder *f = *state;

	copy(f, "linked.so", "a.so");
	assert_int_equal(found(f), 0);
	copy(f, "lib.debug", ".debug/lib.debug");
	assert_int_equal(found(f), inode(f, ".debug/lib.debug"));
	copy(f, "lib.debug", "lib.debug");
	assert_int_equal(found(f), inode(f, "lib.debug"));
	/* One that is another's is passed over. */
	copy(f, "noid.debug", "lib.debug");
	assert_int_equal(found(f), inode(f, ".debug/lib.debug"));
}

static void tells_by_the_crc(void **state)
{
	const struct folder *f = *state;

	copy(f, "crc.so", "a.so");
	copy(f, "lib.so", "noid.debug");
	assert_int_equal(found(f), 0);
	copy(f, "noid.debug", "noid.debug");
	assert_int_equal(found(f), inode(f, "noid.debug"));
}

static void does_not_look_for_what_is_there(void **state)
{
	const struct folder *f = *state;

	copy(f, "lines5.so", "a.so");
	assert_int_equal(found(f), 0);
}

static void never_waits_for_a_pipe(void **state)
{
	const struct folder *f = *state;
	char path[512];

	copy(f, "linked.so", "a.so");
	join(f, "lib.debug", path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(found(f), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(finds_it_beside_the_file, set_up, tear_down),
		cmocka_unit_test_setup_teardown(tells_by_the_crc, set_up, tear_down),
		cmocka_unit_test_setup_teardown(does_not_look_for_what_is_there, set_up, tear_down),
		cmocka_unit_test_setup_teardown(never_waits_for_a_pipe, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

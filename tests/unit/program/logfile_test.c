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
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <signal.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "program/logfile.h"

struct fixture {
	char root[64], path[128];
	struct gpc_logfile file;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);

	strcpy(f->root, "/tmp/gpc-logfile-XXXXXX");
	assert_non_null(mkdtemp(f->root));
	snprintf(f->path, sizeof f->path, "%s/a/b/x.log", f->root);
	f->file.fd = -1;
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	char command[96];

	gpc_logfile_deinit(&f->file);
	snprintf(command, sizeof command, "rm -rf %s", f->root);
	assert_int_equal(system(command), 0);
	free(f);
	return 0;
}

static void assert_text(const struct fixture *f, const char *suffix, const char *want)
{
	char path[160];
	autofree char *text = NULL;

	snprintf(path, sizeof path, "%s%s", f->path, suffix);
	if (!want) {
		assert_int_equal(access(path, F_OK), -1);
		return;
	}
	assert_int_equal(gpc_read_file(AT_FDCWD, path, 10000, &text, NULL, NULL), GPC_OK);
	assert_string_equal(text, want);
}

static gpc_status put(struct fixture *f, const char *text)
{
	return gpc_logfile_write(&f->file, text, strlen(text), NULL);
}

static void rotates(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(gpc_logfile_init(&f->file, f->path, 10, 2, NULL), GPC_OK);
	assert_int_equal(put(f, "12345\n"), GPC_OK);
	assert_int_equal(put(f, "789\n"), GPC_OK); /* ten bytes: just fits */
	assert_text(f, "", "12345\n789\n");
	assert_text(f, ".1", NULL);
	assert_int_equal(put(f, "b\n"), GPC_OK);
	assert_text(f, ".1", "12345\n789\n");
	assert_int_equal(put(f, "longer than the limit\n"), GPC_OK);
	assert_int_equal(put(f, "d\n"), GPC_OK);
	assert_text(f, "", "d\n");
	assert_text(f, ".1", "longer than the limit\n");
	assert_text(f, ".2", "b\n");
	assert_text(f, ".3", NULL);
}

static void goes_on_where_it_was(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(gpc_logfile_init(&f->file, f->path, 10, 1, NULL), GPC_OK);
	assert_int_equal(put(f, "1234567\n"), GPC_OK);
	gpc_logfile_deinit(&f->file);
	assert_int_equal(gpc_logfile_init(&f->file, f->path, 10, 1, NULL), GPC_OK);
	assert_int_equal(put(f, "abc\n"), GPC_OK);
	assert_text(f, "", "abc\n");
	assert_text(f, ".1", "1234567\n");
}

static void a_gap_in_the_row(void **state)
{
	struct fixture *f = *state;
	char path[160];

	assert_int_equal(gpc_logfile_init(&f->file, f->path, 4, 1000000000, NULL), GPC_OK);
	snprintf(path, sizeof path, "%s.2", f->path);
	close(open(path, O_CREAT | O_WRONLY, 0644));
	assert_int_equal(put(f, "abc\n"), GPC_OK);
	assert_int_equal(put(f, "def\n"), GPC_OK);
	assert_text(f, ".1", "abc\n");
	assert_text(f, ".2", "");
	assert_int_equal(put(f, "ghi\n"), GPC_OK);
	assert_text(f, ".1", "def\n");
	assert_text(f, ".2", "abc\n");
	assert_text(f, ".3", "");
}

static void moved_away(void **state)
{
	struct fixture *f = *state;
	char moved[160];

	snprintf(moved, sizeof moved, "%s.moved", f->path);
	assert_int_equal(gpc_logfile_init(&f->file, f->path, 1000, 1, NULL), GPC_OK);
	assert_int_equal(put(f, "one\n"), GPC_OK);
	assert_int_equal(rename(f->path, moved), 0);
	assert_int_equal(put(f, "two\n"), GPC_OK);
	assert_int_equal(gpc_logfile_reopen(&f->file, NULL), GPC_OK);
	assert_int_equal(put(f, "three\n"), GPC_OK);
	assert_text(f, ".moved", "one\ntwo\n");
	assert_text(f, "", "three\n");
}

/* To rename what is no file would take it from everybody. */
static void a_pipe_is_not_rotated(void **state)
{
	struct fixture *f = *state;
	autoclose int reader = -1;
	struct stat st;
	char path[128];

	snprintf(path, sizeof path, "%s/pipe", f->root);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_true(gpc_logfile_init(&f->file, path, 2, 1, NULL) < 0); /* and does not hang */
	assert_true(put(f, "lost\n") < 0);
	reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	assert_int_equal(gpc_logfile_reopen(&f->file, NULL), GPC_OK);
	assert_int_equal(put(f, "abc\n"), GPC_OK);
	assert_int_equal(put(f, "def\n"), GPC_OK);
	assert_int_equal(lstat(path, &st), 0);
	assert_true(S_ISFIFO(st.st_mode));
}

static void a_file_in_the_way(void **state)
{
	struct fixture *f = *state;
	struct gpc_err err;
	char path[128];

	snprintf(path, sizeof path, "%s/a", f->root);
	close(open(path, O_CREAT | O_WRONLY, 0644));
	assert_true(gpc_logfile_init(&f->file, f->path, 10, 1, &err) < 0);
	assert_non_null(strstr(err.text, path));
	assert_true(put(f, "lost\n") < 0);
	unlink(path);
	assert_int_equal(gpc_logfile_reopen(&f->file, &err), GPC_OK);
	assert_int_equal(put(f, "kept\n"), GPC_OK);
	assert_text(f, "", "kept\n");
}

/* As when descriptors or inodes have run out while the file was rotated. */
static void a_file_that_cannot_be_opened_anew(void **state)
{
	struct fixture *f = *state;
	struct rlimit old, none;
	struct gpc_err err = {0};

	assert_int_equal(gpc_logfile_init(&f->file, f->path, 4, 1, NULL), GPC_OK);
	assert_int_equal(put(f, "abc\n"), GPC_OK);
	getrlimit(RLIMIT_NOFILE, &old);
	none = (struct rlimit){0, old.rlim_max};
	setrlimit(RLIMIT_NOFILE, &none);
	assert_true(gpc_logfile_write(&f->file, "lost\n", 5, &err) < 0);
	assert_non_null(strstr(err.text, f->path));
	setrlimit(RLIMIT_NOFILE, &old);
	err.text[0] = '\0';
	assert_true(gpc_logfile_write(&f->file, "lost\n", 5, &err) <
		    0); /* too early to try again */
	assert_string_equal(err.text, "");
	assert_true(f->file.retry_ns > gpc_now_ns() + GPC_SECOND_NS);
	f->file.retry_ns = gpc_now_ns();
	assert_int_equal(put(f, "def\n"), GPC_OK);
	assert_text(f, "", "def\n");
	assert_text(f, ".1", "abc\n");
}

static void a_full_disk(void **state)
{
	struct fixture *f = *state;
	struct rlimit old, small;
	struct gpc_err err;

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(gpc_logfile_init(&f->file, f->path, 1000, 1, NULL), GPC_OK);
	getrlimit(RLIMIT_FSIZE, &old);
	small = (struct rlimit){4, old.rlim_max};
	assert_int_equal(put(f, "abcd"), GPC_OK);
	setrlimit(RLIMIT_FSIZE, &small);
	assert_true(gpc_logfile_write(&f->file, "e", 1, &err) < 0);
	setrlimit(RLIMIT_FSIZE, &old);
	assert_non_null(strstr(err.text, f->path));
	assert_int_equal(put(f, "f"), GPC_OK);
	assert_text(f, "", "abcdf");
}

static void a_file_that_cannot_move_grows(void **state)
{
	struct fixture *f = *state;
	char path[160];

	assert_int_equal(gpc_logfile_init(&f->file, f->path, 4, 1, NULL), GPC_OK);
	snprintf(path, sizeof path, "%s.1", f->path);
	assert_int_equal(mkdir(path, 0755), 0);
	assert_int_equal(put(f, "abc\n"), GPC_OK);
	assert_true(put(f, "def\n") < 0);
	assert_text(f, "", "abc\ndef\n");
}

#define test(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(rotates),
		test(goes_on_where_it_was),
		test(a_gap_in_the_row),
		test(moved_away),
		test(a_pipe_is_not_rotated),
		test(a_file_in_the_way),
		test(a_full_disk),
		test(a_file_that_cannot_move_grows),
		test(a_file_that_cannot_be_opened_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

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

#include "source/threads.h"

/* A tree like /proc in a folder of the test. */
struct fixture {
	char root[64];
	struct gpc_threads threads;
};

static void write_name(const struct fixture *f, int pid, int tid, const char *name)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof path, "%s/%d", f->root, pid);
	mkdir(path, 0700);
	snprintf(path, sizeof path, "%s/%d/task", f->root, pid);
	mkdir(path, 0700);
	snprintf(path, sizeof path, "%s/%d/task/%d", f->root, pid, tid);
	mkdir(path, 0700);
	snprintf(path, sizeof path, "%s/%d/task/%d/comm", f->root, pid, tid);
	file = fopen(path, "w");
	assert_non_null(file);
	fprintf(file, "%s\n", name);
	fclose(file);
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);

	snprintf(f->root, sizeof f->root, "/tmp/gpc-threads-XXXXXX");
	assert_non_null(mkdtemp(f->root));
	f->threads.proc_fd = open(f->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	char command[128];

	gpc_threads_deinit(&f->threads);
	close(f->threads.proc_fd);
	snprintf(command, sizeof command, "rm -rf %s", f->root);
	assert_int_equal(system(command), 0);
	free(f);
	return 0;
}

static void a_name_is_read_once(void **state)
{
	struct fixture *f = *state;

	write_name(f, 10, 11, "worker");
	gpc_threads_seen(&f->threads, 1, 10, 11, 0);
	assert_string_equal(gpc_threads_name(&f->threads, 1, 11), "worker");
	write_name(f, 10, 11, "other");
	gpc_threads_seen(&f->threads, 1, 10, 11, 0);
	assert_string_equal(gpc_threads_name(&f->threads, 1, 11), "worker");
	gpc_threads_renamed(&f->threads, 11, "told", 0);
	assert_string_equal(gpc_threads_name(&f->threads, 1, 11), "told");
}

static void a_thread_that_is_gone_keeps_what_was_told(void **state)
{
	struct fixture *f = *state;

	gpc_threads_renamed(&f->threads, 12, "brief", 0);
	assert_string_equal(gpc_threads_name(&f->threads, 1, 12), "");
	gpc_threads_seen(&f->threads, 1, 10, 12, 0);
	assert_string_equal(gpc_threads_name(&f->threads, 1, 12), "brief");
	gpc_threads_seen(&f->threads, 1, 10, 13, 0);
	assert_string_equal(gpc_threads_name(&f->threads, 1, 13), "");
}

static void a_number_used_again_is_another_thread(void **state)
{
	struct fixture *f = *state;

	write_name(f, 10, 11, "worker");
	gpc_threads_seen(&f->threads, 1, 10, 11, 0);
	gpc_threads_seen(&f->threads, 2, 20, 11, 0);
	assert_string_equal(gpc_threads_name(&f->threads, 1, 11), "");
	assert_string_equal(gpc_threads_name(&f->threads, 2, 11), "");
}

static void idle_threads_are_forgotten(void **state)
{
	struct fixture *f = *state;

	for (int tid = 100; tid < 200; tid++)
		gpc_threads_seen(&f->threads, 1, 10, tid, tid < 150 ? 0 : 1);
	write_name(f, 10, 11, "worker");
	gpc_threads_seen(&f->threads, 1, 10, 11, 1);
	gpc_threads_trim(&f->threads, 2);
	assert_int_equal(f->threads.list.n, 51);
	assert_string_equal(gpc_threads_name(&f->threads, 1, 11), "worker");
}

#define row_of(t) cmocka_unit_test_setup_teardown(t, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		row_of(a_name_is_read_once),
		row_of(a_thread_that_is_gone_keeps_what_was_told),
		row_of(a_number_used_again_is_another_thread),
		row_of(idle_threads_are_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

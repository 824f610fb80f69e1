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
#include <unistd.h>

#include "base/io.h"
#include "program/usage.h"

struct fixture {
	char root[64];
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);

	strcpy(f->root, "/tmp/gpc-usage-XXXXXX");
	assert_non_null(mkdtemp(f->root));
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	char command[96];

	snprintf(command, sizeof command, "rm -rf %s", f->root);
	assert_int_equal(system(command), 0);
	free(f);
	return 0;
}

static void put(const struct fixture *f, const char *dir, const char *name, const char *text)
{
	char path[200];
	int fd;

	snprintf(path, sizeof path, "%s%s", f->root, dir);
	assert_int_equal(gpc_mkdirs(path, 0755, NULL), GPC_OK);
	strcat(path, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	assert_int_equal(gpc_write_all(fd, text, strlen(text), NULL), GPC_OK);
	close(fd);
}

static void version_2(void **state)
{
	struct fixture *f = *state;
	struct gpc_usage u;

	put(f, "/pod/x", "/cpu.stat", "usage_usec 1500\nuser_usec 1000\n");
	put(f, "/pod/x", "/memory.current", "4096\n");
	assert_int_equal(gpc_usage_read(f->root, "/pod/x", &u, NULL), GPC_OK);
	assert_int_equal(u.cpu_ns, 1500000);
	assert_int_equal(u.memory_bytes, 4096);
	assert_int_equal(u.highest_bytes, 0);
	put(f, "/pod/x", "/memory.peak", "8192\n");
	assert_int_equal(gpc_usage_read(f->root, "/pod/x", &u, NULL), GPC_OK);
	assert_int_equal(u.highest_bytes, 8192);
	assert_int_equal(gpc_usage_read(f->root, "", &u, NULL), GPC_E_UNSUPPORTED);
}

static void version_1(void **state)
{
	struct fixture *f = *state;
	struct gpc_usage u;

	put(f, "/cpuacct", "/cpuacct.usage", "123456789012\n");
	put(f, "/memory", "/memory.usage_in_bytes", "10\n");
	put(f, "/memory", "/memory.max_usage_in_bytes", "20\n");
	assert_int_equal(gpc_usage_read(f->root, "", &u, NULL), GPC_OK);
	assert_true(u.cpu_ns == UINT64_C(123456789012));
	assert_int_equal(u.memory_bytes, 10);
	assert_int_equal(u.highest_bytes, 20);
}

static void what_makes_no_sense(void **state)
{
	struct fixture *f = *state;
	struct gpc_usage u;
	struct gpc_err err;

	put(f, "", "/cpu.stat", "nr_periods 1\n");
	put(f, "", "/memory.current", "10\n");
	assert_int_equal(gpc_usage_read(f->root, "", &u, &err), GPC_E_UNSUPPORTED);
	assert_non_null(strstr(err.text, f->root));
	put(f, "", "/cpu.stat", "usage_usec much\n");
	assert_int_equal(gpc_usage_read(f->root, "", &u, &err), GPC_E_UNSUPPORTED);
	put(f, "", "/cpu.stat", "usage_usec 1\n");
	put(f, "", "/memory.current", "");
	assert_int_equal(gpc_usage_read(f->root, "", &u, &err), GPC_E_UNSUPPORTED);
}

#define test(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(version_2),
		test(version_1),
		test(what_makes_no_sense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

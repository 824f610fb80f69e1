/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "proc/cgroupfs.h"

static void init_with(struct gpc_cgroupfs *c, const char *mountinfo)
{
	char path[] = "/tmp/gpc-mountinfo-XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, mountinfo, strlen(mountinfo)), strlen(mountinfo));
	close(fd);
	gpc_cgroupfs_init(c, path);
	unlink(path);
}

#define ROOT   "1 0 8:1 / / rw shared:1 - ext4 /dev/sda1 rw\n"
#define TWO    "31 23 0:28 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
#define MEMORY "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
#define PERF   "36 31 0:33 / /sys/fs/cgroup/perf_event rw - cgroup cgroup rw,perf_event\n"
#define BESIDE "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"

static void test_choice(void **state)
{
	static const struct {
		const char *mountinfo, *mount;
		bool is_unified;
	} rows[] = {
		{ROOT TWO, "/sys/fs/cgroup", true},
		{ROOT MEMORY BESIDE, "/sys/fs/cgroup/unified", false},
		{ROOT BESIDE MEMORY, "/sys/fs/cgroup/unified", false},
		{ROOT MEMORY PERF BESIDE, "/sys/fs/cgroup/perf_event", false},
		{ROOT BESIDE PERF, "/sys/fs/cgroup/perf_event", false},
		{ROOT MEMORY, NULL, false},
		{ROOT, NULL, false},
		{"31 23 0:28\n- cgroup2\nx - cgroup2 y\n", NULL, false},
		{"", NULL, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct gpc_cgroupfs c;

		init_with(&c, rows[i].mountinfo);
		if (rows[i].mount)
			assert_string_equal(c.mount, rows[i].mount);
		else
			assert_null(c.mount);
		assert_int_equal(c.is_unified, rows[i].is_unified);
		gpc_cgroupfs_deinit(&c);
	}
}

static void test_nothing_there(void **state)
{
	struct gpc_cgroupfs c;

	(void)state;
	gpc_cgroupfs_init(&c, "/nowhere/mountinfo");
	assert_false(c.is_unified);
	assert_null(gpc_cgroupfs_path(&c, 1));
	gpc_cgroupfs_deinit(&c);
	init_with(&c, "31 23 0:28 / /nowhere/cgroup rw - cgroup2 cgroup2 rw\n");
	assert_null(gpc_cgroupfs_path(&c, 1));
	gpc_cgroupfs_deinit(&c);
}

/* A group of our own in the hierarchy that this machine has. */
static void test_real_group(void **state)
{
	char path[4200], name[64], *found;
	struct gpc_cgroupfs c;
	struct stat st;
	int ok;

	(void)state;
	gpc_cgroupfs_init(&c, "/proc/self/mountinfo");
	snprintf(name, sizeof name, "/gpc-cgroupfs-test-%d", getpid());
	snprintf(path, sizeof path, "%s%s", c.mount ? c.mount : "/nowhere", name);
	ok = mkdir(path, 0755) == 0;
	if (!ok || stat(path, &st) < 0) {
		gpc_cgroupfs_deinit(&c);
		skip(); /* not root, or no control groups */
	}
	found = gpc_cgroupfs_path(&c, st.st_ino);
	rmdir(path);
	assert_non_null(found);
	assert_string_equal(found, name);
	free(found);
	assert_null(gpc_cgroupfs_path(&c, st.st_ino)); /* it is gone */
	stat(c.mount, &st);
	found = gpc_cgroupfs_path(&c, st.st_ino);
	assert_non_null(found);
	assert_string_equal(found, "/");
	free(found);
	gpc_cgroupfs_deinit(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_choice),
		cmocka_unit_test(test_nothing_there),
		cmocka_unit_test(test_real_group),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

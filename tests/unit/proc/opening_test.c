/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "proc/opening.h"

/* A FUSE file system that nobody serves: whoever opens a path in it waits until its
 * descriptor is closed. -1: not allowed here. */
static int mount_silent(const char *dir)
{
	char options[100];
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);

	if (fd < 0 || unshare(CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) {
		if (fd >= 0)
			close(fd);
		return -1;
	}
	snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=0,group_id=0", fd);
	if (mount("silent", dir, "fuse", MS_NOSUID | MS_NODEV, options) == 0)
		return fd;
	close(fd);
	return -1;
}

static void a_file_system_that_does_not_answer(void **state)
{
	char dir[] = "/tmp/gpc-opening-XXXXXX", path[64];
	struct gpc_debugfiles debug;
	struct gpc_patient *p;
	int fuse, fd, self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	uint64_t begin;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof path, "%s/file", dir);
	fuse = mount_silent(dir);
	if (fuse < 0) {
		rmdir(dir);
		close(self);
		skip();
	}
	assert_int_equal(gpc_patient_new("gpc-test", &p, NULL), GPC_OK);
	begin = gpc_now_ns();
	assert_int_equal(gpc_opening_file(p, 0, path, NULL), GPC_E_TIMEOUT);
	assert_true(gpc_now_ns() - begin < 3 * GPC_OPENING_NS);
	/* Others are opened all the same. */
	fd = gpc_opening_file(p, 0, "/proc/self/exe", NULL);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(gpc_opening_debug(p, 0, "/proc/self/exe", self, &debug), GPC_OK);
	assert_int_equal(gpc_opening_file(p, 0, "/no/such/file", NULL), -1);
	close(fuse);
	close(self);
	gpc_patient_free(p);
	assert_int_equal(umount2(dir, MNT_DETACH), 0);
	assert_int_equal(rmdir(dir), 0);
}

static void files_are_opened(void **state)
{
	struct gpc_patient *p;
	struct stat st;
	int fd;

	(void)state;
	assert_int_equal(gpc_patient_new("gpc-test", &p, NULL), GPC_OK);
	fd = gpc_opening_file(p, getpid(), "/proc/self/exe", &st);
	if (fd < 0) /* /proc/PID/root needs rights */
		fd = gpc_opening_file(p, 0, "/proc/self/exe", &st);
	assert_true(fd >= 0);
	assert_true(S_ISREG(st.st_mode) && st.st_size > 0);
	close(fd);
	assert_int_equal(gpc_opening_file(p, 0, "/dev/null", NULL), -1);
	gpc_patient_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_are_opened),
		cmocka_unit_test(a_file_system_that_does_not_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cmocka.h>

#include "base/io.h"
#include "child.h"
#include "proc/root.h"

/* A process whose root is a folder of the test's, with all that could lead out
 * of it or hold us up. */
struct cage {
	char dir[40];
	pid_t pid;
};

static void put(const char *dir, const char *name, const char *text)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof path, "%s/%s", dir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void link_to(const char *dir, const char *name, const char *to)
{
	char path[128];

	snprintf(path, sizeof path, "%s/%s", dir, name);
	assert_int_equal(symlink(to, path), 0);
}

static int enter_cage(void *arg)
{
	const char *dir = arg;

	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    chdir(dir) < 0)
		return 1;
	if (mount("proc", "proc", "proc", 0, NULL) < 0 || chroot(".") < 0 || chdir("/") < 0)
		return 2;
	return 0;
}

static int set_up(void **state)
{
	struct cage *c = calloc(1, sizeof *c);
	char path[128];

	strcpy(c->dir, "/tmp/gpc-cage-XXXXXX");
	assert_non_null(mkdtemp(c->dir));
	snprintf(path, sizeof path, "%s/proc", c->dir);
	mkdir(path, 0755);
	snprintf(path, sizeof path, "%s/etc", c->dir);
	mkdir(path, 0755);
	put(c->dir, "etc/passwd", "the cage's own");
	put(c->dir, "file", "regular");
	link_to(c->dir, "absolute", "/etc/passwd");
	link_to(c->dir, "upwards", "../../../../../etc/passwd");
	link_to(c->dir, "loop", "loop");
	link_to(c->dir, "dangling", "nothing");
	link_to(c->dir, "magic", "/proc/self/root/etc/passwd");
	link_to(c->dir, "etc/chain", "../upwards");
	snprintf(path, sizeof path, "%s/fifo", c->dir);
	assert_int_equal(mkfifo(path, 0600), 0);
	snprintf(path, sizeof path, "%s/device", c->dir);
	if (mknod(path, S_IFCHR | 0600, makedev(1, 5)) < 0)
		link_to(c->dir, "device", "fifo");
	c->pid = child_start(enter_cage, c->dir);
	*state = c;
	return 0;
}

static int tear_down(void **state)
{
	struct cage *c = *state;
	char command[100];

	child_end(c->pid);
	snprintf(command, sizeof command, "rm -rf --one-file-system '%s'", c->dir);
	assert_int_equal(system(command), 0);
	free(c);
	return 0;
}

/* Chroot needs rights that not everybody has. */
static const struct cage *caged(void **state)
{
	const struct cage *c = *state;

	if (!c->pid)
		skip();
	return c;
}

static void check_text(const struct cage *c, const char *path, const char *text)
{
	char got[64] = "";
	struct stat st = {0};
	int fd = -1;

	assert_int_equal(gpc_root_open(c->pid, path, &fd, &st, NULL), GPC_OK);
	assert_true(S_ISREG(st.st_mode));
	assert_int_equal(st.st_size, strlen(text));
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	assert_int_equal(read(fd, got, sizeof got - 1), strlen(text));
	assert_string_equal(got, text);
	close(fd);
}

static void check_refused(const struct cage *c, const char *path, gpc_status status)
{
	struct gpc_err err = {0};
	int fd = -7;
	gpc_status st = gpc_root_open(c->pid, path, &fd, NULL, &err);

	if (st != status)
		fail_msg("%s: %d, %s", path, st, err.text);
	assert_int_equal(fd, -7);
	assert_true(err.text[0]);
}

static void test_regular_files(void **state)
{
	const struct cage *c = caged(state);

	check_text(c, "/file", "regular");
	check_text(c, "file", "regular");
	check_text(c, "/etc/../file", "regular");
}

static void test_nothing_leads_out(void **state)
{
	const struct cage *c = caged(state);

	check_text(c, "/absolute", "the cage's own");
	check_text(c, "/upwards", "the cage's own");
	check_text(c, "/etc/chain", "the cage's own");
	check_text(c, "/../../../../etc/passwd", "the cage's own");
	/* Links of /proc are no names; they lead wherever they like. */
	check_refused(c, "/magic", GPC_E_SYSTEM);
	check_refused(c, "/proc/self/root/etc/passwd", GPC_E_SYSTEM);
	check_refused(c, "/proc/self/exe", GPC_E_SYSTEM);
}

/* Opening a fifo would wait for a writer, a device may do anything. */
static void test_nothing_holds_us_up(void **state)
{
	const struct cage *c = caged(state);

	alarm(20);
	check_refused(c, "/fifo", GPC_E_UNSUPPORTED);
	check_refused(c, "/device", GPC_E_UNSUPPORTED);
	check_refused(c, "/etc", GPC_E_UNSUPPORTED);
	check_refused(c, "/", GPC_E_UNSUPPORTED);
	alarm(0);
}

static void test_what_is_not_there(void **state)
{
	const struct cage *c = caged(state);
	int fd;

	check_refused(c, "/missing", GPC_E_GONE);
	check_refused(c, "/dangling", GPC_E_GONE);
	check_refused(c, "/loop", GPC_E_SYSTEM);
	check_refused(c, "", GPC_E_GONE);
	assert_int_equal(gpc_root_open(0x3fffffff, "/file", &fd, NULL, NULL), GPC_E_GONE);
}

static void test_paths_of_our_own(void **state)
{
	const struct cage *c = *state;
	char path[128], exe[256] = "";
	struct stat st = {0}, ours;
	int fd = -1;

	snprintf(path, sizeof path, "%s/fifo", c->dir);
	alarm(20);
	assert_int_equal(gpc_regular_open(path, &fd, NULL, NULL), GPC_E_UNSUPPORTED);
	alarm(0);
	assert_int_equal(gpc_regular_open("/proc/self/exe", &fd, &st, NULL), GPC_OK);
	close(fd);
	assert_true(readlink("/proc/self/exe", exe, sizeof exe - 1) > 0);
	assert_int_equal(stat(exe, &ours), 0);
	assert_int_equal(st.st_ino, ours.st_ino);
	assert_int_equal(gpc_regular_open("/nowhere", &fd, NULL, NULL), GPC_E_GONE);
}

/* ---- numbers and users ---------------------------------------------------------- */

/* The first child of a new pid namespace is 1 there; its parent tells us who. */
static int first_of_its_kind(void *arg)
{
	const int *out = arg;
	int ready[2];
	char byte = 0;
	pid_t pid;

	if (pipe(ready) < 0 || unshare(CLONE_NEWPID) < 0)
		return 1;
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		/* Who is killed before this leaves it behind. */
		if (write(ready[1], &byte, 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	if (read(ready[0], &byte, 1) != 1)
		return 1;
	return write(out[1], &pid, sizeof pid) == sizeof pid ? 0 : 2;
}

static void test_number_inside(void **state)
{
	int fds[2];
	pid_t parent, pid = 0;

	(void)state;
	assert_int_equal(gpc_ns_pid(getpid()), getpid());
	assert_int_equal(gpc_ns_pid(0x3fffffff), 0);
	assert_int_equal(pipe(fds), 0);
	parent = child_start(first_of_its_kind, fds);
	if (parent) {
		assert_int_equal(read(fds[0], &pid, sizeof pid), sizeof pid);
		assert_int_equal(gpc_ns_pid(pid), 1);
	}
	child_end(parent);
	close(fds[0]);
	close(fds[1]);
	if (!parent)
		skip();
}

static int become_nobody(void *arg)
{
	(void)arg;
	return setgid(65533) < 0 || setuid(65534) < 0;
}

/* The kernel gives /proc/PID of a process that has dropped its rights to root,
 * so the folder's owner is not the process's user. */
static void test_user_after_dropping_rights(void **state)
{
	uid_t uid = 7;
	gid_t gid = 7;
	pid_t pid = child_start(become_nobody, NULL);

	(void)state;
	if (!pid)
		skip();
	assert_true(gpc_proc_user(pid, &uid, &gid));
	child_end(pid);
	assert_int_equal(uid, 65534);
	assert_int_equal(gid, 65533);
	assert_false(gpc_proc_user(0x3fffffff, &uid, &gid));
}

#define cage_test(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cage_test(test_regular_files),
		cage_test(test_nothing_leads_out),
		cage_test(test_nothing_holds_us_up),
		cage_test(test_what_is_not_there),
		cage_test(test_paths_of_our_own),
		cmocka_unit_test(test_number_inside),
		cmocka_unit_test(test_user_after_dropping_rights),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>
#include <sys/wait.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "child.h"
#include "proc/target.h"

static struct gpc_target_view *read_view(pid_t pid)
{
	struct gpc_target_id id = {.pid = pid, .id = 77, .exec_count = 3};
	struct gpc_target_view *v = NULL;
	struct gpc_err err;

	if (gpc_target_read(&id, &v, &err) < 0)
		fail_msg("%s", err.text);
	return v;
}

static void check_maps(const struct gpc_target *t)
{
	bool is_exe_mapped = false;

	assert_true(t->n_maps > 5);
	assert_int_equal(t->map_stride, sizeof(struct gpc_map));
	for (uint32_t i = 0; i < t->n_maps; i++) {
		const struct gpc_map *m = &t->maps[i];

		assert_true(m->start < m->end);
		assert_true(i == 0 || t->maps[i - 1].end <= m->start);
		assert_null(strchr(m->path, '\n'));
		if (m->prot & GPC_MAP_EXEC && strcmp(m->path, t->exe) == 0)
			is_exe_mapped = m->inode != 0;
	}
	assert_true(is_exe_mapped);
}

static void test_a_program(void **state)
{
	char *argv[] = {"odd name", "1000", "0", NULL};
	static const char expected[] = "odd name\0001000\0000";
	char path[64];
	pid_t pid = child_exec("/bin/sleep", argv);
	struct gpc_target_view *v;
	const struct gpc_target *t;
	struct stat exe;

	(void)state;
	assert_true(child_has_mapped(pid, "/libc.so"));
	v = read_view(pid);
	t = &v->target;
	assert_int_equal(t->struct_size, sizeof *t);
	assert_int_equal(t->pid, pid);
	assert_int_equal(t->ns_pid, pid);
	assert_int_equal(t->ppid, getpid());
	assert_int_equal(t->id, 77);
	assert_int_equal(t->exec_count, 3);
	assert_int_equal(t->uid, geteuid());
	assert_string_equal(t->comm, "sleep");
	assert_int_equal(t->cmdline_len, sizeof expected);
	assert_memory_equal(t->cmdline, expected, sizeof expected);
	assert_int_equal(t->libc, 1);
	assert_true(t->machine == EM_X86_64 || t->machine == EM_AARCH64);
	assert_true(t->start_time > 0);
	assert_string_equal(t->container, "");
	snprintf(path, sizeof path, "/proc/%d/exe", pid);
	assert_int_equal(stat(path, &exe), 0);
	assert_int_equal(v->exe_ino, exe.st_ino);
	assert_int_equal(v->exe_dev, exe.st_dev);
	check_maps(t);
	gpc_target_put(v);
	child_end(pid);
}

static void test_end_is_seen(void **state)
{
	pid_t pid = child_start(NULL, NULL);
	struct gpc_target_view *v = read_view(pid), *again = NULL;
	struct gpc_target_id id = {.pid = pid};
	struct pollfd p = {.fd = v->target.pidfd, .events = POLLIN};
	struct gpc_err err = {0};

	(void)state;
	assert_true(gpc_target_lives(v));
	assert_int_equal(poll(&p, 1, 0), 0);
	kill(pid, SIGKILL);
	assert_int_equal(poll(&p, 1, 20000), 1);
	/* A zombie has no memory to look at. */
	assert_false(gpc_target_lives(v));
	assert_int_equal(gpc_target_read(&id, &again, &err), GPC_E_GONE);
	waitpid(pid, NULL, 0);
	assert_false(gpc_target_lives(v));
	assert_int_equal(gpc_target_read(&id, &again, &err), GPC_E_GONE);
	assert_null(again);
	gpc_target_put(v);
}

static void test_same_number_is_not_the_same_process(void **state)
{
	pid_t pid = child_start(NULL, NULL);
	struct gpc_target_view *v = read_view(pid);

	(void)state;
	assert_true(gpc_target_lives(v));
	v->target.start_time--;
	assert_false(gpc_target_lives(v));
	gpc_target_put(v);
	child_end(pid);
}

static void test_executable_that_was_deleted(void **state)
{
	char dir[] = "/tmp/gpc-target-XXXXXX", path[64];
	char *argv[] = {"x", "1000", NULL};
	struct gpc_target_view *v;
	struct stat st;
	pid_t pid;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof path, "%s/a (b) c", dir);
	assert_int_equal(child_copy("/bin/sleep", path), 0);
	pid = child_exec(path, argv);
	assert_int_equal(stat(path, &st), 0);
	unlink(path);
	rmdir(dir);
	v = read_view(pid);
	assert_string_equal(v->target.exe, path);
	assert_string_equal(v->target.comm, "a (b) c");
	assert_int_equal(v->exe_ino, st.st_ino);
	check_maps(&v->target);
	gpc_target_put(v);
	child_end(pid);
}

static int become_nobody(void *arg)
{
	(void)arg;
	return setgid(65534) < 0 || setuid(65534) < 0;
}

static void test_user_after_dropping_rights(void **state)
{
	pid_t pid = child_start(become_nobody, NULL);
	struct gpc_target_view *v;
	uint32_t uid;

	(void)state;
	if (!pid)
		skip();
	v = read_view(pid);
	uid = v->target.uid;
	gpc_target_put(v);
	child_end(pid);
	assert_int_equal(uid, 65534);
}

static void test_references(void **state)
{
	pid_t pid = child_start(NULL, NULL);
	struct gpc_target_view *v = read_view(pid);
	int pidfd = v->target.pidfd;

	(void)state;
	assert_ptr_equal(gpc_target_get(v), v);
	gpc_target_put(v);
	assert_true(gpc_target_lives(v));
	assert_true(fcntl(pidfd, F_GETFD) & FD_CLOEXEC);
	gpc_target_put(v);
	assert_int_equal(fcntl(pidfd, F_GETFD), -1);
	gpc_target_put(NULL);
	child_end(pid);
}

/* Kernel threads have neither maps nor an executable. */
/* A child's view outlives its parent's, and says what is the child's own. */
static void test_forked_child(void **state)
{
	struct gpc_target_id id = {.pid = getpid(), .id = 7}, of_child = {.id = 8};
	struct gpc_target_view *parent, *child, *again;
	struct gpc_err err;
	pid_t pid;

	(void)state;
	assert_int_equal(gpc_target_read(&id, &parent, &err), GPC_OK);
	pid = fork();
	if (!pid)
		for (;;)
			pause();
	of_child.pid = pid;
	assert_int_equal(gpc_target_fork(parent, &of_child, &child, &err), GPC_OK);
	assert_int_equal(gpc_target_fork(child, &of_child, &again, &err), GPC_OK);
	gpc_target_put(parent);
	gpc_target_put(child);
	assert_int_equal(again->target.pid, pid);
	assert_int_equal(again->target.id, 8);
	assert_true(again->target.start_time > 0);
	assert_true(again->target.n_maps > 0 && *again->target.exe == '/');
	assert_true(gpc_target_lives(again));
	gpc_target_put(again);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_int_equal(gpc_target_read(&id, &parent, &err), GPC_OK);
	assert_int_equal(gpc_target_fork(parent, &of_child, &child, &err), GPC_E_GONE);
	gpc_target_put(parent);
}

static void test_kernel_thread(void **state)
{
	struct gpc_target_id id = {.pid = 2};
	struct gpc_target_view *v = NULL;
	char comm[32] = "";
	FILE *f = fopen("/proc/2/comm", "r");

	(void)state;
	if (!f || !fgets(comm, sizeof comm, f) || strcmp(comm, "kthreadd\n") != 0) {
		if (f)
			fclose(f);
		skip();
	}
	fclose(f);
	if (gpc_target_read(&id, &v, NULL) < 0)
		skip(); /* its maps are not ours to read */
	assert_string_equal(v->target.comm, "kthreadd");
	assert_string_equal(v->target.exe, "");
	assert_string_equal(v->target.cmdline, "");
	assert_int_equal(v->target.n_maps, 0);
	assert_int_equal(v->target.machine, 0);
	gpc_target_put(v);
}

static void test_no_such_process(void **state)
{
	struct gpc_target_id id = {.pid = 0x3fffffff};
	struct gpc_target_view *v = NULL;
	struct gpc_err err = {0};

	(void)state;
	assert_int_equal(gpc_target_read(&id, &v, &err), GPC_E_GONE);
	assert_null(v);
	assert_non_null(strstr(err.text, "1073741823"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_program),
		cmocka_unit_test(test_end_is_seen),
		cmocka_unit_test(test_same_number_is_not_the_same_process),
		cmocka_unit_test(test_executable_that_was_deleted),
		cmocka_unit_test(test_user_after_dropping_rights),
		cmocka_unit_test(test_references),
		cmocka_unit_test(test_forked_child),
		cmocka_unit_test(test_kernel_thread),
		cmocka_unit_test(test_no_such_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

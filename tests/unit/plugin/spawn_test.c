/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/io.h"
#include "plugin/spawn.h"

#define NOBODY 65534

/* What a program wrote and how it ended. */
struct result {
	char out[4096];
	int status;
};

static struct gpc_spawn shell(const char *const *argv)
{
	return (struct gpc_spawn){.struct_size = sizeof(struct gpc_spawn),
				  .argv = argv,
				  .fds = {-1, -1, -1}};
}

static void wait_for(int32_t pid, int pidfd, int *status)
{
	struct pollfd p = {.fd = pidfd, .events = POLLIN};

	assert_int_equal(poll(&p, 1, 20000), 1);
	assert_int_equal(waitpid(pid, status, 0), pid);
	close(pidfd);
}

static gpc_status run_spawn(struct gpc_spawn *s, struct result *ret, struct gpc_err *err)
{
	int fds[2], pidfd = -1;
	int32_t pid = 0;
	size_t n = 0;
	ssize_t got;
	gpc_status st;

	memset(ret, 0, sizeof *ret);
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	s->fds[1] = fds[1];
	st = gpc_spawn_start(s, &pid, &pidfd, err);
	close(fds[1]);
	while (st == GPC_OK && n < sizeof ret->out - 1 &&
	       (got = read(fds[0], ret->out + n, sizeof ret->out - 1 - n)) > 0)
		n += (size_t)got;
	close(fds[0]);
	if (st == GPC_OK)
		wait_for(pid, pidfd, &ret->status);
	return st;
}

static void run_script(const char *script, struct result *ret)
{
	const char *const argv[] = {"/bin/sh", "-c", script, NULL};
	struct gpc_spawn s = shell(argv);

	assert_int_equal(run_spawn(&s, ret, NULL), GPC_OK);
}

static void test_output_and_status(void **state)
{
	struct result r;

	(void)state;
	run_script("echo hello; exit 7", &r);
	assert_string_equal(r.out, "hello\n");
	assert_true(WIFEXITED(r.status));
	assert_int_equal(WEXITSTATUS(r.status), 7);
	run_script("kill -TERM $$", &r);
	assert_true(WIFSIGNALED(r.status));
	assert_int_equal(WTERMSIG(r.status), SIGTERM);
}

static void test_input(void **state)
{
	const char *const argv[] = {"/bin/cat", NULL};
	struct gpc_spawn s = shell(argv);
	struct result r;
	int fds[2];

	(void)state;
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	assert_int_equal(write(fds[1], "through", 7), 7);
	close(fds[1]);
	s.fds[0] = fds[0];
	assert_int_equal(run_spawn(&s, &r, NULL), GPC_OK);
	assert_string_equal(r.out, "through");
	close(fds[0]);
}

/* -1 is /dev/null: reading ends at once, writing goes nowhere. */
static void test_what_is_not_given_is_dev_null(void **state)
{
	struct result r;

	(void)state;
	run_script("cat; readlink /proc/self/fd/0 /proc/self/fd/2", &r);
	assert_string_equal(r.out, "/dev/null\n/dev/null\n");
}

/* Whoever opened it, with close-on-exec or without, and whatever its number. */
static void test_nothing_of_ours_is_open_in_it(void **state)
{
	int plain = open("/etc/passwd", O_RDONLY), high = fcntl(plain, F_DUPFD, 900);
	struct result r;

	(void)state;
	assert_true(plain >= 0 && high >= 900);
	run_script("ls /proc/$$/fd", &r);
	close(plain);
	close(high);
	for (char *line = strtok(r.out, "\n"); line; line = strtok(NULL, "\n"))
		if (atoi(line) > 2)
			fail_msg("descriptor %s is open in the child", line);
}

/* Standard descriptors of ours that are given in another order. */
static void test_descriptors_that_are_low(void **state)
{
	const char *const argv[] = {"/bin/sh", "-c", "echo out; echo err >&2", NULL};
	struct gpc_spawn s = shell(argv);
	char dir[] = "/tmp/gpc-spawn-XXXXXX", path[64], *text = NULL;
	int32_t pid;
	int pidfd, status, fd, saved = fcntl(0, F_DUPFD_CLOEXEC, 10);

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof path, "%s/out", dir);
	close(0);
	fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	assert_int_equal(fd, 0);
	s.fds[1] = s.fds[2] = 0;
	assert_int_equal(gpc_spawn_start(&s, &pid, &pidfd, NULL), GPC_OK);
	wait_for(pid, pidfd, &status);
	if (saved >= 0)
		dup2(saved, 0);
	else
		close(0);
	close(saved);
	assert_int_equal(gpc_read_file(-1, path, 100, &text, NULL, NULL), GPC_OK);
	assert_string_equal(text, "out\nerr\n");
	free(text);
	unlink(path);
	rmdir(dir);
}

static void test_program_that_does_not_exist(void **state)
{
	const char *const argv[] = {"/nowhere/program", NULL};
	struct gpc_spawn s = shell(argv);
	struct gpc_err err = {0};
	int32_t pid = -7;
	int pidfd = -7;

	(void)state;
	assert_int_equal(gpc_spawn_start(&s, &pid, &pidfd, &err), GPC_E_GONE);
	assert_non_null(strstr(err.text, "/nowhere/program"));
	assert_int_equal(err.sys, ENOENT);
	assert_int_equal(pid, -7);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no zombie */
	assert_int_equal(errno, ECHILD);
}

static void test_program_that_may_not_run(void **state)
{
	const char *const argv[] = {"/etc/passwd", NULL};
	struct gpc_spawn s = shell(argv);
	struct gpc_err err = {0};
	int32_t pid;
	int pidfd;

	(void)state;
	assert_int_equal(gpc_spawn_start(&s, &pid, &pidfd, &err), GPC_E_PERM);
}

/* What the program around us ignores or blocks is no business of the child. */
static void test_signals_are_as_usual(void **state)
{
	void (*before)(int) = signal(SIGPIPE, SIG_IGN);
	sigset_t all, old;
	struct result r;

	(void)state;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &old);
	run_script("grep -E '^Sig(Blk|Ign)' /proc/self/status | tr -d '[:space:]'", &r);
	sigprocmask(SIG_SETMASK, &old, NULL);
	signal(SIGPIPE, before);
	assert_string_equal(r.out, "SigBlk:0000000000000000SigIgn:0000000000000000");
}

static void test_session_of_its_own(void **state)
{
	struct result r;
	char expected[64];

	(void)state;
	run_script("cut -d' ' -f6 /proc/$$/stat; echo $$", &r);
	snprintf(expected, sizeof expected, "%s", strchr(r.out, '\n') + 1);
	assert_memory_equal(r.out, expected, strlen(expected));
}

/* ---- it ends with us ------------------------------------------------------------ */

static void wait_until_gone(int32_t pid)
{
	for (int i = 0; i < 1000; i++) {
		char path[64], text[256] = "";
		ssize_t n;

		snprintf(path, sizeof path, "/proc/%d/stat", pid);
		n = gpc_read_small(AT_FDCWD, path, text, sizeof text);
		if (n <= 0 || strstr(text, ") Z "))
			return;
		usleep(10000);
	}
	fail_msg("process %d lives on", pid);
}

/* A process starts a sleeper and is killed. */
static void test_killed_when_the_parent_dies(void **state)
{
	const char *const argv[] = {"/bin/sleep", "1000", NULL};
	struct gpc_spawn s = shell(argv);
	int fds[2], status;
	int32_t pid = 0;
	pid_t parent;

	(void)state;
	assert_int_equal(pipe(fds), 0);
	parent = fork();
	if (parent == 0) {
		int pidfd;

		if (gpc_spawn_start(&s, &pid, &pidfd, NULL) == GPC_OK &&
		    write(fds[1], &pid, sizeof pid) == sizeof pid)
			pause();
		_exit(1);
	}
	assert_int_equal(read(fds[0], &pid, sizeof pid), sizeof pid);
	assert_int_equal(kill(pid, 0), 0);
	kill(parent, SIGKILL);
	waitpid(parent, &status, 0);
	wait_until_gone(pid);
	close(fds[0]);
	close(fds[1]);
}

struct started {
	int32_t pid;
	int pidfd;
};

static void *start_and_end(void *arg)
{
	const char *const argv[] = {"/bin/sleep", "1000", NULL};
	struct gpc_spawn s = shell(argv);
	struct started *st = arg;

	if (gpc_spawn_start(&s, &st->pid, &st->pidfd, NULL) < 0)
		st->pid = 0;
	return NULL;
}

/* The thread of a worker ends: so do its programs. */
static void test_killed_when_the_thread_ends(void **state)
{
	struct started st = {0};
	pthread_t thread;
	int status;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, start_and_end, &st), 0);
	pthread_join(thread, NULL);
	assert_true(st.pid > 0);
	wait_for(st.pid, st.pidfd, &status);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGKILL);
}

/* ---- inside a target ---------------------------------------------------------------- */

/* A process with namespaces of its own and a file that only it sees. */
struct inmate {
	pid_t outer, pid; /* pid: 1 in its own pid namespace */
	char dir[32];
};

static void live_inside(const char *dir, uid_t uid, int ready)
{
	pid_t self;

	if (unshare(CLONE_NEWNS | CLONE_NEWPID) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("none", dir, "tmpfs", 0, "size=64k,mode=755") < 0)
		_exit(2);
	if (chdir(dir) < 0 || creat("only-here", 0644) < 0)
		_exit(3);
	self = fork();
	if (self == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (mount("proc", "/proc", "proc", 0, NULL) < 0)
			_exit(4);
		if (uid && (setgroups(0, NULL) < 0 || setgid(uid) < 0 || setuid(uid) < 0))
			_exit(5);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execl("/bin/sleep", "sleep", "1000", NULL);
		_exit(6);
	}
	if (write(ready, &self, sizeof self) != sizeof self)
		_exit(7);
	waitpid(self, NULL, 0);
	_exit(0);
}

static bool has_name(pid_t pid, const char *name)
{
	char path[40], text[64] = "";

	snprintf(path, sizeof path, "/proc/%d/comm", pid);
	return gpc_read_small(AT_FDCWD, path, text, sizeof text) > 0 &&
	       strncmp(text, name, strlen(name)) == 0;
}

static void start_inmate(struct inmate *in, uid_t uid)
{
	int fds[2];

	strcpy(in->dir, "/tmp/gpc-inmate-XXXXXX");
	assert_non_null(mkdtemp(in->dir));
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	in->outer = fork();
	if (in->outer == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		live_inside(in->dir, uid, fds[1]);
	}
	close(fds[1]);
	if (read(fds[0], &in->pid, sizeof in->pid) != sizeof in->pid)
		in->pid = 0;
	close(fds[0]);
	for (int i = 0; in->pid && i < 500 && !has_name(in->pid, "sleep"); i++)
		usleep(10000);
}

static void end_inmate(struct inmate *in)
{
	kill(in->outer, SIGKILL);
	waitpid(in->outer, NULL, 0);
	if (in->pid > 0)
		wait_until_gone(in->pid);
	for (int i = 0; i < 200 && rmdir(in->dir) < 0; i++)
		usleep(10000);
}

/* Only root can play this. The parent pid in the inmate's namespace is read by
 * fork number: number 1 there is the sleeper. */
static bool needs_root(struct inmate *in, uid_t uid)
{
	if (geteuid() != 0)
		return false;
	start_inmate(in, uid);
	if (in->pid > 0 && has_name(in->pid, "sleep"))
		return true;
	end_inmate(in);
	return false;
}

static void test_inside_another_root(void **state)
{
	const char *const argv[] = {
		"/bin/sh", "-c",
		"ls /proc/1/cwd/; id -u; id -g; id -G; cat /proc/1/comm; grep NoNewPrivs "
		"/proc/self/status | tr -d '\\t'",
		NULL};
	struct gpc_spawn s = shell(argv);
	struct inmate in = {0};
	struct gpc_target target = {.struct_size = sizeof target};
	struct gpc_err err = {0};
	struct result r;
	gpc_status st;

	(void)state;
	if (!needs_root(&in, NOBODY))
		skip();
	target.pid = in.pid;
	s.inside = &target;
	st = run_spawn(&s, &r, &err);
	end_inmate(&in);
	if (st < 0)
		fail_msg("%s", err.text);
	assert_string_equal(r.out, "only-here\n65534\n65534\n65534\nsleep\nNoNewPrivs:1\n");
	assert_int_equal(WEXITSTATUS(r.status), 0);
}

static void test_inside_status_comes_through(void **state)
{
	const char *const exits[] = {"/bin/sh", "-c", "exit 9", NULL};
	const char *const dies[] = {"/bin/sh", "-c", "kill -SEGV $$", NULL};
	const char *const nowhere[] = {"/nowhere", NULL};
	struct gpc_spawn s = shell(exits);
	struct inmate in = {0};
	struct gpc_target target = {.struct_size = sizeof target};
	struct gpc_err err = {0};
	struct result first, second, third;
	gpc_status missing;

	(void)state;
	if (!needs_root(&in, NOBODY))
		skip();
	target.pid = in.pid;
	s.inside = &target;
	assert_int_equal(run_spawn(&s, &first, NULL), GPC_OK);
	s.argv = dies;
	assert_int_equal(run_spawn(&s, &second, NULL), GPC_OK);
	s.argv = nowhere;
	missing = run_spawn(&s, &third, &err);
	end_inmate(&in);
	assert_true(WIFEXITED(first.status));
	assert_int_equal(WEXITSTATUS(first.status), 9);
	assert_true(WIFSIGNALED(second.status));
	assert_int_equal(WTERMSIG(second.status), SIGSEGV);
	assert_false(WCOREDUMP(second.status)); /* of us: the one that waits is our copy */
	assert_int_equal(missing, GPC_E_GONE);
}

/* A token in our environment is not for the users of targets. */
static void test_inside_nothing_of_our_environment(void **state)
{
	const char *const argv[] = {"/usr/bin/env", NULL};
	struct gpc_spawn s = shell(argv);
	struct inmate in = {0};
	struct gpc_target target = {.struct_size = sizeof target};
	struct result r;
	gpc_status st;

	(void)state;
	if (!needs_root(&in, NOBODY))
		skip();
	setenv("GPC_TEST_TOKEN", "secret-of-ours", 1);
	target.pid = in.pid;
	s.inside = &target;
	st = run_spawn(&s, &r, NULL);
	unsetenv("GPC_TEST_TOKEN");
	end_inmate(&in);
	assert_int_equal(st, GPC_OK);
	assert_null(strstr(r.out, "secret-of-ours"));
	assert_non_null(strstr(r.out, "PATH="));
}

/* Killing what we know of kills what runs inside. */
static void test_inside_dies_with_the_outer(void **state)
{
	const char *const argv[] = {"/bin/sleep", "1001", NULL};
	struct gpc_spawn s = shell(argv);
	struct inmate in = {0};
	struct gpc_target target = {.struct_size = sizeof target};
	char path[64], text[64] = "";
	int pidfd, status, inner, n_fds = 0;
	int32_t pid;

	(void)state;
	if (!needs_root(&in, NOBODY))
		skip();
	target.pid = in.pid;
	s.inside = &target;
	assert_int_equal(gpc_spawn_start(&s, &pid, &pidfd, NULL), GPC_OK);
	snprintf(path, sizeof path, "/proc/%d/task/%d/children", pid, pid);
	assert_true(gpc_read_small(AT_FDCWD, path, text, sizeof text) > 0);
	inner = atoi(text);
	for (int fd = 0; fd < 1024; fd++) { /* it waits, and needs none of our files for that */
		snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, fd);
		n_fds += access(path, F_OK) == 0 || readlink(path, text, sizeof text) > 0;
	}
	kill(pid, SIGKILL);
	wait_for(pid, pidfd, &status);
	wait_until_gone(inner);
	end_inmate(&in);
	assert_int_equal(n_fds, 0);
}

static void test_inside_a_root_target_is_refused(void **state)
{
	const char *const argv[] = {"/bin/true", NULL};
	struct gpc_spawn s = shell(argv);
	struct inmate in = {0};
	struct gpc_target target = {.struct_size = sizeof target};
	struct gpc_err err = {0};
	struct result r;
	gpc_status st;

	(void)state;
	if (!needs_root(&in, 0))
		skip();
	target.pid = in.pid;
	s.inside = &target;
	st = run_spawn(&s, &r, &err);
	end_inmate(&in);
	assert_int_equal(st, GPC_E_PERM);
	assert_non_null(strstr(err.text, "not run as root"));
}

static void test_inside_a_process_that_has_gone(void **state)
{
	const char *const argv[] = {"/bin/true", NULL};
	struct gpc_target target = {.struct_size = sizeof target, .pid = 0x3fffffff};
	struct gpc_spawn s = shell(argv);
	struct result r;

	(void)state;
	s.inside = &target;
	assert_int_equal(run_spawn(&s, &r, NULL), GPC_E_GONE);
}

static void test_no_descriptor_is_left_over(void **state)
{
	int before = dup(0), after;
	struct result r;

	(void)state;
	close(before);
	for (int i = 0; i < 20; i++)
		run_script("exit 0", &r);
	test_program_that_does_not_exist(state);
	after = dup(0);
	close(after);
	assert_int_equal(before, after);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_output_and_status),
		cmocka_unit_test(test_input),
		cmocka_unit_test(test_what_is_not_given_is_dev_null),
		cmocka_unit_test(test_nothing_of_ours_is_open_in_it),
		cmocka_unit_test(test_descriptors_that_are_low),
		cmocka_unit_test(test_program_that_does_not_exist),
		cmocka_unit_test(test_program_that_may_not_run),
		cmocka_unit_test(test_signals_are_as_usual),
		cmocka_unit_test(test_session_of_its_own),
		cmocka_unit_test(test_killed_when_the_parent_dies),
		cmocka_unit_test(test_killed_when_the_thread_ends),
		cmocka_unit_test(test_inside_another_root),
		cmocka_unit_test(test_inside_status_comes_through),
		cmocka_unit_test(test_inside_nothing_of_our_environment),
		cmocka_unit_test(test_inside_dies_with_the_outer),
		cmocka_unit_test(test_inside_a_root_target_is_refused),
		cmocka_unit_test(test_inside_a_process_that_has_gone),
		cmocka_unit_test(test_no_descriptor_is_left_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

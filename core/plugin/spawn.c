/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "proc/root.h"

#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC (1U << 2)
#endif

/* All that the child needs, opened before the fork: after it only what is safe
 * in a child of a program with threads. */
struct plan {
	const struct gpc_spawn *spawn;
	int fds[3];
	int null_fd, mnt_ns, pid_ns;
	uid_t uid;
	gid_t gid;
	int failure; /* pipe on which the child tells why it could not exec */
};

static int open_ns(const struct gpc_target *t, const char *name)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/ns/%s", t->pid, name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static gpc_status plan_inside(struct plan *p, struct gpc_err *err)
{
	const struct gpc_target *t = p->spawn->inside;

	if (!t)
		return GPC_OK;
	if (!gpc_proc_user(t->pid, &p->uid, &p->gid))
		return gpc_err_set(err, GPC_E_GONE, "process %d has ended", t->pid);
	if (p->uid == 0)
		return gpc_err_set(err, GPC_E_PERM,
				   "%s: a program in the root of process %d is not run as root",
				   p->spawn->argv[0], t->pid);
	p->mnt_ns = open_ns(t, "mnt");
	p->pid_ns = open_ns(t, "pid");
	if (p->mnt_ns < 0 || p->pid_ns < 0)
		return gpc_err_sys(err, "namespaces of process %d", t->pid);
	return GPC_OK;
}

static void fail(const struct plan *p)
{
	int sys = errno;

	if (write(p->failure, &sys, sizeof sys) != sizeof sys)
		_exit(126);
	_exit(127);
}

/* The pid namespace holds for children only: one more fork, and the outer one
 * ends as the inner one did. */
static void enter_pid_ns(const struct plan *p)
{
	pid_t child;
	int status = 0;

	if (setns(p->pid_ns, CLONE_NEWPID) < 0)
		fail(p);
	child = fork();
	if (child < 0)
		fail(p);
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		return;
	}
	/* It waits only: nothing of ours shall live as long as the program. */
	close(p->failure);
	syscall(SYS_close_range, 0, ~0U, 0);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFSIGNALED(status)) {
		/* A core would be one of us. */
		setrlimit(RLIMIT_CORE, &(struct rlimit){0});
		raise(WTERMSIG(status));
	}
	_exit(WEXITSTATUS(status));
}

static void enter(const struct plan *p)
{
	if (!p->spawn->inside)
		return;
	if (setns(p->mnt_ns, CLONE_NEWNS) < 0)
		fail(p);
	enter_pid_ns(p);
	if (setgroups(0, NULL) < 0 || setresgid(p->gid, p->gid, p->gid) < 0 ||
	    setresuid(p->uid, p->uid, p->uid) < 0)
		fail(p);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* a change of user clears it */
}

static void connect_fds(const struct plan *p)
{
	int moved[3];

	/* Out of the way of 0, 1, 2 first: they may be given in any order. */
	for (int i = 0; i < 3; i++) {
		moved[i] = fcntl(p->fds[i] >= 0 ? p->fds[i] : p->null_fd, F_DUPFD, 3);
		if (moved[i] < 0)
			fail(p);
	}
	for (int i = 0; i < 3; i++)
		if (dup2(moved[i], i) < 0)
			fail(p);
	/* Everything else goes at exec, whatever opened it. */
	syscall(SYS_close_range, 3, ~0U, CLOSE_RANGE_CLOEXEC);
}

/* What the program around us ignores or blocks is no business of the child. */
static void reset_signals(void)
{
	sigset_t none;

	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static void run_child(const struct plan *p)
{
	/* Our environment may hold secrets, and a program's is readable by all of
	 * its user's: inside a target that is somebody else. */
	static const char *const inside[] = {
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", NULL};
	char *const *argv = (char *const *)(uintptr_t)p->spawn->argv;
	char *const *env = p->spawn->inside ? (char *const *)(uintptr_t)inside : environ;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setsid();
	reset_signals();
	enter(p);
	connect_fds(p);
	execve(argv[0], argv, env);
	fail(p);
}

static gpc_status start(struct plan *p, int failure, int32_t *ret_pid, int *ret_pidfd,
			struct gpc_err *err)
{
	pid_t pid = fork();
	int sys = 0;

	if (pid < 0)
		return gpc_err_sys(err, "start %s", p->spawn->argv[0]);
	if (pid == 0)
		run_child(p);
	close(take_fd(&p->failure));
	if (read(failure, &sys, sizeof sys) == sizeof sys) {
		waitpid(pid, NULL, 0);
		errno = sys;
		return gpc_err_sys(err, "start %s", p->spawn->argv[0]);
	}
	*ret_pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (*ret_pidfd < 0) {
		gpc_err_sys(err, "watch %s", p->spawn->argv[0]);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		return GPC_E_SYSTEM;
	}
	fcntl(*ret_pidfd, F_SETFD, FD_CLOEXEC);
	*ret_pid = pid;
	return GPC_OK;
}

gpc_status gpc_spawn_start(const struct gpc_spawn *spawn, int32_t *ret_pid, int *ret_pidfd,
			   struct gpc_err *err)
{
	struct plan p = {.spawn = spawn,
			 .fds = {spawn->fds[0], spawn->fds[1], spawn->fds[2]},
			 .mnt_ns = -1,
			 .pid_ns = -1};
	int pipe_fds[2];
	gpc_status st;

	if (pipe2(pipe_fds, O_CLOEXEC) < 0)
		return gpc_err_sys(err, "pipe");
	p.failure = pipe_fds[1];
	p.null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	st = plan_inside(&p, err);
	if (st == GPC_OK)
		st = start(&p, pipe_fds[0], ret_pid, ret_pidfd, err);
	close(pipe_fds[0]);
	gpc_cleanup_close(&p.failure);
	gpc_cleanup_close(&p.null_fd);
	gpc_cleanup_close(&p.mnt_ns);
	gpc_cleanup_close(&p.pid_ns);
	return st;
}

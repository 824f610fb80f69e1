/* SPDX-License-Identifier: Apache-2.0 */
/* Real processes for tests of what reads /proc. They die with the test. */
#ifndef GPC_TESTS_CHILD_H
#define GPC_TESTS_CHILD_H

#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* In a new process: it is not to outlive the test, not even one that has just died. */
static inline void child_of(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
}

/* Runs prepare(arg) in a new process, which then waits to be killed. 0 when
 * prepare did not return 0 (it may lack a right). */
static inline pid_t child_start(int (*prepare)(void *arg), void *arg)
{
	int fds[2], status = -1;
	pid_t pid, parent = getpid();

	if (pipe(fds) < 0)
		return 0;
	pid = fork();
	if (pid == 0) {
		child_of(parent);
		status = prepare ? prepare(arg) : 0;
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* a change of user clears it */
		if (write(fds[1], &status, sizeof status) == sizeof status && status == 0)
			for (;;)
				pause();
		_exit(1);
	}
	close(fds[1]);
	if (pid > 0 && (read(fds[0], &status, sizeof status) != sizeof status || status)) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		pid = 0;
	}
	close(fds[0]);
	return pid > 0 ? pid : 0;
}

/* Runs a program; returns when its exec is done. */
static inline pid_t child_exec(const char *path, char *const argv[])
{
	int fds[2];
	char byte;
	pid_t pid, parent = getpid();

	if (pipe(fds) < 0)
		return 0;
	pid = fork();
	if (pid == 0) {
		child_of(parent);
		if (fcntl(fds[1], F_SETFD, FD_CLOEXEC) == 0)
			execv(path, argv);
		_exit(127);
	}
	close(fds[1]);
	if (read(fds[0], &byte, 1) != 0)
		pid = 0;
	close(fds[0]);
	return pid > 0 ? pid : 0;
}

/* Until a file whose path has this in it is mapped: after the exec the dynamic
 * linker is still to run. */
static inline int child_has_mapped(pid_t pid, const char *part)
{
	char path[40], line[600];
	int found = 0;

	snprintf(path, sizeof path, "/proc/%d/maps", pid);
	for (int i = 0; i < 2000 && !found; i++) {
		FILE *f = fopen(path, "r");

		while (f && !found && fgets(line, sizeof line, f))
			found = strstr(line, part) != NULL;
		if (f)
			fclose(f);
		if (!found)
			usleep(5000);
	}
	return found;
}

static inline void child_end(pid_t pid)
{
	if (pid <= 0)
		return;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Copies a file; the copy can be run. */
static inline int child_copy(const char *from, const char *to)
{
	char command[800];

	snprintf(command, sizeof command, "cp '%s' '%s' && chmod 755 '%s'", from, to, to);
	return system(command);
}

#endif

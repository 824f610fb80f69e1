/* SPDX-License-Identifier: Apache-2.0 */
/* spawn COUNT PROGRAM [ARGUMENT...]: starts so many processes, says "ready" when
 * all have done their exec, and ends them when its standard input is closed. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* The pipe closes with the exec: reading its end waits for that. */
static pid_t start(char **argv)
{
	int done[2];
	char byte;
	pid_t pid;

	if (pipe2(done, O_CLOEXEC) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		int null = open("/dev/null", O_RDWR);

		dup2(null, 0);
		dup2(null, 1);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execv(argv[0], argv);
		if (write(done[1], "!", 1) != 1)
			_exit(126);
		_exit(127);
	}
	close(done[1]);
	if (pid > 0 && read(done[0], &byte, 1) != 0)
		pid = -1;
	close(done[0]);
	return pid;
}

int main(int argc, char **argv)
{
	int count = argc > 2 ? atoi(argv[1]) : 0;
	pid_t *pids = calloc((size_t)count + 1, sizeof *pids);
	int status = 0;
	char byte;

	if (argc < 3 || !pids)
		return 2;
	for (int i = 0; i < count && status == 0; i++) {
		pids[i] = start(argv + 2);
		if (pids[i] < 0)
			status = 1;
	}
	if (status == 0) {
		puts("ready");
		fflush(stdout);
		while (read(0, &byte, 1) < 0 && errno == EINTR)
			;
	}
	for (int i = 0; i < count && pids[i] > 0; i++)
		kill(pids[i], SIGKILL);
	while (wait(NULL) > 0)
		;
	free(pids);
	return status;
}

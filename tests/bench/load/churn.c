/* SPDX-License-Identifier: Apache-2.0 */
/* churn RATE FOLDER PROGRAM...: RATE new processes a second, each an exec of one
 * of the programs; one in five of a copy that is made just before and deleted
 * once it runs, so that its inode is new. Runs until its standard input is
 * closed, then says how many there were. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

static int copy(const char *from, const char *to)
{
	int in = open(from, O_RDONLY | O_CLOEXEC);
	int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	struct stat st;
	int ok = in >= 0 && out >= 0 && fstat(in, &st) == 0 &&
		 sendfile(out, in, NULL, (size_t)st.st_size) == st.st_size;

	if (in >= 0)
		close(in);
	if (out >= 0)
		close(out);
	return ok ? 0 : -1;
}

static int start(const char *program)
{
	pid_t pid = fork();

	if (pid == 0) {
		int null = open("/dev/null", O_RDWR);

		dup2(null, 0);
		dup2(null, 1);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execl(program, program, (char *)NULL);
		_exit(127);
	}
	return pid > 0 ? 0 : -1;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static int failed(int status)
{
	return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

int main(int argc, char **argv)
{
	unsigned rate = argc > 3 ? (unsigned)atoi(argv[1]) : 0;
	unsigned long started = 0, bad = 0;
	struct pollfd in = {.fd = 0, .events = POLLIN};
	char fresh[512];
	uint64_t begin = now_ns();
	int status;

	if (!rate)
		return 2;
	for (;; started++) {
		uint64_t due = begin + started * (1000000000 / rate), now = now_ns();
		const char *program = argv[3 + (int)(started % (unsigned)(argc - 3))];

		if (poll(&in, 1, due > now ? (int)((due - now) / 1000000) : 0) != 0)
			break;
		/* The copy of the one before has long been mapped. */
		if (started % 5 == 1)
			unlink(fresh);
		if (started % 5 == 0) {
			snprintf(fresh, sizeof fresh, "%s/fresh-%lu", argv[2], started);
			if (copy(program, fresh) < 0)
				break;
			program = fresh;
		}
		bad += start(program) < 0;
		while (waitpid(-1, &status, WNOHANG) > 0)
			bad += (unsigned)failed(status);
	}
	while (waitpid(-1, &status, 0) > 0)
		bad += (unsigned)failed(status);
	printf("%lu %lu\n", started, bad);
	return 0;
}

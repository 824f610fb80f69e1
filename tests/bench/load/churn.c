/* SPDX-License-Identifier: Apache-2.0 */
/* churn RATE FOLDER PROGRAM...: RATE new processes a second, each an exec of one
 * of the programs; one in five of a copy that is made just before and deleted
 * once it runs, so that its inode is new. Runs until its standard input is
 * closed, then says how many there were. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
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

/* Returns when the exec is done. */
static int start(char *program, posix_spawn_file_actions_t *quiet)
{
	char *const argv[] = {program, NULL};
	pid_t pid;

	return posix_spawn(&pid, program, quiet, NULL, argv, environ) == 0 ? 0 : -1;
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
	posix_spawn_file_actions_t quiet;
	char fresh[512];
	uint64_t begin = now_ns();
	int status;

	if (!rate || posix_spawn_file_actions_init(&quiet) ||
	    posix_spawn_file_actions_addopen(&quiet, 0, "/dev/null", O_RDWR, 0) ||
	    posix_spawn_file_actions_adddup2(&quiet, 0, 1))
		return 2;
	for (;; started++) {
		uint64_t due = begin + started * (1000000000 / rate), now = now_ns();
		char *program = argv[3 + (int)(started % (unsigned)(argc - 3))];

		if (poll(&in, 1, due > now ? (int)((due - now) / 1000000) : 0) != 0)
			break;
		if (started % 5 == 1)
			unlink(fresh); /* mapped, since the exec is done */
		if (started % 5 == 0) {
			snprintf(fresh, sizeof fresh, "%s/fresh-%lu", argv[2], started);
			if (copy(program, fresh) < 0)
				break;
			program = fresh;
		}
		bad += start(program, &quiet) < 0;
		while (waitpid(-1, &status, WNOHANG) > 0)
			bad += (unsigned)failed(status);
	}
	while (waitpid(-1, &status, 0) > 0)
		bad += (unsigned)failed(status);
	posix_spawn_file_actions_destroy(&quiet);
	printf("%lu %lu\n", started, bad);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Every 50 ms a child that works 20 ms and exits. Usage: forks SECONDS wait
 * [PROGRAM]: with a program the children execute it, and it does the work. Each
 * child reports for itself. */
#include <sys/wait.h>

#include "leaves.h"
#include "middle.h"

#define WORK "0.02"

void child(const char *program);

NOINLINE void child(const char *program)
{
	struct truth t = {.heavy = heavy, .light = light};

	if (program) {
		execl(program, program, WORK, (char *)NULL);
		_exit(127);
	}
	truth_begin(&t, atof(WORK), 0);
	while (!truth_is_over(&t))
		middle(&t);
	truth_report(&t);
	_exit(0);
}

int main(int argc, char **argv)
{
	struct truth t;
	int children, failed = 0;

	truth_begin(&t, atof(argv[1]), argc > 2);
	children = (int)(atof(argv[1]) / atof(WORK));
	for (int i = 0; i < children; i++) {
		struct timespec pause = {.tv_nsec = 50000000};
		pid_t pid = fork();
		int status;

		if (pid == 0)
			child(argc > 3 ? argv[3] : NULL);
		nanosleep(&pause, NULL);
		while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
			failed += status != 0;
	}
	for (int status; wait(&status) > 0;)
		failed += status != 0;
	return failed != 0;
}

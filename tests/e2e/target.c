/* SPDX-License-Identifier: Apache-2.0 */
/* A process to look at. Usage: target MODE [SECONDS] [PROGRAM ARGUMENT...]
 *
 *   busy  uses a CPU    idle  sleeps    late  uses a CPU, loads a library at SIGUSR1
 *
 * Ends after SECONDS (0: never). At SIGUSR1 becomes PROGRAM. A "+socket" after
 * the mode makes /tmp/testsock-PID.sock first. */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t is_asked;
static volatile unsigned long counter;

static void on_signal(int number)
{
	(void)number;
	is_asked = 1;
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

__attribute__((noinline)) static void testrt_work(void)
{
	for (int i = 0; i < 100000; i++)
		counter++;
}

#ifdef MARKER
void testrt_marker(void);
void testrt_marker(void)
{
	counter++;
}
#endif

static void make_socket(void)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(at.sun_path, sizeof at.sun_path, "/tmp/testsock-%d.sock", getpid());
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof at) < 0)
		exit(3);
}

static void become(char **argv)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execv(argv[0], argv);
	exit(4);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "busy";
	double until = argc > 2 && atof(argv[2]) > 0 ? now() + atof(argv[2]) : 1e300;

	signal(SIGUSR1, on_signal);
	if (strstr(mode, "+socket"))
		make_socket();
	while (now() < until) {
		if (is_asked && argc > 3)
			become(argv + 3);
#ifndef STATIC
		if (is_asked && !strncmp(mode, "late", 4) &&
		    !dlopen("/tmp/libtestrt1.so", RTLD_NOW))
			return 5;
#endif
		is_asked = 0;
		if (strncmp(mode, "idle", 4) == 0)
			usleep(20000);
		else
			testrt_work();
	}
	return 0;
}

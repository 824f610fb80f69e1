/* SPDX-License-Identifier: Apache-2.0 */
/* many THREADS SECONDS MICROSECONDS: so many threads, each of which works for some
 * microseconds of CPU at the end of a path of 30 calls and then sleeps, so that all of
 * them together want twice the CPUs that are there. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define DEPTH 30

static unsigned threads, work_us, pause_us;
static double seconds;

static double now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

__attribute__((noinline, noclone)) static uint64_t work(uint64_t x)
{
	double until = now(CLOCK_THREAD_CPUTIME_ID) + work_us / 1e6;

	while (now(CLOCK_THREAD_CPUTIME_ID) < until)
		for (unsigned i = 0; i < 1000; i++)
			x = x * 6364136223846793005u + 1;
	return x;
}

__attribute__((noinline, noclone)) static uint64_t descend(unsigned left, uint64_t x)
{
	return left ? descend(left - 1, x + left) + 1 : work(x) + 1;
}

static void *run(void *arg)
{
	double until = now(CLOCK_MONOTONIC) + seconds;
	uint64_t sum = (uintptr_t)arg;

	while (now(CLOCK_MONOTONIC) < until) {
		sum += descend(DEPTH, sum);
		usleep(pause_us);
	}
	return (void *)(uintptr_t)sum;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc < 4)
		return 2;
	threads = (unsigned)atoi(argv[1]);
	seconds = atof(argv[2]);
	work_us = (unsigned)atoi(argv[3]);
	pause_us = threads * work_us / (2 * (unsigned)sysconf(_SC_NPROCESSORS_ONLN));
	for (unsigned i = 0; i < threads; i++)
		if (pthread_create(&thread, NULL, run, (void *)(uintptr_t)i) != 0)
			return 1;
	sleep((unsigned)seconds + 1);
	return 0;
}

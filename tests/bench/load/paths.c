/* SPDX-License-Identifier: Apache-2.0 */
/* paths COUNT: two threads, each always at the end of one of COUNT call paths of
 * 30 functions, chosen at random. */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#define NOINLINE __attribute__((noinline))
#define DEPTH    28

static volatile uint64_t sink;

NOINLINE static void work(void)
{
	for (uint64_t i = 0; i < 100000; i++)
		__asm__ volatile("" ::"r"(i));
}

NOINLINE static void left(unsigned depth, uint32_t path);

NOINLINE static void right(unsigned depth, uint32_t path)
{
	if (!depth)
		work();
	else if (path & 1)
		right(depth - 1, path >> 1);
	else
		left(depth - 1, path >> 1);
	sink++; /* no tail calls */
}

static void left(unsigned depth, uint32_t path)
{
	if (!depth)
		work();
	else if (path & 1)
		right(depth - 1, path >> 1);
	else
		left(depth - 1, path >> 1);
	sink += 2;
}

struct job {
	uint32_t count, seed;
};

static void *run(void *arg)
{
	const struct job *job = arg;
	uint32_t seed = job->seed;

	for (;;) {
		seed = seed * 1664525 + 1013904223;
		left(DEPTH, (seed >> 8) % job->count);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	uint32_t count = argc > 1 ? (uint32_t)atoi(argv[1]) : 2000;
	struct job jobs[2] = {{count, 1}, {count, 77}};
	pthread_t thread;

	if (!count || pthread_create(&thread, NULL, run, &jobs[0]))
		return 2;
	run(&jobs[1]);
	return 0;
}

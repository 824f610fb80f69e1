/* SPDX-License-Identifier: Apache-2.0 */
/* What the workloads of the truth tests share: a main loop that gives 70 % of
 * its CPU time to one function and 30 % to another, in slices of random length
 * (about 0.2 to 3 ms), so that no alternation runs in step with a sampling
 * clock; and a report of what each really got, by the thread's own clock. */
#ifndef WORKLOADS_TRUTH_H
#define WORKLOADS_TRUTH_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone, used))
#define INLINE   static inline __attribute__((always_inline))

typedef uint64_t (*truth_leaf)(uint64_t rounds);

struct truth {
	truth_leaf heavy, light;
	uint64_t heavy_ns, light_ns, until_ns, state, sum;
};

INLINE uint64_t truth_clock(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* xorshift64: any generator does. */
INLINE uint64_t truth_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* A round of the leaves costs about 1.5 ns. */
INLINE uint64_t truth_rounds(struct truth *t)
{
	return 130000 + truth_random(&t->state) % 1870000;
}

INLINE int truth_heavy_is_next(const struct truth *t)
{
	return t->heavy_ns * 3 <= t->light_ns * 7;
}

INLINE int truth_is_over(const struct truth *t)
{
	return t->heavy_ns + t->light_ns >= t->until_ns;
}

/* Usage of all workloads: SECONDS [wait]. Seconds are of CPU time; "wait"
 * begins at a line of standard input, when the profiler runs. */
INLINE void truth_begin(struct truth *t, double seconds, int wait)
{
	t->heavy_ns = t->light_ns = t->sum = 0;
	t->until_ns = (uint64_t)(seconds * 1e9);
	t->state = truth_clock(CLOCK_MONOTONIC) * 2 + 1;
	if (wait && getchar() == EOF)
		exit(2);
}

/* One line of JSON; what the process used beside is ours too. */
INLINE int truth_report(const struct truth *t)
{
	printf("{\"pid\": %d, \"heavy_ns\": %llu, \"light_ns\": %llu, \"cpu_ns\": %llu}\n",
	       (int)getpid(), (unsigned long long)t->heavy_ns, (unsigned long long)t->light_ns,
	       (unsigned long long)truth_clock(CLOCK_PROCESS_CPUTIME_ID));
	fflush(stdout);
	return t->sum == 1; /* nobody may drop the sums */
}

#endif

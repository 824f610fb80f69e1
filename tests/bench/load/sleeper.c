/* SPDX-License-Identifier: Apache-2.0 */
/* sleeper [WORK_US PERIOD_MS]: sleeps for ever; with arguments it works a little
 * in every period. */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "deep.h"

static uint64_t cpu_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

int main(int argc, char **argv)
{
	uint64_t work = argc > 2 ? strtoul(argv[1], NULL, 10) : 0;
	useconds_t period = argc > 2 ? (useconds_t)strtoul(argv[2], NULL, 10) * 1000 : 0;

	if (!work)
		for (;;)
			pause();
	usleep((useconds_t)getpid() % 997 * (period / 997));
	for (;;) {
		uint64_t end = cpu_us() + work;

		while (cpu_us() < end)
			deep_a(24, (uint64_t)end);
		usleep(period);
	}
}

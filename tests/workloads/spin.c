/* SPDX-License-Identifier: Apache-2.0 */
/* main;visible_caller;hidden_work for so many seconds of CPU time. Only
 * visible_caller is in .dynsym, when that is asked for. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static __attribute__((noinline, noclone)) uint64_t hidden_work(uint64_t x)
{
	for (volatile int i = 0; i < 100000; i++)
		x = x * 6364136223846793005u + 1442695040888963407u;
	return x;
}

__attribute__((noinline, noclone, visibility("default"))) uint64_t visible_caller(uint64_t x)
{
	return hidden_work(x) + 1;
}

int main(int argc, char **argv)
{
	clock_t end = (clock_t)(atof(argc > 1 ? argv[1] : "1") * CLOCKS_PER_SEC);
	uint64_t x = 1;

	while (clock() < end)
		x = visible_caller(x);
	return x == 42;
}

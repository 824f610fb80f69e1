/* SPDX-License-Identifier: Apache-2.0 */
/* Generated code without frame pointers between C functions, many levels deep.
 * Level n is down(n), which spins in leaf_n, lets generated code spin under at_n,
 * and reaches the next level through generated code: an even level through
 * jit_call, an odd one through jit_clobber, which uses the frame pointer's
 * register for something else. So the leaf tells the whole stack.
 *
 * Usage: anon LEVELS MS SECONDS THREADS; 0 seconds: for ever. x86-64 only. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "../plugins/testpull/anon.h"
#include "truth.h"

#define LEVELS_MAX 64
#define PAGE       4096

typedef uint64_t (*down_fn)(uint64_t level);

struct generated {
	uint64_t (*call[2])(uint64_t level, down_fn down);
	uint64_t (*spin)(uint64_t rounds);
};

static struct generated jit;
static uint64_t levels, rounds_each, seconds;

/* ---- generated code: call and clobber in one page, spin in another ----------------- */

/* sub rsp,40; call rsi; add rsp,40; ret */
static const uint8_t code_call[] = {0x48, 0x83, 0xec, 0x28, 0xff, 0xd6,
				    0x48, 0x83, 0xc4, 0x28, 0xc3};
/* push rbp; sub rsp,32; mov ebp,0xbadf00d; call rsi; add rsp,32; pop rbp; ret */
static const uint8_t code_clobber[] = {0x55, 0x48, 0x83, 0xec, 0x20, 0xbd, 0x0d, 0xf0, 0xad,
				       0x0b, 0xff, 0xd6, 0x48, 0x83, 0xc4, 0x20, 0x5d, 0xc3};
/* sub rsp,40; 1: dec rdi; jnz 1b; add rsp,40; ret */
static const uint8_t code_spin[] = {0x48, 0x83, 0xec, 0x28, 0x48, 0xff, 0xcf,
				    0x75, 0xfb, 0x48, 0x83, 0xc4, 0x28, 0xc3};

static void generate(void)
{
	uint8_t *at =
		mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		abort();
	memcpy(at + ANON_CALL, code_call, sizeof code_call);
	memcpy(at + ANON_CLOBBER, code_clobber, sizeof code_clobber);
	memcpy(at + 2 * PAGE, code_spin, sizeof code_spin);
	if (mprotect(at, PAGE, PROT_READ | PROT_EXEC) < 0 ||
	    mprotect(at + PAGE, PAGE, PROT_NONE) < 0 ||
	    mprotect(at + 2 * PAGE, PAGE, PROT_READ | PROT_EXEC) < 0)
		abort();
	jit.call[0] = (uint64_t(*)(uint64_t, down_fn))(void *)(at + ANON_CALL);
	jit.call[1] = (uint64_t(*)(uint64_t, down_fn))(void *)(at + ANON_CLOBBER);
	jit.spin = (uint64_t(*)(uint64_t))(void *)(at + 2 * PAGE);
}

/* ---- leaves: each has a constant of its own ------------------------------------------ */

#define LEAF_FNS(n)                                                     \
	NOINLINE uint64_t leaf_##n(uint64_t rounds);                    \
	uint64_t leaf_##n(uint64_t rounds)                              \
	{                                                               \
		volatile uint64_t start = rounds;                       \
		uint64_t x = start;                                     \
                                                                        \
		while (rounds--)                                        \
			x = x * 6364136223846793005u + (2 * n##u + 1u); \
		return x;                                               \
	}                                                               \
	NOINLINE uint64_t at_##n(uint64_t rounds);                      \
	uint64_t at_##n(uint64_t rounds)                                \
	{                                                               \
		volatile uint64_t more = jit.spin(rounds);              \
                                                                        \
		return more + n##u;                                     \
	}
#define EIGHT(with, a, b, c, d, e, f, g, h) \
	with(a) with(b) with(c) with(d) with(e) with(f) with(g) with(h)
#define ALL(with)                                   \
	EIGHT(with, 0, 1, 2, 3, 4, 5, 6, 7)         \
	EIGHT(with, 8, 9, 10, 11, 12, 13, 14, 15)   \
	EIGHT(with, 16, 17, 18, 19, 20, 21, 22, 23) \
	EIGHT(with, 24, 25, 26, 27, 28, 29, 30, 31) \
	EIGHT(with, 32, 33, 34, 35, 36, 37, 38, 39) \
	EIGHT(with, 40, 41, 42, 43, 44, 45, 46, 47) \
	EIGHT(with, 48, 49, 50, 51, 52, 53, 54, 55) \
	EIGHT(with, 56, 57, 58, 59, 60, 61, 62, 63)
#define LEAF_NAME(n) leaf_##n,
#define AT_NAME(n)   at_##n,

ALL(LEAF_FNS)
static uint64_t (*const leaves[LEVELS_MAX])(uint64_t) = {ALL(LEAF_NAME)};
static uint64_t (*const ats[LEVELS_MAX])(uint64_t) = {ALL(AT_NAME)};

/* ---- levels --------------------------------------------------------------------------- */

NOINLINE uint64_t down(uint64_t level);
uint64_t down(uint64_t level)
{
	volatile uint64_t sum = leaves[level](rounds_each);

	sum += ats[level](rounds_each);
	if (level + 1 < levels)
		sum += jit.call[level % 2](level + 1, down);
	sum += leaves[level](rounds_each);
	return sum;
}

NOINLINE void anon_main(void)
{
	uint64_t end = seconds * 1000000000u;
	volatile uint64_t sum = 0;

	do
		sum += down(0);
	while (!end || truth_clock(CLOCK_THREAD_CPUTIME_ID) < end);
}

static void *run(void *arg)
{
	volatile int after = 1;

	anon_main();
	return after ? arg : NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[64];
	int n = argc > 4 ? atoi(argv[4]) : 0;

	if (argc < 5 || n > 64 || (levels = strtoul(argv[1], NULL, 10)) > LEVELS_MAX)
		return 2;
	rounds_each = strtoul(argv[2], NULL, 10) * 600000u + 1;
	seconds = strtoul(argv[3], NULL, 10);
	generate();
	for (int i = 0; i < n; i++)
		if (pthread_create(&threads[i], NULL, run, NULL) != 0)
			return 3;
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

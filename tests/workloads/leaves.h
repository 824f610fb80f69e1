/* SPDX-License-Identifier: Apache-2.0 */
/* The two functions. Other names (-DHEAVY=...) make another program of the same
 * source. */
#ifndef WORKLOADS_LEAVES_H
#define WORKLOADS_LEAVES_H

#include "truth.h"

#ifndef HEAVY
#define HEAVY heavy
#define LIGHT light
#endif

uint64_t HEAVY(uint64_t rounds);
uint64_t LIGHT(uint64_t rounds);

/* Each round needs the one before; the constants differ, so that the compiler
 * does not fold the two into one. What is volatile is kept on the stack: a leaf
 * that needs no stack gets no frame pointer from gcc, whatever it is told. */
NOINLINE uint64_t HEAVY(uint64_t rounds)
{
	volatile uint64_t start = rounds;
	uint64_t x = start;

	while (rounds--)
		x = x * 6364136223846793005u + 1442695040888963407u;
	return x;
}

NOINLINE uint64_t LIGHT(uint64_t rounds)
{
	volatile uint64_t start = rounds;
	uint64_t x = start;

	while (rounds--)
		x = x * 2862933555777941757u + 3037000493u;
	return x;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* One slice of work, as a frame of its own between main and the leaf. */
#ifndef WORKLOADS_MIDDLE_H
#define WORKLOADS_MIDDLE_H

#include "truth.h"

void middle(struct truth *t);

NOINLINE void middle(struct truth *t)
{
	int is_heavy = truth_heavy_is_next(t);
	uint64_t rounds = truth_rounds(t);
	uint64_t begin = truth_clock(CLOCK_THREAD_CPUTIME_ID), used;

	t->sum += (is_heavy ? t->heavy : t->light)(rounds);
	used = truth_clock(CLOCK_THREAD_CPUTIME_ID) - begin;
	*(is_heavy ? &t->heavy_ns : &t->light_ns) += used;
}

#endif

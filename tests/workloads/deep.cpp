// SPDX-License-Identifier: Apache-2.0
// main;descend x 200;middle;heavy or light; and the way back is an exception.
#include "leaves.h"
#include "middle.h"

#ifndef DEPTH
#define DEPTH 200
#endif

struct Guard {
	uint64_t *sum;
	~Guard() { ++*sum; }
};

NOINLINE static void descend(struct truth *t, int left)
{
	Guard guard{&t->sum};

	if (!left) {
		middle(t);
		throw t->sum;
	}
	descend(t, left - 1);
}

int main(int argc, char **argv)
{
	struct truth t = {};

	t.heavy = HEAVY;
	t.light = LIGHT;
	truth_begin(&t, atof(argv[1]), argc > 2);
	while (!truth_is_over(&t)) {
		try {
			descend(&t, DEPTH - 1);
		} catch (uint64_t sum) {
			t.sum ^= sum;
		}
	}
	return truth_report(&t);
}

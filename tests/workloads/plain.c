/* SPDX-License-Identifier: Apache-2.0 */
/* main;middle;heavy or main;middle;light, and nothing else. */
#include "leaves.h"
#include "middle.h"

int main(int argc, char **argv)
{
	struct truth t = {.heavy = HEAVY, .light = LIGHT};

	truth_begin(&t, atof(argv[1]), argc > 2);
	while (!truth_is_over(&t))
		middle(&t);
	return truth_report(&t);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* main;middle;heavy or main;middle;light, and nothing else. */
#include "leaves.h"
#include "middle.h"

#ifdef SHIFT
/* Moves the functions to where others are in the program of the same path. */
__attribute__((used, section(".text.unlikely"))) static const char shift[SHIFT] = {1};
#endif

int main(int argc, char **argv)
{
	struct truth t = {.heavy = HEAVY, .light = LIGHT};

	truth_begin(&t, atof(argv[1]), argc > 2);
	while (!truth_is_over(&t))
		middle(&t);
	return truth_report(&t);
}

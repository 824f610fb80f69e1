/* SPDX-License-Identifier: Apache-2.0 */
/* All work is done in a signal handler: main;interrupted;raise...;handle;middle;heavy
 * or light. */
#include <signal.h>

#include "leaves.h"
#include "middle.h"

static struct truth t = {.heavy = HEAVY, .light = LIGHT};

NOINLINE static void handle(int number)
{
	middle(&t);
	t.sum += (uint64_t)number;
}

NOINLINE static void interrupted(void)
{
	raise(SIGUSR1);
	t.sum++;
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = handle};

	sigaction(SIGUSR1, &action, NULL);
	truth_begin(&t, atof(argv[1]), argc > 2);
	while (!truth_is_over(&t))
		interrupted();
	return truth_report(&t);
}

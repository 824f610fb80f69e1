/* SPDX-License-Identifier: Apache-2.0 */
/* Work in a coroutine with a stack of its own, which is left and entered again:
 * enter;middle;heavy or light, on top of what makecontext puts there. */
#include <ucontext.h>

#include "leaves.h"
#include "middle.h"

static struct truth t = {.heavy = HEAVY, .light = LIGHT};
static ucontext_t outside, inside;
static char stack[65536];

NOINLINE static void enter(void)
{
	for (;;) {
		middle(&t);
		swapcontext(&inside, &outside);
	}
}

int main(int argc, char **argv)
{
	getcontext(&inside);
	inside.uc_stack.ss_sp = stack;
	inside.uc_stack.ss_size = sizeof stack;
	inside.uc_link = &outside;
	makecontext(&inside, enter, 0);
	truth_begin(&t, atof(argv[1]), argc > 2);
	while (!truth_is_over(&t))
		swapcontext(&outside, &inside);
	return truth_report(&t);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A call that is the last instruction of its function, because what is called never
 * returns: main;at_the_end;leave;middle;heavy or light. Where the call would return to is
 * the next function (with -falign-functions=1). */
#include <setjmp.h>

#include "leaves.h"
#include "middle.h"

static struct truth t = {.heavy = HEAVY, .light = LIGHT};
static jmp_buf back;

NOINLINE _Noreturn static void leave(void)
{
	middle(&t);
	longjmp(back, 1);
}

NOINLINE static void at_the_end(void)
{
	t.sum++;
	leave();
}

NOINLINE static void behind(void)
{
	t.sum--;
}

int main(int argc, char **argv)
{
	truth_begin(&t, atof(argv[1]), argc > 2);
	while (!truth_is_over(&t)) {
		if (!setjmp(back))
			at_the_end();
		behind();
	}
	return truth_report(&t);
}

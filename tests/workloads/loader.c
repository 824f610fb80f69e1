/* SPDX-License-Identifier: Apache-2.0 */
/* The leaves are in a library that is loaded when the program already runs.
 * Usage: loader SECONDS wait LIBRARY */
#include <dlfcn.h>

#include "middle.h"

int main(int argc, char **argv)
{
	struct truth t = {0};
	void *library;

	if (argc < 4)
		return 2;
	truth_begin(&t, atof(argv[1]), 1);
	library = dlopen(argv[3], RTLD_NOW);
	if (!library)
		return 1;
	t.heavy = (truth_leaf)dlsym(library, "heavy");
	t.light = (truth_leaf)dlsym(library, "light");
	while (!truth_is_over(&t))
		middle(&t);
	return truth_report(&t);
}

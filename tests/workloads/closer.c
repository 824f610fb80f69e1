/* SPDX-License-Identifier: Apache-2.0 */
/* The leaves are in a library that is loaded for a while and closed again, several
 * times. Usage: closer SECONDS wait LIBRARY */
#include <dlfcn.h>

#include "middle.h"

#define TIMES 4

static int use(struct truth *t, const char *path, uint64_t until_ns)
{
	void *library = dlopen(path, RTLD_NOW);

	if (!library)
		return 0;
	t->heavy = (truth_leaf)dlsym(library, "heavy");
	t->light = (truth_leaf)dlsym(library, "light");
	while (t->heavy_ns + t->light_ns < until_ns)
		middle(t);
	return dlclose(library) == 0;
}

int main(int argc, char **argv)
{
	struct truth t = {0};

	if (argc < 4)
		return 2;
	truth_begin(&t, atof(argv[1]), 1);
	for (unsigned i = 1; i <= TIMES; i++)
		if (!use(&t, argv[3], t.until_ns * i / TIMES))
			return 1;
	return truth_report(&t);
}

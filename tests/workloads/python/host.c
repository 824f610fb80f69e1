/* SPDX-License-Identifier: Apache-2.0 */
/* A program with Python in it: host LIBRARY SCRIPT [ARGUMENT...]. LIBRARY is a
 * libpython; with -DLINKED Python is linked, and there is no such argument. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef LINKED
int Py_BytesMain(int argc, char **argv);

int main(int argc, char **argv)
{
	return Py_BytesMain(argc, argv);
}
#else
int main(int argc, char **argv)
{
	void *library = argc > 2 ? dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) : NULL;
	int (*python)(int, char **) = NULL;

	if (library) {
		*(void **)&python = dlsym(library, "Py_BytesMain");
		if (!python) /* 2.7's takes plain strings */
			*(void **)&python = dlsym(library, "Py_Main");
	}
	if (!python) {
		fprintf(stderr, "no Python: %s\n", dlerror());
		return 2;
	}
	argv[1] = argv[0];
	return python(argc - 1, argv + 1);
}
#endif

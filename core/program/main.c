/* SPDX-License-Identifier: Apache-2.0 */
#include <malloc.h>
#include <unistd.h>

#include "program/cli.h"

int main(int argc, char **argv)
{
	/* A window's tables come and go: one heap, and what is large back to the
	 * system at once, so that memory follows what is in use. A library may not
	 * decide this, a program may. */
	mallopt(M_ARENA_MAX, 1);
	mallopt(M_MMAP_THRESHOLD, 65536);
	mallopt(M_TRIM_THRESHOLD, 65536);
	return gpc_cli(argc, argv, environ);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A constructor that leaves a trace: the file that $GPC_TEST_MARKER names. A
 * refused module must not get so far. */
#ifndef GPC_TESTS_MARKER_H
#define GPC_TESTS_MARKER_H

#include <stdio.h>
#include <stdlib.h>

__attribute__((constructor)) static void leave_marker(void)
{
	const char *path = getenv("GPC_TEST_MARKER");
	FILE *f = path ? fopen(path, "w") : NULL;

	if (f)
		fclose(f);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* A program that exports a symbol as a runtime does, and waits. */
#include <unistd.h>

extern __attribute__((visibility("default"))) int gpc_test_runtime_marker;
int gpc_test_runtime_marker = 1;

int main(void)
{
	while (gpc_test_runtime_marker)
		pause();
	return 0;
}

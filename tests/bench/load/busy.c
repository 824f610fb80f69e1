/* SPDX-License-Identifier: Apache-2.0 */
/* Works for ever in stacks of some 30 frames. Built several times with another
 * KIND, so that each is a file of its own. */
#include "deep.h"

int main(void)
{
	uint64_t seed = KIND, sum = 0;

	for (;;) {
		seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		/* Some hundred different paths. */
		sum += deep_a(28, (seed >> 40) % 500 * UINT64_C(0x9E3779B97F4A7C15));
		if (sum == 1)
			return 1;
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A process that lives for some milliseconds. Built several times with another
 * KIND. */
#include "deep.h"

int main(void)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < 150; i++)
		sum += deep_a(12, i * KIND);
	return sum == 1;
}

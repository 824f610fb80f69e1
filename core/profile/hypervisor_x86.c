/* SPDX-License-Identifier: Apache-2.0 */
#include <cpuid.h>
#include <string.h>

#include "profile/machine.h"

#define HYPERVISOR_LEAF 0x40000000

bool gpc_hypervisor_vendor(char ret[13])
{
	unsigned a, words[3];

	/* The plain macro: the leaf is beyond the highest that CPUID announces. */
	__cpuid(HYPERVISOR_LEAF, a, words[0], words[1], words[2]);
	memcpy(ret, words, sizeof words);
	ret[12] = '\0';
	return a >= HYPERVISOR_LEAF && ret[0];
}

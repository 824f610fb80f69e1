/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/machine.h"

bool gpc_hypervisor_vendor(char ret[13])
{
	ret[0] = '\0';
	return false;
}

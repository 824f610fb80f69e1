/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/arch.h"

const struct gpc_unwind_arch *gpc_unwind_arch_of(uint16_t machine)
{
	if (machine == gpc_unwind_x86_64.machine)
		return &gpc_unwind_x86_64;
	return machine == gpc_unwind_aarch64.machine ? &gpc_unwind_aarch64 : NULL;
}

const struct gpc_unwind_arch *gpc_unwind_arch_here(void)
{
#ifdef __aarch64__
	return &gpc_unwind_aarch64;
#else
	return &gpc_unwind_x86_64;
#endif
}

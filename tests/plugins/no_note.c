/* SPDX-License-Identifier: Apache-2.0 */
/* A shared object with the right symbol and no note: its code must not run. */
#include <gpc/plugin.h>

#include "marker.h"

GPC_EXPORT const struct gpc_module *gpc_module_entry(void);
const struct gpc_module *gpc_module_entry(void)
{
	return NULL;
}

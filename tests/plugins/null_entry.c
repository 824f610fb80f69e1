/* SPDX-License-Identifier: Apache-2.0 */
/* The entry gives no table. */
#include <gpc/plugin.h>

GPC_NOTE(0)
GPC_EXPORT const struct gpc_module *gpc_module_entry(void);
const struct gpc_module *gpc_module_entry(void)
{
	return NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Needs a symbol that nobody has: RTLD_NOW finds out. */
#include <gpc/plugin.h>

GPC_NOTE(0)
const struct gpc_module *gpc_test_nobody_has_this(void);
GPC_EXPORT const struct gpc_module *gpc_module_entry(void);
const struct gpc_module *gpc_module_entry(void)
{
	return gpc_test_nobody_has_this();
}

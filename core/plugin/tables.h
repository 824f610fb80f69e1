/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of this folder. Tables are what a module's entry returns,
 * checked and copied by struct_size, so that the rest of the core may read every
 * member that our header has: those which the module's header did not have are
 * zero. */
#ifndef GPC_PLUGIN_TABLES_H
#define GPC_PLUGIN_TABLES_H

#include "plugin/module.h"

/* Fills module, collectors and sinks of *m; what it allocated stays in *m on
 * failure too. from: what the entry returned, may be NULL. */
gpc_status gpc_tables_copy(const struct gpc_module *from, struct gpc_loaded_module *m,
			   struct gpc_err *err);

/* gpc_module_load() with an error that does not begin with the path. */
gpc_status gpc_module_try(const char *path, struct gpc_loaded_module **ret, struct gpc_err *err);

/* The plugin folder that belongs to the shared object at path. *ret is new. */
gpc_status gpc_modules_dir_of(const char *path, char **ret, struct gpc_err *err);

#endif

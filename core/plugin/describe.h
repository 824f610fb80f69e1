/* SPDX-License-Identifier: Apache-2.0 */
/* What "plugins list" and "plugins show NAME" print about loaded and refused
 * modules, without creating an instance of anything. Modules are borrowed. */
#ifndef GPC_PLUGIN_DESCRIBE_H
#define GPC_PLUGIN_DESCRIBE_H

#include <stdio.h>

#include "plugin/module.h"
#include "plugin/needs.h"

struct json_t;

/* A table: one line per module (name, version, ABI, what it has, what it does to
 * processes, state), then one per refused file with the reason. */
gpc_status gpc_describe_list(const struct gpc_modules *ms, const struct gpc_rights *rights,
			     FILE *out, struct gpc_err *err);
/* All about one module, for people and for programs. *ret is a new reference. */
gpc_status gpc_describe_show(const struct gpc_loaded_module *m, const struct gpc_rights *rights,
			     FILE *out, struct gpc_err *err);
gpc_status gpc_describe_json(const struct gpc_loaded_module *m, const struct gpc_rights *rights,
			     struct json_t **ret, struct gpc_err *err);

#endif

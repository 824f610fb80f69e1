/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/cleanup.h"
#include "config/option_impl.h"

#define ENV_PREFIX "GPROFILER_"

static const struct option_row *find_env(const struct gpc_options *o, const char *name)
{
	for (size_t r = 0; r < o->rows.n; r++)
		if (o->rows.at[r].env && strcmp(o->rows.at[r].env, name) == 0)
			return &o->rows.at[r];
	return NULL;
}

static gpc_status variable(struct gpc_options *o, const char *text, struct gpc_err *err)
{
	const char *equals = strchr(text, '=');
	autofree char *name = NULL;
	struct option_given g = {.origin = GPC_FROM_ENV};

	if (!equals || strncmp(text, ENV_PREFIX, strlen(ENV_PREFIX)) != 0)
		return GPC_OK;
	name = strndup(text, (size_t)(equals - text));
	if (!name)
		return gpc_err_nomem(err);
	g.name = name;
	g.value = (char *)equals + 1;
	return gpc_option_give(o, find_env(o, name), &g, true, err);
}

gpc_status gpc_options_env(struct gpc_options *o, char *const *envp, struct gpc_err *err)
{
	for (; envp && *envp; envp++)
		gpc_try(variable(o, *envp, err));
	return GPC_OK;
}

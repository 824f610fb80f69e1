/* SPDX-License-Identifier: Apache-2.0 */
#include "containers/container.h"

#include <stdlib.h>
#include <string.h>

void gpc_container_deinit(struct gpc_container *c)
{
	free(c->name);
	free(c->pod);
	free(c->pod_namespace);
	memset(c, 0, sizeof *c);
}

static bool copy(const char *text, char **ret)
{
	*ret = text ? strdup(text) : NULL;
	return !text || *ret;
}

gpc_status gpc_container_copy(const struct gpc_container *c, struct gpc_container *ret,
			      struct gpc_err *err)
{
	struct gpc_container fresh = {.id = c->id};

	if (!copy(c->name, &fresh.name) || !copy(c->pod, &fresh.pod) ||
	    !copy(c->pod_namespace, &fresh.pod_namespace)) {
		gpc_container_deinit(&fresh);
		return gpc_err_nomem(err);
	}
	*ret = fresh;
	return GPC_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What a runtime tells about one container. */
#ifndef GPC_CONTAINERS_CONTAINER_H
#define GPC_CONTAINERS_CONTAINER_H

#include <stdbool.h>

#include "base/err.h"
#include "proc/container.h"

/* Texts are owned; NULL: not known. */
struct gpc_container {
	struct gpc_container_id id;
	char *name; /* as users of the runtime know it */
	char *pod, *pod_namespace;
};

void gpc_container_deinit(struct gpc_container *c);
/* *ret is new. */
gpc_status gpc_container_copy(const struct gpc_container *c, struct gpc_container *ret,
			      struct gpc_err *err);

#endif

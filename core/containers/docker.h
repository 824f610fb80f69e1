/* SPDX-License-Identifier: Apache-2.0 */
/* The Docker daemon's API on its unix socket. Requests block, at most
 * GPC_DOCKER_NS each: for a thread of their own. */
#ifndef GPC_CONTAINERS_DOCKER_H
#define GPC_CONTAINERS_DOCKER_H

#include "base/clock.h"
#include "containers/container.h"

#define GPC_DOCKER_NS (5 * GPC_SECOND_NS)

/* One container; the callee takes what c holds. */
typedef void (*gpc_docker_fn)(void *ctx, struct gpc_container *c);

/* ---- answers ------------------------------------------------------------------- */

/* GET /containers/json: the running ones. Entries that are not as the API
 * promises are left out. */
gpc_status gpc_docker_parse_list(const char *text, size_t n, gpc_docker_fn fn, void *ctx,
				 struct gpc_err *err);
/* GET /containers/ID/json */
gpc_status gpc_docker_parse_one(const char *text, size_t n, struct gpc_container *ret,
				struct gpc_err *err);

/* ---- requests ------------------------------------------------------------------- */

struct gpc_docker;

/* Nothing is connected yet. */
gpc_status gpc_docker_new(const char *socket, struct gpc_docker **ret, struct gpc_err *err);
void gpc_docker_free(struct gpc_docker *d); /* NULL is fine */
/* Is there a socket? Not having Docker is no error. */
bool gpc_docker_is_there(const struct gpc_docker *d);

gpc_status gpc_docker_list(struct gpc_docker *d, gpc_docker_fn fn, void *ctx, struct gpc_err *err);
/* Stopped ones are found too. GPC_E_GONE: Docker does not know it; anything else
 * below 0: Docker could not be asked, GPC_E_UNSUPPORTED: nobody listens. */
gpc_status gpc_docker_one(struct gpc_docker *d, const struct gpc_container_id *id,
			  struct gpc_container *ret, struct gpc_err *err);
/* [any] Ends the request that runs and refuses those that come. */
void gpc_docker_interrupt(struct gpc_docker *d);

#endif

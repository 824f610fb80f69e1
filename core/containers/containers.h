/* SPDX-License-Identifier: Apache-2.0 */
/* Names of containers by the ids that stand in paths of control groups: from
 * Docker's daemon, and from the bundles that containerd and CRI-O keep on disk.
 * Having neither is normal.
 *
 * A thread of its own asks, since a daemon may hang. Answers are kept, "nobody
 * knows it" too, for some time; so a container that has ended keeps the name
 * that was found while it ran. At most 4096 containers are remembered, those
 * asked for last. All functions may be called by any thread. */
#ifndef GPC_CONTAINERS_CONTAINERS_H
#define GPC_CONTAINERS_CONTAINERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/log.h"
#include "containers/container.h"

struct gpc_containers;

struct gpc_containers_setup {      /* borrowed until gpc_containers_new returns, log for life */
	const char *root;          /* where the runtimes' folders are; NULL: PID 1's root */
	const char *docker_socket; /* NULL: run/docker.sock below root */
	struct gpc_log *log;
};

gpc_status gpc_containers_new(const struct gpc_containers_setup *setup, struct gpc_containers **ret,
			      struct gpc_err *err);
/* Breaks off what is being asked. NULL is fine. */
void gpc_containers_free(struct gpc_containers *c);

/* Has the containers of a control group (see gpc_container_ids) looked up soon.
 * Never blocks on anything but a short lock. */
void gpc_containers_want(struct gpc_containers *c, const char *cgroup);

/* The container of a control group: of nested ones the innermost that a runtime
 * knows, else the innermost, which then has an id only. Waits until until_ns for
 * answers that are outstanding. *ret is new. False: in no container. */
bool gpc_containers_find(struct gpc_containers *c, const char *cgroup, uint64_t until_ns,
			 struct gpc_container *ret);

#endif

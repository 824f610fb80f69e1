/* SPDX-License-Identifier: Apache-2.0 */
/* Forks, execs and exits from the kernel's proc connector (netlink), for when perf
 * tells nothing of them. Needs CAP_NET_ADMIN and the machine's first network
 * namespace. It knows nothing of mappings.
 *
 * One thread. The table is the owner's and locked while it is told. */
#ifndef GPC_PROC_CONNECTOR_H
#define GPC_PROC_CONNECTOR_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "proc/table.h"

struct gpc_connector;

/* procfs: "/proc". Fails with GPC_E_PERM or GPC_E_UNSUPPORTED where the kernel
 * does not let us listen. */
gpc_status gpc_connector_new(const char *procfs, const struct gpc_table_access *access,
			     struct gpc_connector **ret, struct gpc_err *err);
void gpc_connector_free(struct gpc_connector *c); /* NULL is fine */

/* To be polled for input. */
int gpc_connector_fd(const struct gpc_connector *c);
/* Tells the table all that has come, without waiting. */
void gpc_connector_run(struct gpc_connector *c);

struct gpc_connector_event {
	enum {
		GPC_CONNECTOR_OTHER,
		GPC_CONNECTOR_FORK,
		GPC_CONNECTOR_EXEC,
		GPC_CONNECTOR_EXIT
	} kind;
	int32_t pid, ppid; /* of the process; ppid: at a fork */
	uint64_t time_ns;  /* CLOCK_MONOTONIC */
};

/* One datagram. False: not from the proc connector, or cut short. Threads coming and
 * going are GPC_CONNECTOR_OTHER. */
bool gpc_connector_parse(const void *bytes, size_t n, struct gpc_connector_event *ret);

#endif

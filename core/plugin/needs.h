/* SPDX-License-Identifier: Apache-2.0 */
/* What a collector says it needs ("CAP_PERFMON" ...), against what this process
 * may do. Capabilities decide, never the user id. Nothing is owned. */
#ifndef GPC_PLUGIN_NEEDS_H
#define GPC_PLUGIN_NEEDS_H

#include <stdint.h>

#include "base/err.h"

struct gpc_rights {
	uint64_t caps; /* effective capabilities, bit by number */
	int perf_event_paranoid;
};

enum gpc_met { GPC_NEED_MISSING, GPC_NEED_MET, GPC_NEED_UNKNOWN };

/* procfd: a descriptor of /proc. */
gpc_status gpc_rights_read(int procfd, struct gpc_rights *ret, struct gpc_err *err);
/* A need that this core has no way to test is GPC_NEED_UNKNOWN. */
enum gpc_met gpc_rights_meet(const struct gpc_rights *r, const char *need);
/* The first need that is missing; NULL when none is. needs may be NULL. */
const char *gpc_rights_missing(const struct gpc_rights *r, const char *const *needs);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The CPUs that are on line. */
#ifndef GPC_SOURCE_CPUS_H
#define GPC_SOURCE_CPUS_H

#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"

struct gpc_cpus {
	vec(uint32_t) list; /* ascending */
};

/* Parses "0-3,8,10-11"; at most 65536 CPUs. */
gpc_status gpc_cpus_parse(const char *text, struct gpc_cpus *ret, struct gpc_err *err);
/* From /sys/devices/system/cpu/online, else from sysconf. */
gpc_status gpc_cpus_online(struct gpc_cpus *ret, struct gpc_err *err);
bool gpc_cpus_has(const struct gpc_cpus *cpus, uint32_t cpu);
void gpc_cpus_deinit(struct gpc_cpus *cpus);

#endif

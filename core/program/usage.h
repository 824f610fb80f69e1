/* SPDX-License-Identifier: Apache-2.0 */
/* CPU time and memory of our own control group (--log-usage), version 1 or 2. */
#ifndef GPC_PROGRAM_USAGE_H
#define GPC_PROGRAM_USAGE_H

#include <stdint.h>

#include "base/err.h"

struct gpc_usage {
	uint64_t cpu_ns;        /* since the group began */
	uint64_t memory_bytes;  /* now */
	uint64_t highest_bytes; /* 0: the kernel does not say */
};

/* root: where cgroupfs is mounted. path: of our group below it, "" in a
 * container that sees its own group as the root. */
gpc_status gpc_usage_read(const char *root, const char *path, struct gpc_usage *ret,
			  struct gpc_err *err);
/* Of this process. */
gpc_status gpc_usage_own(struct gpc_usage *ret, struct gpc_err *err);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The process on whose behalf we run: when it ends, we end. It is known by pid
 * and start time, so that another process with its number does not count; a
 * zombie has ended. */
#ifndef GPC_PROGRAM_CONTROLLER_H
#define GPC_PROGRAM_CONTROLLER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct gpc_controller {
	int32_t pid; /* 0: there is none */
	uint64_t start_time;
};

/* GPC_E_GONE when it does not run. */
gpc_status gpc_controller_init(struct gpc_controller *c, int32_t pid, struct gpc_err *err);
bool gpc_controller_is_gone(const struct gpc_controller *c);

#endif

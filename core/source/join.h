/* SPDX-License-Identifier: Apache-2.0 */
/* Native and runtime frames of one thread put together. */
#ifndef GPC_SOURCE_JOIN_H
#define GPC_SOURCE_JOIN_H

#include <stdbool.h>
#include <stdint.h>

#include <gpc/plugin.h>

#include "source/slot.h"

/* Puts the answer's runs in their places among the sample's native frames. False
 * when the runs do not fit (out of order, overlapping, beyond the stack): ret is
 * not to be used then. */
bool gpc_join(const struct gpc_pull_sample *s, const struct gpc_pull_out *answer,
	      struct gpc_pulled *ret);

/* A native frame as pulled stacks hold it: a return address is moved into the
 * call. */
static inline uint64_t gpc_join_native(uint64_t pc, bool is_leaf)
{
	return is_leaf || !pc ? pc : pc - 1;
}

#endif

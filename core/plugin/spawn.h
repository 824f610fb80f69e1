/* SPDX-License-Identifier: Apache-2.0 */
/* Running a program for a collector: in a session of its own, with nothing of
 * ours open, killed with us. */
#ifndef GPC_PLUGIN_SPAWN_H
#define GPC_PLUGIN_SPAWN_H

#include "base/err.h"

/* Starts it. *ret_pidfd is the caller's, who reaps *ret_pid. With ->inside the
 * program runs in the target's mount and pid namespaces, under the target's user
 * and group; for a target of root that is refused: a file in a target's root is
 * not run as root. Nothing of our environment goes there. */
gpc_status gpc_spawn_start(const struct gpc_spawn *spawn, int32_t *ret_pid, int *ret_pidfd,
			   struct gpc_err *err);

#endif

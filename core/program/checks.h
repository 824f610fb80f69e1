/* SPDX-License-Identifier: Apache-2.0 */
/* What must be true before we start. The texts are gProfiler's: operators and
 * their tools know them. */
#ifndef GPC_PROGRAM_CHECKS_H
#define GPC_PROGRAM_CHECKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* All of them, by the core's options. */
gpc_status gpc_checks_run(struct gpc_core *core, struct gpc_err *err);

/* One by one, over what was found: for tests. */
gpc_status gpc_check_privileges(uint64_t capabilities, bool is_root, bool is_rootless,
				struct gpc_err *err);
/* proc: where procfs is mounted. */
gpc_status gpc_check_pid_ns(const char *proc, struct gpc_err *err);

#endif

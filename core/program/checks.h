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
/* In a container of AWS Fargate: AWS_EXECUTION_ENV says so. There perf is switched
 * off and the pid namespace is not checked, whatever the options say. */
bool gpc_is_fargate(void);

/* One by one, over what was found: for tests. */
struct gpc_privileges {
	uint64_t capabilities; /* effective */
	bool is_root;          /* by the user id */
	bool is_rootless;      /* --rootless */
	bool has_perf;         /* perf is to measure */
};
gpc_status gpc_check_privileges(const struct gpc_privileges *p, struct gpc_err *err);
/* proc: where procfs is mounted. */
gpc_status gpc_check_pid_ns(const char *proc, struct gpc_err *err);

#endif

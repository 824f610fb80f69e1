/* SPDX-License-Identifier: Apache-2.0 */
/* One profiler a machine: a name in the abstract socket space of PID 1's
 * network namespace, the same that gProfiler takes, so that the two exclude
 * each other. The kernel gives it back when we end, however that happens. */
#ifndef GPC_PROGRAM_LOCK_H
#define GPC_PROGRAM_LOCK_H

#include <stdbool.h>

#include "base/err.h"

/* *ret holds the lock until it is closed. is_rootless: where PID 1's namespace
 * is out of reach, our own has to do. */
gpc_status gpc_only_one(bool is_rootless, int *ret, struct gpc_err *err);

#endif

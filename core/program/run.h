/* SPDX-License-Identifier: Apache-2.0 */
/* Runs sessions until there is no further one, a signal comes, or the
 * controller process ends. */
#ifndef GPC_PROGRAM_RUN_H
#define GPC_PROGRAM_RUN_H

#include "program/journal.h"

/* The core has its options and is not started; the journal is not open. Returns
 * the exit status: 2 and *err for a usage error, 1 with an empty *err when the
 * log says why. */
int gpc_run(struct gpc_core *core, struct gpc_journal *j, char *const *argv, struct gpc_err *err);

#endif

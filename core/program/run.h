/* SPDX-License-Identifier: Apache-2.0 */
/* Runs sessions until there is no further one, a signal comes, or the
 * controller process ends. */
#ifndef GPC_PROGRAM_RUN_H
#define GPC_PROGRAM_RUN_H

#include "program/journal.h"

/* What shows the sessions on a terminal while they run. All calls come from the
 * thread that runs them. */
struct gpc_viewer {
	void *ctx;
	int input_fd;                             /* polled for on_input */
	const int *signals;                       /* for on_signal; ended by 0 */
	void (*begin)(void *ctx);                 /* sessions run from now on */
	bool (*on_input)(void *ctx);              /* false: end */
	bool (*on_signal)(void *ctx, int number); /* false: end */
	void (*end)(void *ctx);                   /* nothing is shown from now on; may come twice */
};

/* The core has its options and is not started; the journal is not open. Returns
 * the exit status: 2 and *err for a usage error, 1 with an empty *err when the
 * log says why. viewer may be NULL. */
int gpc_run(struct gpc_core *core, struct gpc_journal *j, const struct gpc_viewer *viewer,
	    char *const *argv, struct gpc_err *err);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Signals as a descriptor to poll: SIGINT, SIGTERM (end), SIGHUP (the log file
 * was moved away). To be set up before any other thread is there. Writing to a
 * closed pipe or over a limit of file size becomes an error of the write. */
#ifndef GPC_PROGRAM_SIGNALS_H
#define GPC_PROGRAM_SIGNALS_H

#include "base/err.h"

/* *ret is the descriptor, closed by the caller. more: further signals, ended by
 * 0; or NULL. */
gpc_status gpc_signals_open(const int *more, int *ret, struct gpc_err *err);
/* The next signal that came, 0: none. */
int gpc_signals_next(int fd);

#endif

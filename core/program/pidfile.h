/* SPDX-License-Identifier: Apache-2.0 */
/* The file with our process id. */
#ifndef GPC_PROGRAM_PIDFILE_H
#define GPC_PROGRAM_PIDFILE_H

#include "base/err.h"

gpc_status gpc_pidfile_write(const char *path, struct gpc_err *err);
/* Leaves it when it is not ours any more. */
void gpc_pidfile_remove(const char *path);

#endif

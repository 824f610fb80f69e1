/* SPDX-License-Identifier: Apache-2.0 */
/* A file whose time of change tells a supervisor that sessions go on. */
#ifndef GPC_PROGRAM_HEARTBEAT_H
#define GPC_PROGRAM_HEARTBEAT_H

#include "base/err.h"

gpc_status gpc_heartbeat_touch(const char *path, struct gpc_err *err);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The threads of a process. */
#ifndef GPC_SOURCE_TIDS_H
#define GPC_SOURCE_TIDS_H

#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"

struct gpc_tids {
	vec(int32_t) list;
};

/* Those that exist now. *ret is to be given back, whatever is returned. */
gpc_status gpc_tids_read(int32_t pid, struct gpc_tids *ret, struct gpc_err *err);
void gpc_tids_deinit(struct gpc_tids *t);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Facts of a target that are looked up when somebody asks. */
#ifndef GPC_PROC_FACTS_H
#define GPC_PROC_FACTS_H

#include <stdint.h>

#include "base/err.h"
#include "proc/mem.h"

/* As the target sees it. GPC_E_BUDGET: longer than size. */
gpc_status gpc_target_cwd(const struct gpc_target *t, char *ret, uint64_t size);
/* The path by which its image was started (AT_EXECFN of its auxiliary vector). */
gpc_status gpc_target_execfn(const struct gpc_target *t, struct gpc_mem *mem, char *ret,
			     uint64_t size);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Turns the addresses of one sample into raw frames (frames.h), leaf first. */
#ifndef GPC_SOURCE_FOLD_H
#define GPC_SOURCE_FOLD_H

#include "proc/table.h"
#include "source/decode.h"
#include "source/slot.h"

#define GPC_FOLD_MAX 2304 /* frames: GPC_PULLED_MAX and the kernel's, at most 127 by default */

struct gpc_folded {
	uint32_t n;
	bool has_jit; /* some code has no file behind it */
	gpc_frame frames[GPC_FOLD_MAX];
};

/* space: the process's when the sample was taken; NULL: as it is now. pulled: the
 * user part as it was found, in place of the sample's; or NULL. */
void gpc_fold(struct gpc_table *t, struct gpc_process *p, const struct gpc_space *space,
	      const struct gpc_perf_sample *s, const struct gpc_pulled *pulled,
	      struct gpc_folded *ret);

#endif

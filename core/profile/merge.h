/* SPDX-License-Identifier: Apache-2.0 */
/* Joins what perf counted with what runtime collectors saw. All frames are
 * numbers of one gpc_names. */
#ifndef GPC_PROFILE_MERGE_H
#define GPC_PROFILE_MERGE_H

#include <stddef.h>

#include "base/err.h"
#include "profile/names.h"
#include "profile/stacks.h"

/* For each process P with nP = perf's count, R = the runtimes' stacks together
 * (docs/ARCHITECTURE.md, "Merge"):
 *   no R                      perf's stacks stay
 *   R, nP > 0                 R scaled to exactly nP by largest remainder
 *   R, nP == 0                R as it is
 *   R is only error stacks    perf's stacks, each with every error frame (once)
 *                             put at its root end; dropped when nP == 0
 *   R has error stacks too    they are no samples: each error frame (once) goes
 *                             to the root end of R's other stacks
 * A stack that has an error frame already does not get it again. Odd samples go
 * by the stacks' values and texts, so the order of the inputs does not matter
 * for the counts. An error stack is one whose root-most frame has GPC_FRAME_ERROR and that has
 * no other frame. Rows keep their threads, but processes are scaled as a whole. perf NULL: no perf
 * in this profile; all runtimes' stacks as they are, error stacks included. Processes appear in the
 * order perf first reported them, then in the runtimes' order. Equal inputs give equal bytes. */
gpc_status gpc_merge(struct gpc_names *names, const struct gpc_stacks *perf,
		     const struct gpc_stacks *const *runtimes, size_t n_runtimes, size_t max_bytes,
		     struct gpc_stacks **ret, struct gpc_err *err);

/* Scales values in place to sum to exactly total: floor of the exact share,
 * then one more for the largest remainders, ties to the lower index. All 0 stays
 * all 0. */
gpc_status gpc_scale(uint64_t *values, size_t n, uint64_t total, struct gpc_err *err);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The native unwinder of readers: frame pointers, over the sample's copy of the
 * stack and, beyond it, the thread's memory. */
#ifndef GPC_SOURCE_UNWIND_H
#define GPC_SOURCE_UNWIND_H

#include <stdbool.h>
#include <stdint.h>

#include <gpc/plugin.h>

#include "proc/mem.h"

/* A piece of the stack beyond the copy: native frames follow each other, and each word
 * of them would be a read. n 0: nothing yet. */
struct gpc_unwind_piece {
	uint64_t at, n;
	uint8_t bytes[1024];
};

struct gpc_unwind_source {
	struct gpc_mem *mem;
	uint64_t target;
	const struct gpc_pull_sample *sample; /* for its copy of the stack; or NULL */
	struct gpc_unwind_piece *piece;       /* or NULL: each read for itself */
};

/* Bytes of the stack at addr. False: not all of them could be had. */
bool gpc_unwind_read(const struct gpc_unwind_source *src, uint64_t addr, void *buf, uint32_t n);
/* One frame up. False: there is no plausible caller; state is unchanged. */
bool gpc_unwind_up(const struct gpc_unwind_source *src, struct gpc_step_state *state);

#endif

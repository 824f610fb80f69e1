/* SPDX-License-Identifier: Apache-2.0 */
/* The progress line: what is sampled, seconds left, samples, processes. */
#ifndef GPC_PROGRAM_PROGRESS_H
#define GPC_PROGRAM_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gpc/gpc.h>

struct gpc_progress {
	bool is_continuous;
	bool is_allocation; /* --mode */
};

void gpc_progress_init(struct gpc_progress *p, struct gpc_core *core);
void gpc_progress_text(const struct gpc_progress *p, const struct gpc_core_state *state,
		       uint64_t now_ns, char *buf, size_t size);

#endif

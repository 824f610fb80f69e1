/* SPDX-License-Identifier: Apache-2.0 */
/* Walks a batch of records that came from a collector, which may be a foreign
 * process: nothing of it is trusted. */
#ifndef GPC_PROFILE_RECORD_H
#define GPC_PROFILE_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct gpc_record_visitor {
	void *ctx;
	/* frames: s->n_frames of them, 8-aligned, inside the batch. */
	void (*sample)(void *ctx, const struct gpc_sample *s, const gpc_frame *frames);
};

/* Visits the samples; unknown record types are skipped. Stops with
 * GPC_E_CORRUPT at the first record that does not fit, and says where. */
gpc_status gpc_records_walk(const uint8_t *records, size_t n, const struct gpc_record_visitor *v,
			    struct gpc_err *err);

#endif

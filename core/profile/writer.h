/* SPDX-License-Identifier: Apache-2.0 */
/* The gpc_writer that a collector's callback fills: a batch of records, handed
 * on when full or flushed, under a budget of bytes per window. Used by one
 * thread at a time; the batch is walked (record.h) before anything of it is
 * believed. */
#ifndef GPC_PROFILE_WRITER_H
#define GPC_PROFILE_WRITER_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "profile/names.h"

struct gpc_batch_sink {
	void *ctx;
	/* A full batch of records; their bytes are only borrowed. */
	void (*batch)(void *ctx, const uint8_t *records, size_t n);
};

struct gpc_batch_writer; /* its first member is a struct gpc_writer */

/* suffixes: the collector's, as texts of names, n_suffixes of them (copied).
 * budget_bytes: of records until gpc_batch_writer_window; 0 unlimited. */
gpc_status gpc_batch_writer_new(struct gpc_names *names, const gpc_str *suffixes,
				unsigned n_suffixes, uint64_t budget_bytes,
				const struct gpc_batch_sink *sink, struct gpc_batch_writer **ret,
				struct gpc_err *err);
void gpc_batch_writer_free(struct gpc_batch_writer *w);
struct gpc_writer *gpc_batch_writer_get(struct gpc_batch_writer *w);
/* Hands on what was written since. */
void gpc_batch_writer_flush(struct gpc_batch_writer *w);
/* A new window: the budget starts anew; names may be another epoch's (a
 * reference is taken). */
void gpc_batch_writer_window(struct gpc_batch_writer *w, struct gpc_names *names,
			     const gpc_str *suffixes);
/* Records refused by the budget since the last window call. */
uint64_t gpc_batch_writer_refused(const struct gpc_batch_writer *w);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* A test hook: every record as it was read from the rings, in the order in
 * which it was counted, so that an independent decoder can count again.
 *
 * The file is a row of: u32 size of the record, u32 ring number, u64
 * perf_event_attr.sample_type, u32 sample_id_all, u32 0, then the record. */
#ifndef GPC_SOURCE_RAWFILE_H
#define GPC_SOURCE_RAWFILE_H

#include "base/err.h"
#include "source/decode.h"

struct gpc_rawfile;

gpc_status gpc_rawfile_new(const char *path, struct gpc_rawfile **ret, struct gpc_err *err);
void gpc_rawfile_free(struct gpc_rawfile *f);
void gpc_rawfile_put(struct gpc_rawfile *f, const void *record, size_t n, uint32_t ring,
		     const struct gpc_perf_format *format);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the reader, for its tests: rings that no kernel fills. */
#ifndef GPC_SOURCE_READER_IMPL_H
#define GPC_SOURCE_READER_IMPL_H

#include "source/reader.h"

struct gpc_reader_ring {
	void *mapping; /* by mmap: one page for the kernel's, then bytes of data */
	size_t bytes;
	struct gpc_perf_format format;
	uint32_t stream, cpu; /* what visitors are told */
	uint64_t dropped;     /* what its queue could not take so far */
};

/* Adds a ring to those that are drained; its mapping is taken. */
gpc_status gpc_reader_adopt(struct gpc_reader *r, const struct gpc_reader_ring *ring,
			    struct gpc_err *err);
/* Of the rings, in the order in which they came. */
struct gpc_slot *gpc_reader_slot(struct gpc_reader *r, size_t i);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* One mmapped perf ring, read in place. The consumer looks at the next record,
 * takes it, and gives the space back to the kernel when a batch is done. */
#ifndef GPC_SOURCE_RING_H
#define GPC_SOURCE_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "source/decode.h"

struct gpc_ring {
	struct perf_event_mmap_page *page; /* NULL: not mapped */
	uint8_t *data;
	uint64_t size; /* bytes of data, a power of two */
	uint64_t head; /* as last read from the kernel */
	uint64_t tail; /* up to here we have read */
	uint64_t last_time;
	struct gpc_perf_format format;
	atomic_uint *users; /* of the mapping; NULL: this is the only one */
};

/* Maps fd's ring with the wanted number of data bytes (a power of two), or half
 * as many and so on down to min_bytes when the memlock limit is in the way. */
gpc_status gpc_ring_map(int fd, size_t bytes, size_t min_bytes, struct gpc_ring *ret,
			struct gpc_err *err);
void gpc_ring_unmap(struct gpc_ring *ring);
/* ret: what lies in the ring stays readable until both were unmapped. False: no memory.
 * Not thread-safe. */
bool gpc_ring_share(struct gpc_ring *ring, struct gpc_ring *ret);

/* Looks for what the kernel has written meanwhile. */
void gpc_ring_refresh(struct gpc_ring *ring);
/* Time of the next record, never going back; false: none there. */
bool gpc_ring_next_time(struct gpc_ring *ring, uint64_t *ret);
/* The next record: in place, or copied to scratch (65536 bytes, 8-aligned) when
 * it wraps. Its size goes to *size. The record is taken. */
const void *gpc_ring_take(struct gpc_ring *ring, void *scratch, size_t *size);
/* Gives the taken records' space back. */
void gpc_ring_release(struct gpc_ring *ring);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of targets, read through /proc/PID/mem kept open: cheaper than
 * process_vm_readv for single reads, and it answers with an error where that
 * would wait for ever (a page that userfaultfd owes). A descriptor belongs to
 * one process image: after an exec it reads nothing, never the new image.
 *
 * Thread-safe. The number of descriptors is bounded; those not in use for the
 * longest time go first. */
#ifndef GPC_PROC_MEM_H
#define GPC_PROC_MEM_H

#include <stdint.h>

#include "base/err.h"

struct gpc_mem;

/* replay: reads come from there instead of from processes (tests); or NULL. */
struct gpc_mem_replay {
	void *ctx;
	int64_t (*read)(void *ctx, uint64_t target, uint64_t addr, void *buf, uint64_t len);
};

gpc_status gpc_mem_new(unsigned max_files, const struct gpc_mem_replay *replay,
		       struct gpc_mem **ret, struct gpc_err *err);
void gpc_mem_free(struct gpc_mem *m); /* NULL is fine */

/* Opens the target's memory and keeps it open until gpc_mem_close: for readers,
 * which must not open files. */
gpc_status gpc_mem_open(struct gpc_mem *m, uint64_t target, int32_t pid, struct gpc_err *err);
void gpc_mem_close(struct gpc_mem *m, uint64_t target);

/* Bytes read (less than len at the end of a mapping), or a status below 0: GONE
 * for a process or an image that is no more, CORRUPT for an address that is not
 * mapped, PERM. Opens what is not open yet unless pid is 0. */
int64_t gpc_mem_read(struct gpc_mem *m, uint64_t target, int32_t pid, uint64_t addr, void *buf,
		     uint64_t len);

/* Several ranges at once, by process_vm_readv: for whole structures. The same
 * answers; ranges are filled in order until one fails. Not for readers: it can
 * wait for a page that nobody delivers. */
struct gpc_mem_range {
	uint64_t addr, len;
	void *buf;
};
int64_t gpc_mem_gather(struct gpc_mem *m, uint64_t target, int32_t pid,
		       const struct gpc_mem_range *ranges, unsigned n);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What the files about C libraries share: threads.c asks, glibc.c and musl.c
 * know. */
#ifndef GPC_PROC_TARGET_THREADS_IMPL_H
#define GPC_PROC_TARGET_THREADS_IMPL_H

#include <stddef.h>

#include "proc/target_threads.h"

struct gpc_libc {
	/* Fills the offsets; GPC_E_GONE: it is not mapped. */
	gpc_status (*open)(struct gpc_target_threads *th, struct gpc_err *err);
	gpc_status (*pointer)(struct gpc_target_threads *th, int32_t ns_tid, uint64_t *ret,
			      struct gpc_err *err);
	gpc_status (*module_number)(struct gpc_target_threads *th, uint64_t link_map, uint64_t *ret,
				    struct gpc_err *err);
};

extern const struct gpc_libc gpc_libc_glibc, gpc_libc_musl;

struct gpc_target_threads {
	const struct gpc_target *target; /* borrowed */
	struct gpc_mem *mem;
	const struct gpc_libc *libc;
	/* Offsets in struct pthread, which pthread_t points to. */
	uint64_t tid, dtv, dtv_stride, list;
	int64_t dtv_count;     /* in a thread's vector: the number of modules it has room for */
	uint64_t pointer_bias; /* the thread pointer is struct pthread plus this */
	uint64_t modid;        /* in struct link_map */
	uint64_t lists[2];     /* glibc: heads of the lists of threads */
	uint64_t first;        /* musl: the main thread's struct pthread */
};

gpc_status gpc_target_threads_read(struct gpc_target_threads *th, uint64_t addr, void *buf,
				   size_t n, struct gpc_err *err);
gpc_status gpc_target_threads_read_word(struct gpc_target_threads *th, uint64_t addr, uint64_t *ret,
					struct gpc_err *err);

#define GPC_TARGET_THREADS_MAX 65536

#endif

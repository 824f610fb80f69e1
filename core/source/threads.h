/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the threads that used CPU, for profiles that tell threads apart. A
 * name is read once, at the thread's first sample (while it lives), and follows
 * the kernel's word of changes. Covered by the sampler's lock. */
#ifndef GPC_SOURCE_THREADS_H
#define GPC_SOURCE_THREADS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"

struct gpc_thread {
	uint64_t process; /* 0: no sample yet, only a name */
	int32_t tid;
	uint32_t window; /* of its latest sample or name */
	char name[16];   /* "": it was gone before we looked */
};

struct gpc_threads {
	int proc_fd; /* borrowed */
	vec(struct gpc_thread) list;
	struct gpc_u64map index; /* tid -> place */
};

void gpc_threads_deinit(struct gpc_threads *t);
/* A sample of a thread of a process. */
void gpc_threads_seen(struct gpc_threads *t, uint64_t process, int32_t pid, int32_t tid,
		      uint32_t window);
/* The kernel says that it is called so from now on. */
void gpc_threads_renamed(struct gpc_threads *t, int32_t tid, const char *name, uint32_t window);
/* "" when it is not known; borrowed until the next call. */
const char *gpc_threads_name(const struct gpc_threads *t, uint64_t process, int32_t tid);
/* Forgets threads without a sample since the window before this one. */
void gpc_threads_trim(struct gpc_threads *t, uint32_t window);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The JVM's threads: whose JavaThread a kernel thread is, and where it left Java
 * (OpenJDK runtime/javaThread.hpp, runtime/javaFrameAnchor.hpp). */
#ifndef GPC_JAVA_THREADS_H
#define GPC_JAVA_THREADS_H

#include <pthread.h>

#include "layout.h"

#define GPC_JAVA_THREADS_MAX 8192

struct java_thread_id {
	int32_t tid;      /* in the target's pid namespace; 0 free */
	uint32_t missed;  /* how often it was not found in the list */
	uint64_t thread;  /* its JavaThread; 0: it has none */
	uint64_t scan_ns; /* of one that has none: when to look at the list again */
};

struct java_threads {
	pthread_mutex_t lock;
	struct java_thread_id *at; /* open addressing by tid */
	uint64_t scanned_ns;
	uint32_t n;
	uint32_t left; /* of a look at the list that was cut short */
	uint64_t next; /* the same where threads are chained */
};

/* Where Java frames go on. sp 0: nowhere. */
struct java_anchor {
	uint64_t sp, pc, fp;
};

bool gpc_java_threads_init(struct java_threads *t);
void gpc_java_threads_deinit(struct java_threads *t);
/* [reader] The JavaThread of a thread; 0: it has none, or it is not known yet. */
uint64_t gpc_java_thread_of(struct java_threads *t, const struct jmem *m, const struct layout *l,
			    int32_t ns_tid);
static inline bool gpc_java_has_anchors(const struct layout *l)
{
	return gpc_java_has(l, F_ANCHOR_SP) && gpc_java_has(l, F_ANCHOR_PC) &&
	       gpc_java_has(l, F_ANCHOR_FP);
}
/* Can it be one? */
static inline bool gpc_java_anchor_is(const struct java_anchor *a)
{
	return gpc_java_is_pointer(a->sp) && a->sp % 8 == 0 && gpc_java_is_pointer(a->pc);
}
/* [reader] Where the thread whose stack pointer is sp left Java. */
struct java_anchor gpc_java_thread_left(struct java_threads *t, const struct jmem *m,
					const struct layout *l, int32_t ns_tid, uint64_t sp);

#endif

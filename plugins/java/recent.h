/* SPDX-License-Identifier: Apache-2.0 */
/* What was read of the JVM a moment ago, and need not be read again at each sample: that
 * a piece of compiled code is still the one that is remembered, and the heads of methods.
 * HotSpot frees neither while a thread is in it, and gives the memory to something else
 * only after a collection or a sweep.
 *
 * How long a look is good for: the longer a thing was seen to be there, the longer it
 * will be. A sixteenth of that time, so that whatever the pace at which a program drops its
 * code, a small part of the samples can meet what is outdated: 50, 100, 200 or 400 ms. It
 * ends at a multiple of half of that, so that what lies in one stack is looked at again in
 * one sample: the first read after a reader was woken costs as much as the next five.
 *
 * Readers of several CPUs use it at once, without locks (cell.h). */
#ifndef GPC_JAVA_RECENT_H
#define GPC_JAVA_RECENT_H

#include "cell.h"
#include "heap.h"
#include "method.h"

#define GPC_JAVA_RECENT_BLOBS   1024 /* powers of two */
#define GPC_JAVA_RECENT_METHODS 256
#define GPC_JAVA_RECENT_NS      UINT64_C(50000000)
#define GPC_JAVA_RECENT_MAX_NS  (8 * GPC_JAVA_RECENT_NS)
#define GPC_JAVA_RECENT_PART    16

struct java_recent {
	uint64_t blobs[GPC_JAVA_LINES(GPC_JAVA_RECENT_BLOBS)];
	uint64_t methods[GPC_JAVA_LINES(2 * GPC_JAVA_RECENT_METHODS)];
};

/* The time until which it counts as what it was found to be; 0: that is over. */
uint64_t gpc_java_recent_blob(const struct java_recent *r, const struct blob *b, uint64_t now_ns);
/* It was looked at, and is. The same. */
uint64_t gpc_java_recent_blob_is(struct java_recent *r, const struct blob *b, uint64_t now_ns);
bool gpc_java_recent_method(const struct java_recent *r, uint64_t addr, uint64_t now_ns,
			    struct method *ret);
void gpc_java_recent_method_is(struct java_recent *r, const struct method *m, uint64_t now_ns);

#endif

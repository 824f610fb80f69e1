/* SPDX-License-Identifier: Apache-2.0 */
/* What was read of the JVM a moment ago, and need not be read again at each sample: that
 * a piece of compiled code is still the one that is remembered, and the heads of methods.
 * HotSpot frees neither while a thread is in it, and gives the memory to something else
 * only after a collection or a sweep. Readers of several CPUs use it at once. */
#ifndef GPC_JAVA_RECENT_H
#define GPC_JAVA_RECENT_H

#include <pthread.h>

#include "heap.h"
#include "method.h"

#define GPC_JAVA_RECENT    256 /* a power of two */
#define GPC_JAVA_RECENT_NS UINT64_C(50000000)

struct java_recent {
	pthread_mutex_t lock;
	struct {
		uint64_t addr, ns;
		int32_t compile_id;
	} blobs[GPC_JAVA_RECENT];
	struct {
		uint64_t ns;
		struct method method;
	} methods[GPC_JAVA_RECENT];
};

void gpc_java_recent_init(struct java_recent *r);
void gpc_java_recent_deinit(struct java_recent *r);
/* Was it found to be as it is? */
bool gpc_java_recent_blob(struct java_recent *r, const struct blob *b, uint64_t now_ns);
void gpc_java_recent_blob_is(struct java_recent *r, const struct blob *b, uint64_t now_ns);
bool gpc_java_recent_method(struct java_recent *r, uint64_t addr, uint64_t now_ns,
			    struct method *ret);
void gpc_java_recent_method_is(struct java_recent *r, const struct method *m, uint64_t now_ns);

#endif

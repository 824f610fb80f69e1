/* SPDX-License-Identifier: Apache-2.0 */
/* One JVM that we are attached to. */
#ifndef GPC_JAVA_VM_H
#define GPC_JAVA_VM_H

#include "cache.h"
#include "heap.h"
#include "options.h"
#include "recent.h"
#include "threads.h"

struct vm {
	struct jmem mem;
	struct layout layout;
	struct code_heaps heaps;
	const struct options *options;
	uint64_t call_stub_return; /* 0: not made yet */
	uint64_t non_safepoints;   /* where its flag DebugNonSafepoints is; 0: not known */
	struct place_cache places;
	struct method_cache methods;
	struct java_recent recent;
	struct java_threads threads;
};

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* One JVM that we are attached to. */
#ifndef GPC_JAVA_VM_H
#define GPC_JAVA_VM_H

#include <stdatomic.h>

#include "brief.h"
#include "cache.h"
#include "continuation.h"
#include "flows.h"
#include "heap.h"
#include "options.h"
#include "recent.h"
#include "threads.h"

struct vm {
	struct jmem mem;
	struct layout layout;
	struct code_heaps heaps;
	const struct options *options;
	uint64_t call_stub_return;      /* 0: not made yet */
	uint64_t non_safepoints;        /* where its flag DebugNonSafepoints is; 0: not known */
	_Atomic uint64_t uncommon_trap; /* where compiled code calls it; 0: not found yet */
	struct place_cache places;
	struct java_briefs briefs;
	struct method_cache methods;
	struct java_recent recent;
	struct java_threads threads;
	struct java_flags flags;
	struct java_heap heap;
	struct java_continuations continuations;
	struct java_flows flows;
};

/* The parts that need memory. False: there is none; deinit is fine then too. */
bool gpc_java_vm_init(struct vm *vm);
void gpc_java_vm_deinit(struct vm *vm);

#endif

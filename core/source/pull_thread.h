/* SPDX-License-Identifier: Apache-2.0 */
/* Reader threads: one per CPU, pinned, woken by each sample, at a priority that
 * lets it read the sampled process before that runs on. A reader whose process
 * makes it wait (a page that nobody delivers) is given up: another takes its
 * place, and the record goes on without what it would have added. */
#ifndef GPC_SOURCE_PULL_THREAD_H
#define GPC_SOURCE_PULL_THREAD_H

#include <stdbool.h>

#include "base/err.h"
#include "base/log.h"
#include "source/slot.h"

enum gpc_priority {
	GPC_PRIORITY_REALTIME,
	GPC_PRIORITY_NICE,
	GPC_PRIORITY_NORMAL,
	GPC_PRIORITY_BATCHED /* not woken by samples: every 100 ms */
};

const char *gpc_priority_name(enum gpc_priority p);

struct gpc_pull_hooks {
	void *ctx;
	/* [reader] The user stack of a sample; false: nothing to add. */
	bool (*pull)(void *ctx, uint32_t cpu, const void *record, size_t n,
		     const struct gpc_perf_format *format, struct gpc_pulled *ret);
	/* [reader] It ends: what it keeps (ret->own) is freed, with free(). Not called of one
	 * that was given up. */
	void (*end)(void *ctx, struct gpc_pulled *ret);
	/* The reader that is in pull() with this ret does not come back. */
	void (*hangs)(void *ctx, struct gpc_pulled *ret);
};

/* Starts a reader for the slot. *got: the priority that could be had. */
gpc_status gpc_reader_thread_start(struct gpc_slot *slot, const struct gpc_pull_hooks *hooks,
				   enum gpc_priority wanted, enum gpc_priority *got,
				   struct gpc_err *err);
/* Ends it; the ring is the source's again. One that hangs is left to itself. */
void gpc_reader_thread_stop(struct gpc_slot *slot);
/* To be called now and then: gives a reader up that has been in pull() for more
 * than limit_ns, and starts another. True when it did. */
bool gpc_reader_thread_check(struct gpc_slot *slot, uint64_t limit_ns);
/* Whether distances between samples may be even from now on (crowd.h). */
void gpc_reader_thread_set_calm(struct gpc_slot *slot, bool is_calm);
/* CPU time of the slot's reader so far. */
uint64_t gpc_reader_thread_cpu_ns(struct gpc_slot *slot);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* gpc.tick/1: samples of the threads that run, on timers of our own.
 *
 * A sample must hit a thread where it executes, not where it was put aside: threads are
 * put aside at certain places rather than anywhere (the end of a time slice is noticed in
 * system calls), and a thread that waits for a CPU uses none. So the ticker is a real-time
 * thread: when its timer ends it interrupts whatever the CPU executes. Threads that may run
 * on other CPUs are visited there, which interrupts what runs at that moment. Which thread
 * was interrupted the kernel tells (proc/running.h); all others that could run were waiting.
 *
 * The ticker (gpc-ticker) reads under the lock; gpc-threads looks now and then which threads
 * use CPU, at ordinary priority. Everything here may be called from any thread. */
#ifndef GPC_PLUGIN_TICKS_H
#define GPC_PLUGIN_TICKS_H

#include <stdbool.h>

#include "base/err.h"
#include "base/log.h"
#include "profile/writer.h"

struct gpc_ticks;

struct gpc_ticks_setup {
	const struct gpc_tick_api *api; /* borrowed, as all of this */
	void *self;
	uint64_t every_ns; /* mean distance of the ticks */
	uint32_t permille; /* of a CPU, at most */
	bool is_realtime;  /* wanted */
	struct gpc_batch_writer *writer;
	struct gpc_log *log;
	const char *name; /* of the collector */
};

gpc_status gpc_ticks_new(const struct gpc_ticks_setup *setup, struct gpc_ticks **ret,
			 struct gpc_err *err);
void gpc_ticks_free(struct gpc_ticks *t); /* NULL is fine */

/* target and tctx are borrowed until gpc_ticks_remove. */
gpc_status gpc_ticks_add(struct gpc_ticks *t, const struct gpc_target *target, void *tctx);
void gpc_ticks_remove(struct gpc_ticks *t, uint64_t target);

/* While it is held no tick is under way, and the writer is the caller's. */
void gpc_ticks_lock(struct gpc_ticks *t);
void gpc_ticks_unlock(struct gpc_ticks *t);
/* Of the process that tick() is called for now; 0: none. Under the lock. */
uint64_t gpc_ticks_target(const struct gpc_ticks *t);

struct gpc_ticks_stats { /* since the start */
	uint64_t asked;  /* threads that were interrupted: the collector was asked */
	uint64_t exact;  /* of them: while the thread stood still */
	uint64_t failed; /* of them: the collector gave an error, as for a torn stack */
	uint64_t late;   /* ticks left out: over the budget, or too late */
};
void gpc_ticks_stats(struct gpc_ticks *t, struct gpc_ticks_stats *ret);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* gpc.tick/1: sampling without perf (push).
 *
 * A part of gpc/plugin.h, which includes it: the rules on growth, threads, memory and
 * text stand there. */
#ifndef GPC_EXT_TICK_H
#define GPC_EXT_TICK_H

#include <gpc/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

struct gpc_pull_sample; /* gpc/ext/pull.h */

/* A collector with it (asked through gpc_collector.extension) samples its processes on
 * timers of the core. At each tick, at random distances, the core looks which of
 * the threads that may run do run, goes to the CPU of each, and calls tick() for the one
 * that it interrupted there: it stands still until tick() returns. Threads that wait, for a
 * CPU too, are not sampled.
 *
 * [reader] as for gpc.walk/1, but never two at once. Of the writer samples too: what tick()
 * writes must be of the target that it was called for. */
struct gpc_tick_api { /* gpc.tick/1 */
	uint32_t struct_size, reserved;
	/* [reader] Threads of the process that may run now and are worth a sample, by their
	 * numbers in its pid namespace; how many, at most room. Optional. Threads that have
	 * used CPU lately are looked at in any case; one that has begun to run only now is
	 * known only to the collector. */
	uint32_t (*threads)(void *self, void *tctx, int32_t *ns_tids, uint32_t room);
	/* [reader] Of s only tid, ns_tid, cpu, time_ns and flags are set. Without
	 * GPC_PULL_EXACT the thread runs on meanwhile. An error, as for a stack that changed
	 * while it was read, is counted. */
	gpc_status (*tick)(void *self, void *tctx, const struct gpc_pull_sample *s,
			   struct gpc_writer *w);
};

#ifdef __cplusplus
}
#endif
#endif /* GPC_EXT_TICK_H */

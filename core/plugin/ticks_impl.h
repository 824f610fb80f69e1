/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of struct gpc_ticks, for ticks.c (the timer and the visits) and lookout.c (which
 * threads use CPU). */
#ifndef GPC_PLUGIN_TICKS_IMPL_H
#define GPC_PLUGIN_TICKS_IMPL_H

#include <pthread.h>

#include "base/map.h"
#include "base/vec.h"
#include "plugin/ticks.h"

#define GPC_TICK_BUSY 64 /* threads of a process that are looked at in each tick */

struct gpc_tick_thread {
	int32_t tid, ns_tid;
};

struct gpc_tick_target {
	int refs; /* atomic */
	uint64_t id;
	int32_t pid, ns_pid;
	/* Under the lock. */
	const struct gpc_target *target; /* NULL: removed */
	void *tctx;
	struct gpc_tick_thread busy[GPC_TICK_BUSY];
	uint32_t n_busy;
	bool wants_scan;             /* a thread was named that we do not know */
	uint64_t tick_cpu_ns;        /* of the process, at the last tick */
	struct gpc_u64map ns_to_tid; /* in a pid namespace of its own only */
	/* The lookout's. */
	uint64_t cpu_ns, scan_from_ns;
	struct gpc_u64map threads; /* tid -> its CPU time */
	uint32_t idle[GPC_TICK_BUSY];
	bool is_known;
};

struct gpc_ticks {
	struct gpc_ticks_setup setup;
	int proc_fd, stop_fd, wake_fd;
	pthread_t ticker, lookout;
	bool is_running;
	pthread_mutex_t lock; /* covers what follows, and members of targets */
	vec(struct gpc_tick_target *) targets;
	uint64_t target; /* tick() is called for */
	struct gpc_ticks_stats stats;
};

void gpc_tick_target_put(struct gpc_tick_target *t);
/* The thread's body. */
void *gpc_ticks_lookout(void *ticks);

#endif

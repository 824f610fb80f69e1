/* SPDX-License-Identifier: Apache-2.0 */
/* One running collector: its host table, its worker, the processes it is
 * attached to, what it wrote in this window, and what went wrong.
 *
 *   new (create, probe) - start - { claim, attach, detach, window }* - stop - free
 *
 * The control thread calls everything here except what says otherwise; the
 * collector's [worker] callbacks run on the instance's worker. */
#ifndef GPC_PLUGIN_INSTANCE_H
#define GPC_PLUGIN_INSTANCE_H

#include <stdbool.h>

#include "base/err.h"
#include "base/log.h"
#include "plugin/module.h"
#include "plugin/report.h"
#include "plugin/ticks.h"
#include "proc/mem.h"
#include "proc/target.h"
#include "profile/names.h"
#include "profile/stacks.h"

struct gpc_instance;

/* What the core gives to instances beyond this folder; all must stay valid
 * until the instance is freed. Calls come from any of the instance's threads. */
struct gpc_services {
	void *ctx;
	/* Extensions of the core: gpc.source/1, gpc.processes/1. instance goes
	 * with the host table they are asked with: gpc_instance_of_host. */
	const void *(*extension)(void *ctx, const char *id);
	bool (*should_stop)(void *ctx);
	/* May the collector attach to one more? (--max-processes-runtime-profiler) */
	uint32_t max_targets;
	struct gpc_mem *mem; /* memory of targets */
	/* A process was attached to, will be detached from. [worker] left() false: a
	 * reader hangs in the collector for this process: it is never detached. */
	void (*joined)(void *ctx, struct gpc_instance *i, const struct gpc_target *t, void *tctx);
	bool (*left)(void *ctx, struct gpc_instance *i, uint64_t target);
	size_t stack_bytes;    /* cap of one event's table */
	bool wants_threads;    /* rows by thread (gpc_key) */
	uint64_t record_bytes; /* of records in a window; 0 unlimited */
	bool no_realtime;      /* samples of gpc.tick/1 are not to be at real-time priority */
};

struct gpc_instance_setup {
	const struct gpc_loaded_module *module;
	const struct gpc_collector *collector;
	const void *options; /* the module's, filled */
	const struct gpc_services *services;
	struct gpc_names *names; /* a reference is taken */
	struct gpc_log *log;
};

/* Calls create and probe. */
gpc_status gpc_instance_new(const struct gpc_instance_setup *setup, struct gpc_instance **ret,
			    struct gpc_err *err);
gpc_status gpc_instance_start(struct gpc_instance *i, const struct gpc_session *session,
			      struct gpc_err *err);
/* Detaches from all, stops. Safe twice. */
void gpc_instance_stop(struct gpc_instance *i);
void gpc_instance_free(struct gpc_instance *i); /* NULL is fine */

const struct gpc_collector *gpc_instance_collector(const struct gpc_instance *i);
const char *gpc_instance_name(const struct gpc_instance *i);
struct gpc_instance *gpc_instance_of_host(const struct gpc_host *h);
void *gpc_instance_self(struct gpc_instance *i);
/* One trouble with one process, from any thread. */
void gpc_instance_trouble(struct gpc_instance *i, uint64_t target, int32_t pid, gpc_status code,
			  const char *detail);
const struct gpc_services *gpc_instance_services(const struct gpc_instance *i);

/* ---- process events: subscribe from the collector, tell from anywhere --------- */

/* GPC_E_CONFIG for a collector without any [worker] callback. */
gpc_status gpc_instance_subscribe(struct gpc_instance *i, uint32_t kinds,
				  void (*fn)(void *self, const struct gpc_process_event *ev));
/* Queues the event for the worker if it was asked for. Never blocks; a worker
 * that is thousands of events behind misses some, which is logged. */
void gpc_instance_tell(struct gpc_instance *i, const struct gpc_process_event *ev);

/* ---- processes: from the discovery's thread ---------------------------------- */

/* Runs claim() on the worker, waits at most until deadline_ns: -1 when it took
 * longer. 50 for a collector without claim(). */
int32_t gpc_instance_claim(struct gpc_instance *i, struct gpc_target_view *view,
			   uint64_t deadline_ns);
/* Queues an attach; failures are reported and tried again after 2, 4, 8 ...
 * windows while the process lives. */
void gpc_instance_attach(struct gpc_instance *i, struct gpc_target_view *view);
/* Has it gpc.fork/1? */
bool gpc_instance_forks(struct gpc_instance *i);
/* Queues an attach to a child of the attached process parent, which was copied from it. */
void gpc_instance_attach_child(struct gpc_instance *i, const struct gpc_target_id *child,
			       uint64_t parent);
/* Queues a detach; unknown ids are fine. */
void gpc_instance_detach(struct gpc_instance *i, uint64_t target);
/* Waits until what was queued so far is done; false: not by then. */
bool gpc_instance_settle(struct gpc_instance *i, uint64_t deadline_ns);

/* ---- windows ------------------------------------------------------------------- */

/* Lets the collector write what it measured, before anything else that it has been asked
 * for; does not wait, so that a slow one takes no time from others. next: the names for
 * what it writes after that (a reference is taken); NULL: the same. */
gpc_status gpc_instance_begin_window(struct gpc_instance *i, const struct gpc_window *win,
				     struct gpc_names *next, struct gpc_err *err);
/* Waits for that until the window's deadline. GPC_E_TIMEOUT: it did not come
 * back; its window is empty. */
gpc_status gpc_instance_end_window(struct gpc_instance *i, const struct gpc_window *win,
				   struct gpc_err *err);
/* Both, with the same names. */
gpc_status gpc_instance_window(struct gpc_instance *i, const struct gpc_window *win,
			       struct gpc_err *err);
/* What it wrote for one of its events in the window before; NULL when nothing.
 * Borrowed until the next gpc_instance_begin_window; NULL when gpc_instance_is_done
 * says no. Frames are numbers of names (of the epoch given), or addresses of the target. */
const struct gpc_stacks *gpc_instance_stacks(const struct gpc_instance *i, uint16_t event,
					     uint32_t epoch);
/* False: it was not done in time, or its frames are of other names, which it was not told
 * of for lack of memory. */
bool gpc_instance_is_done(const struct gpc_instance *i, uint32_t epoch);
/* What was reported since the last call. The caller frees with
 * gpc_reports_deinit. */
void gpc_instance_take_reports(struct gpc_instance *i, struct gpc_reports *ret);
/* How sampling on its timer went; false: it has none. Any thread. */
bool gpc_instance_ticks_stats(const struct gpc_instance *i, struct gpc_ticks_stats *ret);
uint32_t gpc_instance_targets(const struct gpc_instance *i); /* attached now; any thread */

#endif

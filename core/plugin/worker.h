/* SPDX-License-Identifier: Apache-2.0 */
/* The thread on which one collector's [worker] callbacks run, one after
 * another: jobs posted from elsewhere, and what it waits for (descriptors,
 * timers, children), which is looked at between two jobs. */
#ifndef GPC_PLUGIN_WORKER_H
#define GPC_PLUGIN_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct gpc_worker;

/* What a job is done for: shared by the poster, who may stop waiting, and the
 * worker. The one that lets go last frees it with drop. */
struct gpc_ticket {
	int refs;
	bool is_done; /* under the worker's lock */
	void (*drop)(struct gpc_ticket *t);
};

typedef void (*gpc_job_fn)(void *ctx, struct gpc_ticket *ticket);

/* ctx goes to every job. */
gpc_status gpc_worker_new(const char *name, void *ctx, struct gpc_worker **ret,
			  struct gpc_err *err);
/* Runs what is queued, then ends. NULL is fine. */
void gpc_worker_free(struct gpc_worker *w);

/* Queues a job; the ticket's reference for the worker is taken (also on
 * failure). False: no memory, or the worker ends. */
bool gpc_worker_post(struct gpc_worker *w, gpc_job_fn fn, struct gpc_ticket *ticket);
/* The same, and it runs before all that were posted otherwise. */
bool gpc_worker_post_first(struct gpc_worker *w, gpc_job_fn fn, struct gpc_ticket *ticket);
/* Waits until a job is done (true) or the time is over. The caller holds a
 * reference on its ticket. */
bool gpc_worker_wait(struct gpc_worker *w, const struct gpc_ticket *ticket, uint64_t deadline_ns);
/* Queues it and waits until it is done or the time is over: false then. */
bool gpc_worker_call(struct gpc_worker *w, gpc_job_fn fn, struct gpc_ticket *ticket,
		     uint64_t deadline_ns);
bool gpc_worker_call_first(struct gpc_worker *w, gpc_job_fn fn, struct gpc_ticket *ticket,
			   uint64_t deadline_ns);
void gpc_ticket_put(struct gpc_ticket *t);
/* Is the caller on this worker? */
bool gpc_worker_is_me(const struct gpc_worker *w);

/* ---- waiting for descriptors: from the worker itself, or before its first job */

struct gpc_watch {
	int fd;
	uint32_t kind, events;  /* GPC_READY_ */
	uint64_t token, target; /* target: gpc_target.id, 0: the collector itself */
	int32_t child;
	bool owns_fd;
	uint64_t deadline_ns; /* CHILD: killed then */
};

/* fn is called with the events that came. */
typedef void (*gpc_watch_fn)(void *ctx, const struct gpc_watch *watch, uint32_t events);
void gpc_worker_on_watch(struct gpc_worker *w, gpc_watch_fn fn);
/* An owned descriptor is taken in every case; a child that cannot be watched is
 * killed and reaped. */
gpc_status gpc_worker_watch(struct gpc_worker *w, const struct gpc_watch *watch,
			    struct gpc_err *err);
/* Ends all watches for which match says yes; owned descriptors are closed,
 * children killed and reaped. */
void gpc_worker_unwatch(struct gpc_worker *w,
			bool (*match)(void *arg, const struct gpc_watch *watch), void *arg);

#endif

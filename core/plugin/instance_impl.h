/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of an instance, for the files that make it up: instance.c (life),
 * attach.c (processes), collect.c (windows and records), host.c (the table). */
#ifndef GPC_PLUGIN_INSTANCE_IMPL_H
#define GPC_PLUGIN_INSTANCE_IMPL_H

#include <pthread.h>

#include "base/map.h"
#include "plugin/instance.h"
#include "plugin/ticks.h"
#include "plugin/worker.h"
#include "profile/writer.h"

struct gpc_attachment {
	struct gpc_target_view *view;
	void *tctx;
};

/* A process that could not be attached: tried again in window due, and told of
 * in each window until then. */
struct gpc_failure {
	struct gpc_target_view *view;
	uint32_t fails, due;
	gpc_status code;
	char detail[GPC_REPORT_DETAIL];
};

struct gpc_event_stacks {
	uint16_t event;
	struct gpc_stacks *now, *done; /* being written; of the window before */
};

/* What a collector reports of a process that it is being attached to: told only when the
 * process is still what it was. */
#define GPC_HELD_MAX 4
struct gpc_held {
	uint64_t target; /* 0: nothing is held back */
	unsigned n;
	struct {
		gpc_status code;
		char detail[GPC_REPORT_DETAIL];
	} at[GPC_HELD_MAX];
};

struct gpc_instance {
	struct gpc_instance_setup setup;
	struct gpc_host host;
	void *self;
	bool is_started;
	bool is_ending; /* nothing is begun any more; atomic */
	bool has_stuck; /* a reader hangs in it: it is never destroyed */
	char worker_name[16];
	struct gpc_worker *worker; /* NULL: the collector has no worker callbacks */
	struct gpc_ticks *ticks;   /* NULL: it has no gpc.tick/1 */

	/* The worker's own. */
	vec(struct gpc_attachment *) attached;
	vec(struct gpc_failure) failures;
	struct gpc_held held;
	uint32_t window;
	struct gpc_batch_writer *writer;
	struct gpc_batch_writer *tick_writer; /* under the lock of ticks, as events is then */
	vec(struct gpc_event_stacks) events;
	uint64_t refused; /* records of this window that named no attached process */

	/* The control thread's own. */
	struct gpc_ticket *window_ticket; /* of the window being written; or NULL */
	bool is_late;                     /* it was not done in time: do not look */

	uint32_t done_epoch; /* of the names in done: the worker's until its window is waited for */

	/* Process events, atomic. */
	uint32_t kinds, n_events_queued;
	void (*on_event)(void *self, const struct gpc_process_event *ev);

	pthread_mutex_t lock; /* covers what follows */
	struct gpc_reports reports;
	uint32_t n_attached;
};

/* host.c */
void gpc_instance_init_host(struct gpc_instance *i);
void gpc_instance_report(struct gpc_instance *i, const struct gpc_target *t, gpc_status code,
			 const char *detail);

/* A callback failed: reported unless the collector has told why itself. */
void gpc_instance_failed(struct gpc_instance *i, const struct gpc_target *t, gpc_status code);

/* attach.c; on the worker */
struct gpc_attachment *gpc_instance_find(struct gpc_instance *i, uint64_t target);
void gpc_instance_tell_failures(struct gpc_instance *i);
void gpc_instance_retry_failures(struct gpc_instance *i);
void gpc_instance_detach_all(struct gpc_instance *i);

/* collect.c */
gpc_status gpc_instance_init_writer(struct gpc_instance *i, struct gpc_err *err);
void gpc_instance_deinit_writer(struct gpc_instance *i);
/* Starts ticks if the collector has gpc.tick/1. */
gpc_status gpc_instance_init_ticks(struct gpc_instance *i, const struct gpc_session *session,
				   struct gpc_err *err);
void gpc_instance_on_watch(void *ctx, const struct gpc_watch *watch, uint32_t events);

#endif

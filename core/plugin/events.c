/* SPDX-License-Identifier: Apache-2.0 */
/* Process events that collectors subscribed to. */
#include <stdlib.h>
#include <string.h>

#include "plugin/instance_impl.h"

#define QUEUED_MAX 4096

struct event_job {
	struct gpc_ticket ticket;
	struct gpc_process_event event;
	char path[]; /* what event.path points to */
};

gpc_status gpc_instance_subscribe(struct gpc_instance *i, uint32_t kinds,
				  void (*fn)(void *self, const struct gpc_process_event *ev))
{
	if (!i->worker || (kinds && !fn))
		return GPC_E_CONFIG;
	__atomic_store_n(&i->kinds, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&i->on_event, fn, __ATOMIC_RELEASE);
	__atomic_store_n(&i->kinds, kinds, __ATOMIC_RELEASE);
	return GPC_OK;
}

static void drop_event(struct gpc_ticket *t)
{
	free(t);
}

static void event_job(void *ctx, struct gpc_ticket *ticket)
{
	struct gpc_instance *i = ctx;
	const struct event_job *job = (const struct event_job *)(const void *)ticket;
	void (*fn)(void *self, const struct gpc_process_event *ev) =
		__atomic_load_n(&i->on_event, __ATOMIC_ACQUIRE);

	__atomic_sub_fetch(&i->n_events_queued, 1, __ATOMIC_RELAXED);
	if (fn && __atomic_load_n(&i->kinds, __ATOMIC_ACQUIRE) & job->event.kind)
		fn(i->self, &job->event);
}

void gpc_instance_tell(struct gpc_instance *i, const struct gpc_process_event *ev)
{
	size_t n = strlen(ev->path) + 1;
	struct event_job *job;

	if (!(__atomic_load_n(&i->kinds, __ATOMIC_ACQUIRE) & ev->kind))
		return;
	if (__atomic_load_n(&i->n_events_queued, __ATOMIC_RELAXED) >= QUEUED_MAX) {
		gpc_warn(i->setup.log, i->setup.collector->name,
			 "is too far behind: some process events were dropped");
		return;
	}
	job = malloc(sizeof *job + n);
	if (!job)
		return;
	job->ticket = (struct gpc_ticket){.refs = 1, .drop = drop_event};
	job->event = *ev;
	memcpy(job->path, ev->path, n);
	job->event.path = job->path;
	__atomic_add_fetch(&i->n_events_queued, 1, __ATOMIC_RELAXED);
	gpc_worker_post(i->worker, event_job, &job->ticket);
}

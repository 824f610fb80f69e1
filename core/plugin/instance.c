/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/instance.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "plugin/instance_impl.h"

static const struct gpc_collector *collector(const struct gpc_instance *i)
{
	return i->setup.collector;
}

/* The last thing the collector reported says more than its status. */
static gpc_status failed(struct gpc_instance *i, gpc_status st, const char *what,
			 struct gpc_err *err)
{
	const char *why = gpc_status_name(st);
	autolock(&i->lock);

	if (i->reports.list.n && i->reports.list.at[i->reports.list.n - 1].detail[0])
		why = i->reports.list.at[i->reports.list.n - 1].detail;
	return gpc_err_set(err, st, "collector %s %s: %s", collector(i)->name, what, why);
}

static gpc_status call_create(struct gpc_instance *i, struct gpc_err *err)
{
	gpc_status st = collector(i)->create(&i->host, i->setup.options, &i->self);

	if (st < 0)
		return failed(i, st, "could not be created", err);
	if (!collector(i)->probe)
		return GPC_OK;
	st = collector(i)->probe(i->self);
	if (st < 0)
		return failed(i, st, "cannot work here", err);
	return GPC_OK;
}

gpc_status gpc_instance_new(const struct gpc_instance_setup *setup, struct gpc_instance **ret,
			    struct gpc_err *err)
{
	struct gpc_instance *i = calloc(1, sizeof *i);
	gpc_status st;

	if (!i)
		return gpc_err_nomem(err);
	i->setup = *setup;
	i->setup.names = gpc_names_get(setup->names);
	pthread_mutex_init(&i->lock, NULL);
	gpc_instance_init_host(i);
	st = gpc_instance_init_writer(i, err);
	if (st == GPC_OK)
		st = call_create(i, err);
	if (st < 0) {
		gpc_instance_free(i);
		return st;
	}
	*ret = i;
	return GPC_OK;
}

static bool needs_worker(const struct gpc_collector *c)
{
	return c->scope == GPC_SCOPE_PROCESS || c->ready || c->window;
}

gpc_status gpc_instance_start(struct gpc_instance *i, const struct gpc_session *session,
			      struct gpc_err *err)
{
	gpc_status st = GPC_OK;

	if (needs_worker(collector(i))) {
		snprintf(i->worker_name, sizeof i->worker_name, "gpc-%s", collector(i)->name);
		gpc_try(gpc_worker_new(i->worker_name, i, &i->worker, err));
		gpc_worker_on_watch(i->worker, gpc_instance_on_watch);
	}
	if (collector(i)->start)
		st = collector(i)->start(i->self, session);
	if (st < 0)
		return failed(i, st, "could not be started", err);
	gpc_try(gpc_instance_init_ticks(i, session, err));
	__atomic_store_n(&i->is_started, true, __ATOMIC_RELEASE);
	return GPC_OK;
}

static void detach_all_job(void *ctx, struct gpc_ticket *ticket)
{
	(void)ticket;
	gpc_instance_detach_all(ctx);
}

static void drop_ticket(struct gpc_ticket *t)
{
	free(t);
}

void gpc_instance_stop(struct gpc_instance *i)
{
	__atomic_store_n(&i->is_ending, true, __ATOMIC_RELEASE);
	/* Attachments are removed from it until the worker has ended. */
	if (i->worker) {
		struct gpc_ticket *t = calloc(1, sizeof *t);

		if (t) {
			*t = (struct gpc_ticket){.refs = 1, .drop = drop_ticket};
			gpc_worker_post(i->worker, detach_all_job, t);
		}
		gpc_worker_free(i->worker);
		i->worker = NULL;
	}
	gpc_ticks_free(take(i->ticks));
	if (i->is_started && collector(i)->stop)
		collector(i)->stop(i->self);
	i->is_started = false;
}

void gpc_instance_free(struct gpc_instance *i)
{
	if (!i)
		return;
	gpc_instance_stop(i);
	/* A reader that hangs in it may come back at any time. */
	if (i->has_stuck)
		return;
	if (i->self && collector(i)->destroy)
		collector(i)->destroy(i->self);
	gpc_ticket_put(i->window_ticket);
	gpc_instance_deinit_writer(i);
	vec_deinit(&i->attached);
	vec_deinit(&i->failures);
	gpc_reports_deinit(&i->reports);
	gpc_names_put(i->setup.names);
	pthread_mutex_destroy(&i->lock);
	free(i);
}

const struct gpc_collector *gpc_instance_collector(const struct gpc_instance *i)
{
	return collector(i);
}

const char *gpc_instance_name(const struct gpc_instance *i)
{
	return collector(i)->name;
}

struct gpc_instance *gpc_instance_of_host(const struct gpc_host *h)
{
	return h->impl;
}

void *gpc_instance_self(struct gpc_instance *i)
{
	return i->self;
}

void gpc_instance_trouble(struct gpc_instance *i, uint64_t target, int32_t pid, gpc_status code,
			  const char *detail)
{
	struct gpc_target t = {.struct_size = sizeof t, .id = target, .pid = pid, .comm = ""};

	gpc_instance_report(i, &t, code, detail);
}

const struct gpc_services *gpc_instance_services(const struct gpc_instance *i)
{
	return i->setup.services;
}

void gpc_instance_take_reports(struct gpc_instance *i, struct gpc_reports *ret)
{
	autolock(&i->lock);

	*ret = i->reports;
	memset(&i->reports, 0, sizeof i->reports);
}

uint32_t gpc_instance_targets(const struct gpc_instance *i)
{
	return __atomic_load_n(&i->n_attached, __ATOMIC_RELAXED);
}

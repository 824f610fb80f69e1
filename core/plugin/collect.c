/* SPDX-License-Identifier: Apache-2.0 */
/* What an instance's collector writes: records checked and counted. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "plugin/instance_impl.h"
#include "profile/record.h"

#define KEEP_BYTES   (64u << 10) /* of an empty table */
#define MAX_SUFFIXES 32

static struct gpc_event_stacks *stacks_of(struct gpc_instance *i, uint16_t event)
{
	for (size_t k = 0; k < i->events.n; k++)
		if (i->events.at[k].event == event)
			return &i->events.at[k];
	return NULL;
}

static void on_sample(void *ctx, const struct gpc_sample *s, const gpc_frame *frames)
{
	struct gpc_instance *i = ctx;
	struct gpc_event_stacks *e = stacks_of(i, s->event);

	if (!e || !s->value || !s->n_frames || !gpc_instance_find(i, s->target)) {
		i->refused++;
		return;
	}
	gpc_stacks_add(e->now,
		       i->setup.services->wants_threads ? gpc_key(s->target, s->tid) : s->target,
		       frames, s->n_frames, s->value);
}

static void on_batch(void *ctx, const uint8_t *records, size_t n)
{
	struct gpc_instance *i = ctx;
	struct gpc_record_visitor v = {.ctx = i, .sample = on_sample};
	struct gpc_err err;

	if (gpc_records_walk(records, n, &v, &err) < 0)
		gpc_instance_report(i, NULL, err.code, err.text);
}

/* The same for what tick() wrote: of the one process that it was called for. */
static void on_tick_sample(void *ctx, const struct gpc_sample *s, const gpc_frame *frames)
{
	struct gpc_instance *i = ctx;
	struct gpc_event_stacks *e = stacks_of(i, s->event);

	if (!e || !s->value || !s->n_frames || s->target != gpc_ticks_target(i->ticks)) {
		i->refused++;
		return;
	}
	gpc_stacks_add(e->now,
		       i->setup.services->wants_threads ? gpc_key(s->target, s->tid) : s->target,
		       frames, s->n_frames, s->value);
}

static void on_tick_batch(void *ctx, const uint8_t *records, size_t n)
{
	struct gpc_instance *i = ctx;
	struct gpc_record_visitor v = {.ctx = i, .sample = on_tick_sample};
	struct gpc_err err;

	if (gpc_records_walk(records, n, &v, &err) < 0)
		gpc_instance_report(i, NULL, err.code, err.text);
}

/* The collector's suffixes as texts of names. */
static unsigned intern_suffixes(struct gpc_instance *i, gpc_str *ret)
{
	const char *const *at = i->setup.collector->suffixes;
	unsigned n = 0;

	for (; at && at[n] && n < MAX_SUFFIXES; n++)
		ret[n] = gpc_names_str(i->setup.names, at[n], strlen(at[n]));
	return n;
}

static gpc_status add_event(struct gpc_instance *i, uint16_t event, struct gpc_err *err)
{
	struct gpc_event_stacks e = {.event = event};
	size_t cap = i->setup.services->stack_bytes;

	if (gpc_stacks_new(cap, &e.now, err) < 0 || gpc_stacks_new(cap, &e.done, err) < 0 ||
	    !vec_push(&i->events, e)) {
		gpc_stacks_free(e.now);
		gpc_stacks_free(e.done);
		return gpc_err_nomem(err);
	}
	return GPC_OK;
}

/* Arrays of structs are walked by the element's own size (plugin.h, rule 3). */
static const struct gpc_event *next_event(const struct gpc_event *e)
{
	return (const struct gpc_event *)(const void *)((const char *)e + e->struct_size);
}

gpc_status gpc_instance_init_writer(struct gpc_instance *i, struct gpc_err *err)
{
	struct gpc_batch_sink sink = {.ctx = i, .batch = on_batch};
	gpc_str suffixes[MAX_SUFFIXES];
	unsigned n = intern_suffixes(i, suffixes);
	const struct gpc_event *e = i->setup.collector->events;

	i->done_epoch = gpc_names_epoch(i->setup.names);
	for (; e && e->struct_size; e = next_event(e))
		gpc_try(add_event(i, e->id, err));
	return gpc_batch_writer_new(i->setup.names, suffixes, n, i->setup.services->record_bytes,
				    &sink, &i->writer, err);
}

#define TICK_PERMILLE 100 /* of a CPU, where the session sets no budget */

gpc_status gpc_instance_init_ticks(struct gpc_instance *i, const struct gpc_session *session,
				   struct gpc_err *err)
{
	struct gpc_batch_sink sink = {.ctx = i, .batch = on_tick_batch};
	const struct gpc_collector *c = i->setup.collector;
	struct gpc_ticks_setup setup = {.api = c->extension ? c->extension(i->self, "gpc.tick/1")
							    : NULL,
					.self = i->self,
					.every_ns = session->hz ? GPC_SECOND_NS / session->hz : 0,
					.permille = session->cpu_permille ? session->cpu_permille
									  : TICK_PERMILLE,
					.is_realtime = !i->setup.services->no_realtime,
					.log = i->setup.log,
					.name = c->name};
	gpc_str suffixes[MAX_SUFFIXES];
	unsigned n = intern_suffixes(i, suffixes);

	if (!setup.api || !setup.every_ns)
		return GPC_OK;
	gpc_try(gpc_batch_writer_new(i->setup.names, suffixes, n, i->setup.services->record_bytes,
				     &sink, &i->tick_writer, err));
	setup.writer = i->tick_writer;
	return gpc_ticks_new(&setup, &i->ticks, err);
}

bool gpc_instance_ticks_stats(const struct gpc_instance *i, struct gpc_ticks_stats *ret)
{
	if (!i->ticks)
		return false;
	gpc_ticks_stats(i->ticks, ret);
	return true;
}

static void lock_ticks(struct gpc_instance *i)
{
	if (i->ticks)
		gpc_ticks_lock(i->ticks);
}

static void unlock_ticks(struct gpc_instance *i)
{
	if (i->ticks)
		gpc_ticks_unlock(i->ticks);
}

void gpc_instance_deinit_writer(struct gpc_instance *i)
{
	gpc_batch_writer_free(i->writer);
	gpc_batch_writer_free(i->tick_writer);
	for (size_t k = 0; k < i->events.n; k++) {
		gpc_stacks_free(i->events.at[k].now);
		gpc_stacks_free(i->events.at[k].done);
	}
	vec_deinit(&i->events);
}

/* ---- on the worker ------------------------------------------------------------------ */

void gpc_instance_on_watch(void *ctx, const struct gpc_watch *watch, uint32_t events)
{
	struct gpc_instance *i = ctx;
	struct gpc_attachment *a = watch->target ? gpc_instance_find(i, watch->target) : NULL;
	struct gpc_ready ready = {.struct_size = sizeof ready,
				  .kind = watch->kind,
				  .token = watch->token,
				  .fd = watch->kind == GPC_READY_FD ? watch->fd : -1,
				  .child = watch->child};

	if (!i->setup.collector->ready || (watch->target && !a))
		return;
	if (watch->kind == GPC_READY_CHILD)
		ready.status = (int32_t)events;
	else
		ready.events = events;
	i->setup.collector->ready(i->self, a ? a->tctx : NULL, &ready,
				  gpc_batch_writer_get(i->writer));
	gpc_batch_writer_flush(i->writer);
}

struct window_job {
	struct gpc_ticket ticket;
	struct gpc_window window;
	struct gpc_names *names; /* for what is written from then on; NULL: the same */
};

static void drop_window(struct gpc_ticket *t)
{
	struct window_job *job = (struct window_job *)(void *)t;

	gpc_names_put(job->names);
	free(job);
}

static void write_one(struct gpc_instance *i, const struct gpc_attachment *a,
		      const struct gpc_window *win)
{
	const struct gpc_target *t = a ? &a->view->target : NULL;
	gpc_status st = i->setup.collector->window(i->self, a ? a->tctx : NULL, win,
						   gpc_batch_writer_get(i->writer));

	/* A damaged record costs the process it was written for, and no other. */
	gpc_batch_writer_flush(i->writer);
	if (st < 0)
		gpc_instance_failed(i, t, st);
}

/* Nothing is dropped in silence. */
static void tell_refused(struct gpc_instance *i)
{
	uint64_t over = gpc_batch_writer_refused(i->writer) +
			(i->ticks ? gpc_batch_writer_refused(i->tick_writer) : 0);
	char text[GPC_REPORT_DETAIL];

	if (i->refused) {
		snprintf(text, sizeof text,
			 "refused records: %" PRIu64 ", of unknown processes or events, or empty",
			 i->refused);
		gpc_instance_report(i, NULL, GPC_E_CORRUPT, text);
	}
	if (over) {
		snprintf(text, sizeof text,
			 "refused records: %" PRIu64 ", beyond the budget of %" PRIu64
			 " bytes a window",
			 over, i->setup.services->record_bytes);
		gpc_instance_report(i, NULL, GPC_E_BUDGET, text);
	}
	i->refused = 0;
}

static void set_names(struct gpc_instance *i, struct gpc_names *names)
{
	struct gpc_names *old = i->setup.names;

	i->setup.names = gpc_names_get(names);
	gpc_names_put(old);
}

/* What was written becomes what is asked for; budgets begin anew, and with them names,
 * so that nothing that was written has to be dropped for new ones. */
static void turn_over(struct gpc_instance *i, struct gpc_names *names)
{
	gpc_str suffixes[MAX_SUFFIXES];

	gpc_batch_writer_flush(i->writer);
	lock_ticks(i);
	tell_refused(i);
	for (size_t k = 0; k < i->events.n; k++) {
		struct gpc_event_stacks *e = &i->events.at[k];
		struct gpc_stacks *written = e->now;

		e->now = e->done;
		e->done = written;
		gpc_stacks_reset(e->now, KEEP_BYTES);
	}
	i->done_epoch = gpc_names_epoch(i->setup.names);
	if (names)
		set_names(i, names);
	intern_suffixes(i, suffixes);
	gpc_batch_writer_window(i->writer, i->setup.names, suffixes);
	if (i->ticks)
		gpc_batch_writer_window(i->tick_writer, i->setup.names, suffixes);
	unlock_ticks(i);
}

static void window_job(void *ctx, struct gpc_ticket *ticket)
{
	struct gpc_instance *i = ctx;
	const struct window_job *job = (const struct window_job *)(const void *)ticket;

	if (i->setup.collector->window && i->setup.collector->scope == GPC_SCOPE_SYSTEM)
		write_one(i, NULL, &job->window);
	for (size_t k = 0; i->setup.collector->window && k < i->attached.n; k++)
		write_one(i, i->attached.at[k], &job->window);
	turn_over(i, job->names);
	gpc_instance_tell_failures(i);
	i->window = job->window.seq + 1;
}

static void drop_retry(struct gpc_ticket *t)
{
	free(t);
}

static void retry_job(void *ctx, struct gpc_ticket *ticket)
{
	(void)ticket;
	gpc_instance_retry_failures(ctx);
}

/* A job of its own: attaching may take long, and the window is done without it. */
static void post_retry(struct gpc_instance *i)
{
	struct gpc_ticket *ticket = calloc(1, sizeof *ticket);

	if (!ticket)
		return;
	*ticket = (struct gpc_ticket){.refs = 1, .drop = drop_retry};
	gpc_worker_post(i->worker, retry_job, ticket);
}

/* ---- on the control thread ------------------------------------------------------------ */

gpc_status gpc_instance_begin_window(struct gpc_instance *i, const struct gpc_window *win,
				     struct gpc_names *next, struct gpc_err *err)
{
	struct window_job *job;

	if (!i->worker) {
		turn_over(i, next);
		return GPC_OK;
	}
	gpc_ticket_put(take(i->window_ticket)); /* nobody waited for the one before */
	i->is_late = true;                      /* until it is known to be done */
	job = calloc(1, sizeof *job);
	if (!job)
		return gpc_err_nomem(err);
	job->ticket = (struct gpc_ticket){.refs = 2, .drop = drop_window};
	job->window = *win;
	job->names = next ? gpc_names_get(next) : NULL;
	/* Before attaches that wait: they may take longer than the window may. */
	if (gpc_worker_post_first(i->worker, window_job, &job->ticket))
		i->window_ticket = &job->ticket;
	else
		gpc_ticket_put(&job->ticket);
	post_retry(i);
	return GPC_OK;
}

gpc_status gpc_instance_end_window(struct gpc_instance *i, const struct gpc_window *win,
				   struct gpc_err *err)
{
	struct gpc_ticket *ticket = take(i->window_ticket);

	if (!i->worker)
		return GPC_OK;
	if (ticket)
		i->is_late = !gpc_worker_wait(i->worker, ticket, win->deadline_ns);
	gpc_ticket_put(ticket);
	if (!i->is_late)
		return GPC_OK;
	return gpc_err_set(err, GPC_E_TIMEOUT,
			   "collector %s misbehaves: it was not ready at the end of the window; "
			   "what it measured comes late or is lost",
			   i->setup.collector->name);
}

gpc_status gpc_instance_window(struct gpc_instance *i, const struct gpc_window *win,
			       struct gpc_err *err)
{
	gpc_try(gpc_instance_begin_window(i, win, NULL, err));
	return gpc_instance_end_window(i, win, err);
}

bool gpc_instance_is_done(const struct gpc_instance *i, uint32_t epoch)
{
	return !i->is_late && i->done_epoch == epoch;
}

const struct gpc_stacks *gpc_instance_stacks(const struct gpc_instance *i, uint16_t event,
					     uint32_t epoch)
{
	if (!gpc_instance_is_done(i, epoch))
		return NULL;
	for (size_t k = 0; k < i->events.n; k++)
		if (i->events.at[k].event == event)
			return i->events.at[k].done;
	return NULL;
}

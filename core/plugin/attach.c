/* SPDX-License-Identifier: Apache-2.0 */
/* Which processes an instance is attached to. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "plugin/instance_impl.h"

#define NO_CLAIM    50 /* the score of a collector that leaves it to its match table */
#define BACKOFF_MAX 64 /* windows */

/* ---- on the worker --------------------------------------------------------------- */

struct gpc_attachment *gpc_instance_find(struct gpc_instance *i, uint64_t target)
{
	for (size_t k = 0; k < i->attached.n; k++)
		if (i->attached.at[k]->view->target.id == target)
			return i->attached.at[k];
	return NULL;
}

static void set_count(struct gpc_instance *i)
{
	__atomic_store_n(&i->n_attached, (uint32_t)i->attached.n, __ATOMIC_RELAXED);
}

static bool is_of_target(void *arg, const struct gpc_watch *watch)
{
	return watch->target == *(const uint64_t *)arg;
}

static void detach_at(struct gpc_instance *i, size_t k)
{
	struct gpc_attachment *a = i->attached.at[k];
	uint64_t id = a->view->target.id;

	/* What it wrote for this process is counted while we know it. */
	gpc_batch_writer_flush(i->writer);
	i->attached.at[k] = i->attached.at[--i->attached.n];
	set_count(i);
	gpc_worker_unwatch(i->worker, is_of_target, &id);
	if (i->ticks)
		gpc_ticks_remove(i->ticks, id);
	if (i->setup.services->left && !i->setup.services->left(i->setup.services->ctx, i, id)) {
		i->has_stuck = true;
		return;
	}
	if (i->setup.collector->detach)
		i->setup.collector->detach(i->self, a->tctx);
	gpc_target_put(a->view);
	free(a);
}

void gpc_instance_detach_all(struct gpc_instance *i)
{
	while (i->attached.n)
		detach_at(i, i->attached.n - 1);
	for (size_t k = 0; k < i->failures.n; k++)
		gpc_target_put(i->failures.at[k].view);
	i->failures.n = 0;
}

/* Takes view. */
static void remember_failure(struct gpc_instance *i, struct gpc_target_view *view, uint32_t fails,
			     gpc_status code)
{
	uint32_t wait = fails < 6 ? 1u << fails : BACKOFF_MAX;
	struct gpc_failure f = {.view = view,
				.fails = fails,
				.due = i->window + wait,
				.code = code};
	const struct gpc_report *told;

	pthread_mutex_lock(&i->lock);
	told = gpc_reports_find(&i->reports, view->target.id, code);
	if (told)
		memcpy(f.detail, told->detail, sizeof f.detail);
	pthread_mutex_unlock(&i->lock);
	if (!vec_push(&i->failures, f))
		gpc_target_put(view);
}

static const struct gpc_fork_api *fork_api(struct gpc_instance *i)
{
	const struct gpc_collector *c = i->setup.collector;

	return c->extension ? c->extension(i->self, "gpc.fork/1") : NULL;
}

bool gpc_instance_forks(struct gpc_instance *i)
{
	return fork_api(i) != NULL;
}

/* parent: of the process that it was copied from; or NULL. */
static gpc_status call_attach(struct gpc_instance *i, struct gpc_attachment *a,
			      const struct gpc_attachment *parent)
{
	const struct gpc_fork_api *fork = parent ? fork_api(i) : NULL;
	uint64_t begin = gpc_now_ns(), ms;
	gpc_status st = GPC_E_GONE;

	if (fork)
		st = fork->attach(i->self, parent->tctx, &a->view->target, &a->tctx);
	if (st < 0)
		st = i->setup.collector->attach(i->self, &a->view->target, &a->tctx);
	ms = (gpc_now_ns() - begin) / GPC_MS_NS;

	if (st >= 0)
		gpc_log_at(i->setup.log, GPC_DEBUG, i->setup.collector->name, a->view->target.pid,
			   "attached to process %d in %llu ms", a->view->target.pid,
			   (unsigned long long)ms);
	return st;
}

static void forget_claims(struct gpc_instance *i, const struct gpc_attachment *a)
{
	if (i->setup.services->left)
		i->setup.services->left(i->setup.services->ctx, i, a->view->target.id);
}

/* A process that ends, becomes another program or is still loading its libraries looks broken,
 * and is not: what the collector says of it is told only if it is what it was. */
static gpc_status attach_to(struct gpc_instance *i, struct gpc_attachment *a,
			    const struct gpc_attachment *parent)
{
	struct gpc_target_view *fresh = NULL;
	enum gpc_target_now now = GPC_TARGET_SAME;
	gpc_status st;

	i->held = (struct gpc_held){.target = a->view->target.id};
	st = call_attach(i, a, parent);
	if (st < 0 && st != GPC_E_GONE)
		now = gpc_target_compare(a->view, &fresh);
	if (now == GPC_TARGET_OTHER)
		st = GPC_E_GONE;
	if (now != GPC_TARGET_SAME)
		i->held.n = 0;
	if (now == GPC_TARGET_GREW) {
		forget_claims(i, a);
		gpc_target_put(a->view);
		a->view = fresh;
		st = call_attach(i, a, NULL);
	}
	i->held.target = 0;
	for (unsigned k = 0; k < i->held.n; k++)
		gpc_instance_report(i, &a->view->target, i->held.at[k].code, i->held.at[k].detail);
	return st;
}

/* Takes view. fails: how often it was tried before. parent: as for call_attach. */
static void attach_now(struct gpc_instance *i, struct gpc_target_view *view, uint32_t fails,
		       const struct gpc_attachment *parent)
{
	uint32_t max = i->setup.services->max_targets;
	struct gpc_attachment *a;
	gpc_status st;

	/* It would be detached at once. */
	if (gpc_instance_find(i, view->target.id) || i->host.should_stop(&i->host)) {
		gpc_target_put(view);
		return;
	}
	if (max && i->attached.n >= max) {
		gpc_instance_report(i, &view->target, GPC_E_SKIPPED,
				    "more processes than --max-processes-runtime-profiler");
		remember_failure(i, view, 1, GPC_E_SKIPPED); /* a place may become free */
		return;
	}
	a = calloc(1, sizeof *a);
	if (!a || !vec_reserve(&i->attached, 1)) {
		free(a);
		gpc_target_put(view);
		return;
	}
	a->view = view;
	st = attach_to(i, a, parent);
	view = a->view;
	if (st >= 0) {
		i->attached.at[i->attached.n++] = a;
		set_count(i);
		if (i->setup.services->joined)
			i->setup.services->joined(i->setup.services->ctx, i, &view->target,
						  a->tctx);
		if (i->ticks)
			gpc_ticks_add(i->ticks, &view->target, a->tctx);
		return;
	}
	forget_claims(i, a);
	free(a);
	if (gpc_target_lives(view) && st != GPC_E_GONE) {
		gpc_instance_failed(i, &view->target, st);
		remember_failure(i, view, fails + 1, st);
	} else {
		gpc_instance_report(i, &view->target, GPC_E_GONE, NULL);
		gpc_target_put(view);
	}
}

static bool is_told(const struct gpc_instance *i, uint64_t target, gpc_status code)
{
	for (size_t k = 0; k < i->reports.list.n; k++)
		if (i->reports.list.at[k].target == target && i->reports.list.at[k].code == code)
			return true;
	return false;
}

/* A profile without a process's frames says why, also when nothing was tried. */
void gpc_instance_tell_failures(struct gpc_instance *i)
{
	autolock(&i->lock);

	for (size_t k = 0; k < i->failures.n; k++) {
		const struct gpc_failure *f = &i->failures.at[k];
		const struct gpc_target *t = &f->view->target;

		if (!is_told(i, t->id, f->code))
			gpc_reports_add(&i->reports, t->id, t->pid, f->code, f->detail);
	}
}

void gpc_instance_retry_failures(struct gpc_instance *i)
{
	for (size_t k = 0; k < i->failures.n;) {
		struct gpc_failure f = i->failures.at[k];
		bool lives = gpc_target_lives(f.view);

		if (lives && f.due > i->window) {
			k++;
			continue;
		}
		i->failures.at[k] = i->failures.at[--i->failures.n];
		if (lives)
			attach_now(i, f.view, f.fails, NULL);
		else
			gpc_target_put(f.view);
	}
}

/* ---- jobs -------------------------------------------------------------------------- */

struct target_job {
	struct gpc_ticket ticket;
	struct gpc_target_view *view; /* NULL in a detach */
	uint64_t target;
	int32_t score;
};

static void drop_job(struct gpc_ticket *t)
{
	struct target_job *job = (struct target_job *)(void *)t;

	gpc_target_put(job->view);
	free(job);
}

static struct target_job *new_job(struct gpc_target_view *view, uint64_t target)
{
	struct target_job *job = calloc(1, sizeof *job);

	if (!job)
		return NULL;
	job->ticket = (struct gpc_ticket){.refs = 1, .drop = drop_job};
	job->view = view ? gpc_target_get(view) : NULL;
	job->target = target;
	return job;
}

static void claim_job(void *ctx, struct gpc_ticket *ticket)
{
	struct gpc_instance *i = ctx;
	struct target_job *job = (struct target_job *)(void *)ticket;

	job->score = i->setup.collector->claim(i->self, &job->view->target);
}

int32_t gpc_instance_claim(struct gpc_instance *i, struct gpc_target_view *view,
			   uint64_t deadline_ns)
{
	struct target_job *job;
	int32_t score = -1;

	if (!i->setup.collector->claim)
		return NO_CLAIM;
	job = new_job(view, view->target.id);
	if (!job)
		return -1;
	__atomic_add_fetch(&job->ticket.refs, 1, __ATOMIC_RELAXED);
	if (gpc_worker_call_first(i->worker, claim_job, &job->ticket, deadline_ns))
		score = job->score;
	else
		gpc_warn(i->setup.log, i->setup.collector->name,
			 "misbehaves: claim() of process %d takes too long: not asked further",
			 view->target.pid);
	gpc_ticket_put(&job->ticket);
	return score;
}

static void attach_job(void *ctx, struct gpc_ticket *ticket)
{
	struct target_job *job = (struct target_job *)(void *)ticket;

	attach_now(ctx, take(job->view), 0, NULL);
}

void gpc_instance_attach(struct gpc_instance *i, struct gpc_target_view *view)
{
	struct target_job *job = new_job(view, view->target.id);

	if (job)
		gpc_worker_post(i->worker, attach_job, &job->ticket);
}

struct child_job {
	struct gpc_ticket ticket;
	struct gpc_target_id child;
	uint64_t parent;
};

static void drop_child_job(struct gpc_ticket *t)
{
	free(t);
}

/* The parent may have ended meanwhile. */
static void child_job(void *ctx, struct gpc_ticket *ticket)
{
	struct gpc_instance *i = ctx;
	const struct child_job *job = (const struct child_job *)(const void *)ticket;
	const struct gpc_attachment *parent = gpc_instance_find(i, job->parent);
	struct gpc_target_view *view;
	gpc_status st = parent ? gpc_target_fork(parent->view, &job->child, &view, NULL)
			       : gpc_target_read(&job->child, &view, NULL);

	if (st == GPC_OK)
		attach_now(i, view, 0, parent);
}

void gpc_instance_attach_child(struct gpc_instance *i, const struct gpc_target_id *child,
			       uint64_t parent)
{
	struct child_job *job = calloc(1, sizeof *job);

	if (!job)
		return;
	*job = (struct child_job){.ticket = {.refs = 1, .drop = drop_child_job},
				  .child = *child,
				  .parent = parent};
	gpc_worker_post(i->worker, child_job, &job->ticket);
}

static void nothing(void *ctx, struct gpc_ticket *ticket)
{
	(void)ctx;
	(void)ticket;
}

bool gpc_instance_settle(struct gpc_instance *i, uint64_t deadline_ns)
{
	struct target_job *job = i->worker ? new_job(NULL, 0) : NULL;

	return job && gpc_worker_call(i->worker, nothing, &job->ticket, deadline_ns);
}

/* The image has gone, even where its process lives on after an exec. */
static void forget_failure(struct gpc_instance *i, uint64_t target)
{
	for (size_t k = 0; k < i->failures.n; k++) {
		if (i->failures.at[k].view->target.id != target)
			continue;
		gpc_target_put(i->failures.at[k].view);
		i->failures.at[k] = i->failures.at[--i->failures.n];
		return;
	}
}

static void detach_job(void *ctx, struct gpc_ticket *ticket)
{
	struct gpc_instance *i = ctx;
	const struct target_job *job = (const struct target_job *)(const void *)ticket;

	forget_failure(i, job->target);
	for (size_t k = 0; k < i->attached.n; k++) {
		if (i->attached.at[k]->view->target.id != job->target)
			continue;
		detach_at(i, k);
		return;
	}
}

void gpc_instance_detach(struct gpc_instance *i, uint64_t target)
{
	struct target_job *job = new_job(NULL, target);

	if (job)
		gpc_worker_post(i->worker, detach_job, &job->ticket);
}

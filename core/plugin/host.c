/* SPDX-License-Identifier: Apache-2.0 */
/* The table of functions that a collector gets. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hot.h"
#include "base/thread.h"
#include "plugin/instance_impl.h"
#include "plugin/spawn.h"
#include "proc/modules.h"
#include "proc/root.h"

static struct gpc_instance *of(const struct gpc_host *h)
{
	return h->impl;
}

static void host_log(const struct gpc_host *h, gpc_level level, const char *msg)
{
	struct gpc_instance *i = of(h);

	gpc_log_at(i->setup.log, level, i->setup.collector->name, 0, "%s", msg);
}

void gpc_instance_report(struct gpc_instance *i, const struct gpc_target *t, gpc_status code,
			 const char *detail)
{
	const char *text = detail && *detail ? detail : gpc_status_name(code);
	gpc_level level = code == GPC_E_GONE || code == GPC_E_SKIPPED ? GPC_DEBUG : GPC_WARN;
	bool is_first;

	/* Until it is started, what it reports becomes why it did not start. */
	if (!t && !__atomic_load_n(&i->is_started, __ATOMIC_ACQUIRE))
		level = GPC_DEBUG;
	pthread_mutex_lock(&i->lock);
	is_first = gpc_reports_add(&i->reports, t ? t->id : 0, t ? t->pid : 0, code,
				   detail && *detail ? detail : "");
	pthread_mutex_unlock(&i->lock);
	if (!is_first)
		return;
	if (t)
		gpc_log_at(i->setup.log, level, i->setup.collector->name, t->pid,
			   "process %d (%s): %s", t->pid, t->comm, text);
	else
		gpc_log_at(i->setup.log, level, i->setup.collector->name, 0, "%s", text);
}

void gpc_instance_failed(struct gpc_instance *i, const struct gpc_target *t, gpc_status code)
{
	bool is_told;

	pthread_mutex_lock(&i->lock);
	is_told = gpc_reports_find(&i->reports, t ? t->id : 0, code) != NULL;
	pthread_mutex_unlock(&i->lock);
	if (!is_told)
		gpc_instance_report(i, t, code, NULL);
}

static bool hold_back(struct gpc_instance *i, const struct gpc_target *t, gpc_status code,
		      const char *detail)
{
	struct gpc_held *held = &i->held;

	if (!t || !i->worker || !gpc_worker_is_me(i->worker) || held->target != t->id ||
	    held->n == GPC_HELD_MAX)
		return false;
	held->at[held->n].code = code;
	snprintf(held->at[held->n++].detail, GPC_REPORT_DETAIL, "%s", detail ? detail : "");
	return true;
}

static void host_report(const struct gpc_host *h, const struct gpc_target *t, gpc_status code,
			const char *detail)
{
	if (!hold_back(of(h), t, code, detail))
		gpc_instance_report(of(h), t, code, detail);
}

GPC_HOT static uint64_t host_now(const struct gpc_host *h)
{
	(void)h;
	return gpc_now_ns();
}

static int32_t host_should_stop(const struct gpc_host *h)
{
	const struct gpc_services *s = of(h)->setup.services;

	return __atomic_load_n(&of(h)->is_ending, __ATOMIC_ACQUIRE) ||
	       (s->should_stop && s->should_stop(s->ctx));
}

GPC_HOT static int64_t host_read_mem(const struct gpc_host *h, const struct gpc_target *t,
				     uint64_t addr, void *buf, uint64_t len)
{
	return gpc_mem_read(of(h)->setup.services->mem, t->id, t->pid, addr, buf, len);
}

static int32_t host_open_file(const struct gpc_host *h, const struct gpc_target *t,
			      const char *path, int32_t flags)
{
	struct gpc_err err;
	int fd = -1;
	gpc_status st;

	if (flags & ~(int32_t)GPC_OPEN_FOLDER)
		return GPC_E_CONFIG;
	st = flags ? gpc_root_folder(t->pid, path, &fd, &err)
		   : gpc_root_open(t->pid, path, &fd, NULL, &err);
	if (st < 0)
		gpc_debug(of(h)->setup.log, of(h)->setup.collector->name, "%s", err.text);
	return st < 0 ? st : fd;
}

static gpc_status host_find_symbol(const struct gpc_host *h, const struct gpc_target *t,
				   const char *glob, const char *symbol, uint64_t *addr)
{
	autoclose int fd = -1;
	struct gpc_module_file m;
	struct gpc_place place;

	(void)h;
	gpc_try(gpc_module_open(t, glob, &m, NULL));
	fd = m.fd;
	gpc_try(gpc_module_symbol(&m, symbol, &place, NULL));
	*addr = place.start;
	return GPC_OK;
}

/* ---- waiting -------------------------------------------------------------------- */

struct pick {
	uint64_t target, token;
	uint32_t kind;
	int fd;
};

static bool is_picked(void *arg, const struct gpc_watch *watch)
{
	const struct pick *p = arg;

	if (watch->kind != p->kind || watch->target != p->target)
		return false;
	return p->kind == GPC_READY_FD ? watch->fd == p->fd : watch->token == p->token;
}

/* Watches are the worker's. From start(), which is the control thread's, they
 * are sent there. */
struct watch_job {
	struct gpc_ticket ticket;
	struct gpc_watch watch;
	struct pick pick;
	bool is_end;
};

static void drop_watch_job(struct gpc_ticket *t)
{
	free(t);
}

static gpc_status watch_now(struct gpc_instance *i, const struct watch_job *job)
{
	struct pick pick = job->pick;
	struct gpc_err err;
	gpc_status st = GPC_OK;

	if (job->is_end)
		gpc_worker_unwatch(i->worker, is_picked, &pick);
	else
		st = gpc_worker_watch(i->worker, &job->watch, &err);
	if (st < 0)
		gpc_instance_report(i, NULL, st, err.text);
	return st;
}

static void watch_job(void *ctx, struct gpc_ticket *ticket)
{
	watch_now(ctx, (const struct watch_job *)(const void *)ticket);
}

static gpc_status post_watch(struct gpc_instance *i, const struct watch_job *wanted)
{
	struct watch_job *job = calloc(1, sizeof *job);

	if (!job)
		return GPC_E_NOMEM;
	*job = *wanted;
	job->ticket = (struct gpc_ticket){.refs = 1, .drop = drop_watch_job};
	return gpc_worker_post(i->worker, watch_job, &job->ticket) ? GPC_OK : GPC_E_BUSY;
}

static gpc_status add_watch(struct gpc_instance *i, const struct gpc_watch *watch)
{
	struct watch_job job = {.watch = *watch};
	gpc_status st = GPC_E_CONFIG;

	if (i->worker && gpc_worker_is_me(i->worker))
		return watch_now(i, &job);
	if (i->worker)
		st = post_watch(i, &job);
	if (st < 0 && watch->owns_fd)
		close(watch->fd);
	return st;
}

static gpc_status end_watch(struct gpc_instance *i, const struct pick *pick)
{
	struct watch_job job = {.pick = *pick, .is_end = true};

	if (!i->worker)
		return GPC_OK; /* nothing is watched */
	return gpc_worker_is_me(i->worker) ? watch_now(i, &job) : post_watch(i, &job);
}

static gpc_status host_watch_fd(const struct gpc_host *h, const struct gpc_target *t, int32_t fd,
				uint32_t events, uint64_t token)
{
	struct gpc_watch watch = {.fd = fd,
				  .kind = GPC_READY_FD,
				  .events = events,
				  .token = token,
				  .target = t ? t->id : 0};
	struct pick pick = {.target = watch.target, .kind = GPC_READY_FD, .fd = fd};

	gpc_try(end_watch(of(h), &pick));
	return events ? add_watch(of(h), &watch) : GPC_OK;
}

static gpc_status host_set_timer(const struct gpc_host *h, const struct gpc_target *t,
				 uint64_t every_ns, uint64_t token)
{
	struct itimerspec spec = {.it_interval = gpc_timespec(every_ns),
				  .it_value = gpc_timespec(every_ns)};
	struct gpc_watch watch = {.kind = GPC_READY_TIMER,
				  .events = EPOLLIN,
				  .token = token,
				  .target = t ? t->id : 0,
				  .owns_fd = true};
	struct pick pick = {.target = watch.target, .kind = GPC_READY_TIMER, .token = token};

	gpc_try(end_watch(of(h), &pick));
	if (!every_ns)
		return GPC_OK;
	watch.fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (watch.fd < 0)
		return GPC_E_SYSTEM;
	timerfd_settime(watch.fd, 0, &spec, NULL);
	return add_watch(of(h), &watch);
}

static gpc_status spawn_now(struct gpc_instance *i, const struct gpc_spawn *s)
{
	struct gpc_watch watch = {.kind = GPC_READY_CHILD,
				  .events = EPOLLIN,
				  .token = s->token,
				  .target = s->target ? s->target->id : 0,
				  .owns_fd = true,
				  .deadline_ns = s->deadline_ns};
	struct gpc_err err;
	gpc_status st = gpc_spawn_start(s, &watch.child, &watch.fd, &err);

	if (st == GPC_OK)
		st = gpc_worker_watch(i->worker, &watch, &err);
	if (st < 0)
		gpc_instance_report(i, s->target, st, err.text);
	return st;
}

/* A program ends with the thread that started it. That must be the worker: the
 * control thread is the embedder's and may end while the collector works. */
struct spawn_job {
	struct gpc_ticket ticket;
	const struct gpc_spawn *spawn; /* the control thread's, which waits */
	gpc_status st;
};

static void drop_spawn_job(struct gpc_ticket *t)
{
	free(t);
}

static void spawn_job(void *ctx, struct gpc_ticket *ticket)
{
	struct spawn_job *job = (struct spawn_job *)(void *)ticket;

	job->st = spawn_now(ctx, job->spawn);
}

static gpc_status host_spawn(const struct gpc_host *h, const struct gpc_spawn *s)
{
	struct gpc_instance *i = of(h);
	struct spawn_job *job;
	gpc_status st = GPC_E_BUSY;

	if (!i->worker)
		return GPC_E_CONFIG;
	if (gpc_worker_is_me(i->worker))
		return spawn_now(i, s);
	job = calloc(1, sizeof *job);
	if (!job)
		return GPC_E_NOMEM;
	*job = (struct spawn_job){.ticket = {.refs = 2, .drop = drop_spawn_job}, .spawn = s};
	if (gpc_worker_call(i->worker, spawn_job, &job->ticket, UINT64_MAX))
		st = job->st;
	gpc_ticket_put(&job->ticket);
	return st;
}

static const void *host_extension(const struct gpc_host *h, const char *id)
{
	const struct gpc_services *s = of(h)->setup.services;

	return s->extension ? s->extension(s->ctx, id) : NULL;
}

void gpc_instance_init_host(struct gpc_instance *i)
{
	i->host = (struct gpc_host){.struct_size = sizeof i->host,
				    .abi_major = GPC_ABI_MAJOR,
				    .abi_minor = GPC_ABI_MINOR,
				    .core_version = GPC_VERSION,
				    .level = i->setup.log ? i->setup.log->level : GPC_WARN,
				    .impl = i,
				    .log = host_log,
				    .report = host_report,
				    .now_ns = host_now,
				    .should_stop = host_should_stop,
				    .read_mem = host_read_mem,
				    .open_file = host_open_file,
				    .find_symbol = host_find_symbol,
				    .watch_fd = host_watch_fd,
				    .set_timer = host_set_timer,
				    .spawn = host_spawn,
				    .extension = host_extension};
}

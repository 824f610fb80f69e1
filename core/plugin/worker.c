/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/worker.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/thread.h"
#include "base/vec.h"

#define TICK_MS 1000 /* deadlines of children are looked at so often */

struct job {
	gpc_job_fn fn;
	struct gpc_ticket *ticket;
};

struct gpc_worker {
	void *ctx;
	gpc_watch_fn on_watch;
	pthread_t thread;
	int epoll, wake;
	vec(struct gpc_watch *) watches; /* the worker's alone */
	vec(struct gpc_watch *) ended;   /* freed when no event can name them */
	pthread_mutex_t lock;            /* covers what follows */
	pthread_cond_t done;
	vec(struct job) first; /* goes before jobs */
	vec(struct job) jobs;
	bool is_ending;
};

void gpc_ticket_put(struct gpc_ticket *t)
{
	if (t && __atomic_sub_fetch(&t->refs, 1, __ATOMIC_ACQ_REL) == 0)
		t->drop(t);
}

/* ---- jobs -------------------------------------------------------------------- */

static bool next_job(struct gpc_worker *w, struct job *ret)
{
	autolock(&w->lock);

	if (w->first.n) {
		*ret = w->first.at[0];
		memmove(w->first.at, w->first.at + 1, --w->first.n * sizeof *w->first.at);
	} else if (w->jobs.n) {
		*ret = w->jobs.at[0];
		memmove(w->jobs.at, w->jobs.at + 1, --w->jobs.n * sizeof *w->jobs.at);
	} else {
		return false;
	}
	return true;
}

/* One: many attaches in a row must not keep a collector from its descriptors. */
static void run_job(struct gpc_worker *w)
{
	struct job job;

	if (!next_job(w, &job))
		return;
	job.fn(w->ctx, job.ticket);
	pthread_mutex_lock(&w->lock);
	job.ticket->is_done = true;
	pthread_cond_broadcast(&w->done);
	pthread_mutex_unlock(&w->lock);
	gpc_ticket_put(job.ticket);
}

static bool has_jobs(struct gpc_worker *w)
{
	autolock(&w->lock);

	return w->first.n || w->jobs.n;
}

static bool is_over(struct gpc_worker *w)
{
	autolock(&w->lock);

	return w->is_ending && !w->first.n && !w->jobs.n;
}

/* ---- watches ------------------------------------------------------------------ */

static void reap(const struct gpc_watch *watch)
{
	siginfo_t info;

	kill(watch->child, SIGKILL);
	while (waitid(P_PID, (id_t)watch->child, &info, WEXITED) < 0 && errno == EINTR)
		;
}

static void end_watch(struct gpc_worker *w, struct gpc_watch *watch, bool is_reaped)
{
	epoll_ctl(w->epoll, EPOLL_CTL_DEL, watch->fd, NULL);
	if (watch->kind == GPC_READY_CHILD && !is_reaped)
		reap(watch);
	if (watch->owns_fd)
		close(watch->fd);
	watch->fd = -1;
	if (!vec_push(&w->ended, watch))
		free(watch);
}

static void drop_ended(struct gpc_worker *w)
{
	for (size_t i = 0; i < w->ended.n; i++)
		free(w->ended.at[i]);
	w->ended.n = 0;
}

static void forget_watch(struct gpc_worker *w, const struct gpc_watch *watch)
{
	for (size_t i = 0; i < w->watches.n; i++) {
		if (w->watches.at[i] != watch)
			continue;
		w->watches.at[i] = w->watches.at[--w->watches.n];
		return;
	}
}

static void child_ended(struct gpc_worker *w, struct gpc_watch *watch)
{
	int status = 0;

	if (waitpid(watch->child, &status, WNOHANG) == 0)
		return;
	forget_watch(w, watch);
	end_watch(w, watch, true);
	w->on_watch(w->ctx, watch, (uint32_t)status);
}

static void fire(struct gpc_worker *w, struct gpc_watch *watch, uint32_t events)
{
	uint64_t ticks;

	if (watch->fd < 0)
		return; /* ended by a callback before it in this round */
	if (watch->kind == GPC_READY_CHILD) {
		child_ended(w, watch);
		return;
	}
	if (watch->kind == GPC_READY_TIMER && read(watch->fd, &ticks, sizeof ticks) < 0)
		return;
	w->on_watch(w->ctx, watch, events);
}

static void kill_late_children(struct gpc_worker *w)
{
	uint64_t now = w->watches.n ? gpc_now_ns() : 0;

	for (size_t i = 0; i < w->watches.n; i++) {
		struct gpc_watch *watch = w->watches.at[i];

		if (watch->kind == GPC_READY_CHILD && watch->deadline_ns &&
		    now > watch->deadline_ns)
			kill(watch->child, SIGKILL);
	}
}

static void *run(void *arg)
{
	struct gpc_worker *w = arg;
	struct epoll_event events[16];

	while (!is_over(w)) {
		int wait_ms = has_jobs(w) ? 0 : w->watches.n ? TICK_MS : -1;
		int n = epoll_wait(w->epoll, events, 16, wait_ms);
		uint64_t count;

		for (int i = 0; i < n; i++) {
			if (events[i].data.ptr)
				fire(w, events[i].data.ptr, events[i].events);
			else if (read(w->wake, &count, sizeof count) < 0)
				continue;
		}
		run_job(w);
		kill_late_children(w);
		drop_ended(w);
	}
	return NULL;
}

/* ---- life ----------------------------------------------------------------------- */

static gpc_status build(struct gpc_worker *w, struct gpc_err *err)
{
	struct epoll_event ev = {.events = EPOLLIN};

	w->epoll = epoll_create1(EPOLL_CLOEXEC);
	w->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (w->epoll < 0 || w->wake < 0 || epoll_ctl(w->epoll, EPOLL_CTL_ADD, w->wake, &ev) < 0)
		return gpc_err_sys(err, "epoll");
	return GPC_OK;
}

gpc_status gpc_worker_new(const char *name, void *ctx, struct gpc_worker **ret, struct gpc_err *err)
{
	struct gpc_worker *w = calloc(1, sizeof *w);
	gpc_status st;

	if (!w)
		return gpc_err_nomem(err);
	w->ctx = ctx;
	pthread_mutex_init(&w->lock, NULL);
	gpc_cond_init(&w->done);
	st = build(w, err);
	if (st == GPC_OK)
		st = gpc_thread_start(&w->thread, name, run, w, err);
	if (st < 0) {
		w->thread = 0;
		gpc_worker_free(w);
		return st;
	}
	*ret = w;
	return GPC_OK;
}

static bool every(void *arg, const struct gpc_watch *watch)
{
	(void)arg;
	(void)watch;
	return true;
}

void gpc_worker_free(struct gpc_worker *w)
{
	uint64_t one = 1;

	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	w->is_ending = true;
	pthread_mutex_unlock(&w->lock);
	if (w->thread && write(w->wake, &one, sizeof one) == sizeof one)
		pthread_join(w->thread, NULL);
	gpc_worker_unwatch(w, every, NULL);
	drop_ended(w);
	vec_deinit(&w->watches);
	vec_deinit(&w->ended);
	vec_deinit(&w->first);
	vec_deinit(&w->jobs);
	if (w->epoll >= 0)
		close(w->epoll);
	if (w->wake >= 0)
		close(w->wake);
	pthread_cond_destroy(&w->done);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

static bool post(struct gpc_worker *w, gpc_job_fn fn, struct gpc_ticket *ticket, bool is_first)
{
	struct job job = {.fn = fn, .ticket = ticket};
	uint64_t one = 1;
	bool is_queued;

	pthread_mutex_lock(&w->lock);
	is_queued =
		!w->is_ending && (is_first ? vec_push(&w->first, job) : vec_push(&w->jobs, job));
	pthread_mutex_unlock(&w->lock);
	if (!is_queued)
		gpc_ticket_put(ticket);
	else if (write(w->wake, &one, sizeof one) < 0)
		return true; /* the counter is full: it is awake */
	return is_queued;
}

bool gpc_worker_post(struct gpc_worker *w, gpc_job_fn fn, struct gpc_ticket *ticket)
{
	return post(w, fn, ticket, false);
}

bool gpc_worker_post_first(struct gpc_worker *w, gpc_job_fn fn, struct gpc_ticket *ticket)
{
	return post(w, fn, ticket, true);
}

bool gpc_worker_wait(struct gpc_worker *w, const struct gpc_ticket *ticket, uint64_t deadline_ns)
{
	struct timespec until = gpc_timespec(deadline_ns);
	autolock(&w->lock);

	while (!ticket->is_done && pthread_cond_timedwait(&w->done, &w->lock, &until) != ETIMEDOUT)
		;
	return ticket->is_done;
}

/* The caller's own reference keeps it until it was waited for. */
static bool finish_call(struct gpc_worker *w, struct gpc_ticket *ticket, bool is_queued,
			uint64_t deadline_ns)
{
	bool is_done = is_queued && gpc_worker_wait(w, ticket, deadline_ns);

	gpc_ticket_put(ticket);
	return is_done;
}

bool gpc_worker_call(struct gpc_worker *w, gpc_job_fn fn, struct gpc_ticket *ticket,
		     uint64_t deadline_ns)
{
	__atomic_add_fetch(&ticket->refs, 1, __ATOMIC_RELAXED);
	return finish_call(w, ticket, post(w, fn, ticket, false), deadline_ns);
}

bool gpc_worker_call_first(struct gpc_worker *w, gpc_job_fn fn, struct gpc_ticket *ticket,
			   uint64_t deadline_ns)
{
	__atomic_add_fetch(&ticket->refs, 1, __ATOMIC_RELAXED);
	return finish_call(w, ticket, post(w, fn, ticket, true), deadline_ns);
}

bool gpc_worker_is_me(const struct gpc_worker *w)
{
	return pthread_equal(w->thread, pthread_self());
}

void gpc_worker_on_watch(struct gpc_worker *w, gpc_watch_fn fn)
{
	w->on_watch = fn;
}

static void refuse(const struct gpc_watch *watch)
{
	if (watch->kind == GPC_READY_CHILD)
		reap(watch);
	if (watch->owns_fd)
		close(watch->fd);
}

gpc_status gpc_worker_watch(struct gpc_worker *w, const struct gpc_watch *watch,
			    struct gpc_err *err)
{
	struct gpc_watch *copy = malloc(sizeof *copy);
	struct epoll_event ev = {.events = watch->events, .data.ptr = copy};

	if (!copy || !vec_reserve(&w->watches, 1)) {
		refuse(watch);
		free(copy);
		return gpc_err_nomem(err);
	}
	*copy = *watch;
	if (epoll_ctl(w->epoll, EPOLL_CTL_ADD, watch->fd, &ev) < 0) {
		gpc_status st = gpc_err_sys(err, "watch descriptor %d", watch->fd);

		refuse(watch);
		free(copy);
		return st;
	}
	w->watches.at[w->watches.n++] = copy;
	return GPC_OK;
}

void gpc_worker_unwatch(struct gpc_worker *w,
			bool (*match)(void *arg, const struct gpc_watch *watch), void *arg)
{
	for (size_t i = 0; i < w->watches.n;) {
		struct gpc_watch *watch = w->watches.at[i];

		if (!match(arg, watch)) {
			i++;
			continue;
		}
		w->watches.at[i] = w->watches.at[--w->watches.n];
		end_watch(w, watch, false);
	}
}

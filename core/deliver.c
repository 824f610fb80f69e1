/* SPDX-License-Identifier: Apache-2.0 */
/* Sinks, on a thread of their own: a slow one does not delay the next window. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/thread.h"
#include "core_impl.h"

#define QUEUE_MAX   8 /* profiles; then the oldest is dropped, and counted */
#define RETRY_NS    (2 * GPC_SECOND_NS)
#define RETRIES_MAX 5
#define LAST_NS     (10 * GPC_SECOND_NS) /* at the end retries go on for so long in all ... */
#define LAST_TRY_NS (500 * GPC_MS_NS)    /* ... and so often */
#define FLUSH_NS    (10 * GPC_SECOND_NS)

struct sink {
	struct gpc_host host; /* first: its impl is the sink */
	struct gpc_core *core;
	const struct gpc_sink *sink;
	struct gpc_profile_api api;
	void *self;
};

struct gpc_deliver {
	struct gpc_core *core;
	vec(struct sink *) sinks;
	pthread_t thread;
	bool is_running;
	pthread_mutex_t lock; /* covers what follows */
	pthread_cond_t work;
	vec(struct gpc_profile *) queue;
	bool is_stopping;     /* read without it too: atomic */
	uint64_t last_try_ns; /* when stopping */
};

/* ---- what a sink may ask ------------------------------------------------------------- */

static struct sink *sink_of(const struct gpc_host *h)
{
	return h->impl;
}

static void sink_log(const struct gpc_host *h, gpc_level level, const char *msg)
{
	const struct sink *s = sink_of(h);

	gpc_log_at(&s->core->log, level, s->sink->name, 0, "%s", msg);
}

static void sink_report(const struct gpc_host *h, const struct gpc_target *t, gpc_status code,
			const char *detail)
{
	(void)t;
	sink_log(h, GPC_WARN, detail && *detail ? detail : gpc_status_name(code));
}

static uint64_t sink_now(const struct gpc_host *h)
{
	(void)h;
	return gpc_now_ns();
}

static int32_t sink_should_stop(const struct gpc_host *h)
{
	const struct sink *s = sink_of(h);

	return s->core->deliver &&
	       __atomic_load_n(&s->core->deliver->is_stopping, __ATOMIC_RELAXED);
}

/* Before anything is measured: sinks are created first. */
static void sink_want(const struct gpc_host *h, uint32_t wants)
{
	const struct sink *s = sink_of(h);

	s->core->wants |= wants;
}

static const void *sink_extension(const struct gpc_host *h, const char *id)
{
	const struct sink *s = sink_of(h);

	return strcmp(id, "gpc.profile/1") == 0 ? &s->api : NULL;
}

/* ---- the thread ------------------------------------------------------------------------- */

static struct gpc_profile *next_profile(struct gpc_deliver *d)
{
	struct gpc_profile *p;
	autolock(&d->lock);

	while (!d->queue.n && !d->is_stopping)
		pthread_cond_wait(&d->work, &d->lock);
	if (!d->queue.n)
		return NULL;
	p = d->queue.at[0];
	memmove(d->queue.at, d->queue.at + 1, --d->queue.n * sizeof *d->queue.at);
	return p;
}

/* Waits before another try; less, once everything is to end. False: no more tries. */
static bool wait_for_retry(struct gpc_deliver *d, unsigned tries)
{
	struct timespec until = gpc_timespec(gpc_now_ns() + (RETRY_NS << tries)), nap;
	autolock(&d->lock);

	if (!d->is_stopping) {
		if (tries == RETRIES_MAX)
			return false;
		while (!d->is_stopping &&
		       pthread_cond_timedwait(&d->work, &d->lock, &until) != ETIMEDOUT)
			;
		return true;
	}
	if (gpc_now_ns() + LAST_TRY_NS > d->last_try_ns)
		return false;
	nap = gpc_timespec(LAST_TRY_NS);
	pthread_mutex_unlock(&d->lock);
	clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, NULL);
	pthread_mutex_lock(&d->lock);
	return true;
}

static void write_to(struct gpc_deliver *d, const struct sink *s, const struct gpc_profile *p)
{
	gpc_status st = s->sink->write(s->self, p);

	for (unsigned tries = 0; st == GPC_E_RETRY && wait_for_retry(d, tries);
	     tries += tries < RETRIES_MAX)
		st = s->sink->write(s->self, p);
	if (st >= 0)
		return;
	gpc_error(&d->core->log, s->sink->name, "a profile was not written: %s",
		  gpc_status_name(st));
	pthread_mutex_lock(&d->core->lock);
	d->core->state.failed_writes++;
	pthread_mutex_unlock(&d->core->lock);
}

static void *run(void *arg)
{
	struct gpc_deliver *d = arg;
	struct gpc_profile *p;

	while ((p = next_profile(d))) {
		for (size_t i = 0; i < d->sinks.n; i++)
			write_to(d, d->sinks.at[i], p);
		gpc_profile_put(p);
	}
	return NULL;
}

/* ---- life ---------------------------------------------------------------------------------- */

static gpc_status add_sink(struct gpc_deliver *d, const struct gpc_sink *sink, const void *options,
			   struct gpc_err *err)
{
	struct sink *s = calloc(1, sizeof *s);
	gpc_status st;

	if (!s || !vec_reserve(&d->sinks, 1)) {
		free(s);
		return gpc_err_nomem(err);
	}
	s->core = d->core;
	s->sink = sink;
	s->api = *gpc_profile_api_get();
	s->api.want = sink_want;
	s->host = (struct gpc_host){.struct_size = sizeof s->host,
				    .abi_major = GPC_ABI_MAJOR,
				    .abi_minor = GPC_ABI_MINOR,
				    .core_version = GPC_VERSION,
				    .level = d->core->log.level,
				    .impl = s,
				    .log = sink_log,
				    .report = sink_report,
				    .now_ns = sink_now,
				    .should_stop = sink_should_stop,
				    .extension = sink_extension};
	st = sink->create(&s->host, options, &s->self);
	if (st == GPC_E_SKIPPED) { /* nothing was asked of it */
		free(s);
		return GPC_OK;
	}
	if (st < 0) {
		free(s);
		return gpc_err_set(err, st, "output %s cannot be used (see above): %s", sink->name,
				   gpc_status_name(st));
	}
	d->sinks.at[d->sinks.n++] = s;
	return GPC_OK;
}

static gpc_status add_sinks(struct gpc_deliver *d, struct gpc_err *err)
{
	for (size_t i = 0; i < d->core->states.n; i++) {
		const struct gpc_module_state *s = &d->core->states.at[i];

		for (unsigned k = 0; s->is_enabled && k < s->module->n_sinks; k++)
			gpc_try(add_sink(d, &s->module->sinks[k], s->options, err));
	}
	return GPC_OK;
}

GPC_EXPORT void gpc_core_want(struct gpc_core *core, uint32_t wants)
{
	core->wants |= wants;
}

gpc_status gpc_deliver_new(struct gpc_core *core, struct gpc_deliver **ret, struct gpc_err *err)
{
	struct gpc_deliver *d = calloc(1, sizeof *d);
	gpc_status st;

	if (!d)
		return gpc_err_nomem(err);
	d->core = core;
	pthread_mutex_init(&d->lock, NULL);
	gpc_cond_init(&d->work);
	st = add_sinks(d, err);
	if (st == GPC_OK)
		st = gpc_thread_start(&d->thread, "gpc-deliver", run, d, err);
	d->is_running = st == GPC_OK;
	if (st < 0) {
		gpc_deliver_free(d);
		return st;
	}
	*ret = d;
	return GPC_OK;
}

static void count_dropped(struct gpc_core *core, const char *why)
{
	pthread_mutex_lock(&core->lock);
	core->state.dropped++;
	pthread_mutex_unlock(&core->lock);
	gpc_error(&core->log, "core", "%s", why);
}

void gpc_deliver_put(struct gpc_deliver *d, struct gpc_profile *p)
{
	struct gpc_profile *oldest = NULL;
	bool is_queued;

	if (!d->sinks.n)
		return;
	pthread_mutex_lock(&d->lock);
	if (d->queue.n == QUEUE_MAX) {
		oldest = d->queue.at[0];
		memmove(d->queue.at, d->queue.at + 1, --d->queue.n * sizeof *d->queue.at);
	}
	is_queued = vec_push(&d->queue, p);
	if (is_queued)
		gpc_profile_get(p);
	pthread_cond_signal(&d->work);
	pthread_mutex_unlock(&d->lock);
	if (!is_queued)
		count_dropped(d->core, "no memory for a profile: it was dropped");
	if (!oldest)
		return;
	gpc_profile_put(oldest);
	count_dropped(d->core, "outputs are too slow: the oldest profile was dropped");
}

void gpc_deliver_free(struct gpc_deliver *d)
{
	if (!d)
		return;
	pthread_mutex_lock(&d->lock);
	d->last_try_ns = gpc_now_ns() + LAST_NS;
	__atomic_store_n(&d->is_stopping, true, __ATOMIC_RELAXED);
	pthread_cond_signal(&d->work);
	pthread_mutex_unlock(&d->lock);
	if (d->is_running)
		pthread_join(d->thread, NULL);
	for (size_t i = 0; i < d->sinks.n; i++) {
		struct sink *s = d->sinks.at[i];

		if (s->sink->flush)
			s->sink->flush(s->self, gpc_now_ns() + FLUSH_NS);
		s->sink->destroy(s->self);
		free(s);
	}
	for (size_t i = 0; i < d->queue.n; i++)
		gpc_profile_put(d->queue.at[i]);
	vec_deinit(&d->sinks);
	vec_deinit(&d->queue);
	pthread_cond_destroy(&d->work);
	pthread_mutex_destroy(&d->lock);
	free(d);
}

uint32_t gpc_deliver_sinks(const struct gpc_deliver *d)
{
	return (uint32_t)d->sinks.n;
}

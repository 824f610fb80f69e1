/* SPDX-License-Identifier: Apache-2.0 */
#include "base/patient.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/thread.h"

#define LEFT_MAX 8 /* threads that hang at once */

/* Outlives its gpc_patient as long as a thread hangs. */
struct tally {
	unsigned refs, left;
};

enum state { IDLE, BUSY, DONE, LEFT, ENDING };

/* Shared by the thread and who asks; a thread that was left behind owns it. */
struct worker {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	enum state state;
	struct gpc_patient_call call;
	struct tally *tally;
	pthread_t thread;
};

struct gpc_patient {
	const char *name;
	pthread_mutex_t lock; /* one call at a time; covers what follows */
	struct worker *worker;
	struct tally *tally;
};

static void tally_put(struct tally *t)
{
	if (__atomic_sub_fetch(&t->refs, 1, __ATOMIC_ACQ_REL) == 0)
		free(t);
}

static void worker_free(struct worker *w)
{
	tally_put(w->tally);
	pthread_cond_destroy(&w->changed);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

/* BUSY: there is a call. LEFT: nobody waited until it was begun. */
static enum state next_call(struct worker *w)
{
	autolock(&w->lock);

	while (w->state == IDLE || w->state == DONE)
		pthread_cond_wait(&w->changed, &w->lock);
	return w->state;
}

static enum state finish(struct worker *w)
{
	autolock(&w->lock);

	if (w->state == BUSY)
		w->state = DONE;
	pthread_cond_broadcast(&w->changed);
	return w->state;
}

static void *run(void *arg)
{
	struct worker *w = arg;
	enum state state;

	do {
		state = next_call(w);
		if (state == BUSY) {
			w->call.fn(w->call.arg);
			state = finish(w);
		}
	} while (state == DONE);
	if (state == LEFT) {
		w->call.drop(w->call.arg);
		__atomic_sub_fetch(&w->tally->left, 1, __ATOMIC_RELAXED);
		worker_free(w);
	}
	return NULL;
}

static struct worker *worker_new(struct gpc_patient *p, struct gpc_err *err)
{
	struct worker *w = calloc(1, sizeof *w);

	if (!w) {
		gpc_err_nomem(err);
		return NULL;
	}
	pthread_mutex_init(&w->lock, NULL);
	gpc_cond_init(&w->changed);
	w->tally = p->tally;
	__atomic_add_fetch(&w->tally->refs, 1, __ATOMIC_RELAXED);
	if (gpc_thread_start(&w->thread, p->name, run, w, err) == GPC_OK)
		return w;
	worker_free(w);
	return NULL;
}

gpc_status gpc_patient_new(const char *thread_name, struct gpc_patient **ret, struct gpc_err *err)
{
	struct gpc_patient *p = calloc(1, sizeof *p);

	if (!p || !(p->tally = calloc(1, sizeof *p->tally))) {
		free(p);
		return gpc_err_nomem(err);
	}
	p->tally->refs = 1;
	p->name = thread_name;
	gpc_mutex_init_inherit(&p->lock);
	*ret = p;
	return GPC_OK;
}

void gpc_patient_free(struct gpc_patient *p)
{
	if (!p)
		return;
	if (p->worker) {
		pthread_mutex_lock(&p->worker->lock);
		p->worker->state = ENDING;
		pthread_cond_broadcast(&p->worker->changed);
		pthread_mutex_unlock(&p->worker->lock);
		pthread_join(p->worker->thread, NULL);
		worker_free(p->worker);
	}
	tally_put(p->tally);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

/* False: left behind, with the worker. */
static bool is_done(struct worker *w, const struct gpc_patient_call *call, uint64_t timeout_ns)
{
	struct timespec until = gpc_timespec(gpc_now_ns() + timeout_ns);
	autolock(&w->lock);

	w->call = *call;
	w->state = BUSY;
	pthread_cond_broadcast(&w->changed);
	while (w->state == BUSY)
		if (pthread_cond_timedwait(&w->changed, &w->lock, &until) == ETIMEDOUT)
			break;
	if (w->state == BUSY) {
		w->state = LEFT;
		__atomic_add_fetch(&w->tally->left, 1, __ATOMIC_RELAXED);
		pthread_detach(w->thread);
		return false;
	}
	w->state = IDLE;
	return true;
}

gpc_status gpc_patient_run(struct gpc_patient *p, const struct gpc_patient_call *call,
			   uint64_t timeout_ns)
{
	autolock(&p->lock);

	if (!p->worker && __atomic_load_n(&p->tally->left, __ATOMIC_RELAXED) < LEFT_MAX)
		p->worker = worker_new(p, NULL);
	if (!p->worker) {
		call->drop(call->arg);
		return GPC_E_TIMEOUT;
	}
	if (is_done(p->worker, call, timeout_ns))
		return GPC_OK;
	p->worker = NULL;
	return GPC_E_TIMEOUT;
}

/* ---- reading a file ------------------------------------------------------------------ */

struct reading {
	int dirfd;
	char *path;
	size_t max, len;
	char *text;
	gpc_status status;
	struct gpc_err err;
};

static void read_now(void *arg)
{
	struct reading *r = arg;

	r->status = gpc_read_file(r->dirfd, r->path, r->max, &r->text, &r->len, &r->err);
}

static void reading_free(void *arg)
{
	struct reading *r = arg;

	if (r->dirfd >= 0)
		close(r->dirfd);
	free(r->path);
	free(r->text);
	free(r);
}

gpc_status gpc_patient_read(struct gpc_patient *p, int dirfd, const char *path, size_t max,
			    char **ret, size_t *len, struct gpc_err *err)
{
	struct reading *r = calloc(1, sizeof *r);
	struct gpc_patient_call call = {read_now, reading_free, r};
	gpc_status st;

	if (!r)
		return gpc_err_nomem(err);
	r->dirfd = dirfd == AT_FDCWD ? AT_FDCWD : fcntl(dirfd, F_DUPFD_CLOEXEC, 0);
	r->path = strdup(path);
	r->max = max;
	if (!r->path || (r->dirfd < 0 && r->dirfd != AT_FDCWD)) {
		reading_free(r);
		return gpc_err_nomem(err);
	}
	if (gpc_patient_run(p, &call, GPC_PATIENT_NS) < 0)
		return gpc_err_set(err, GPC_E_TIMEOUT, "%s: the kernel does not answer", path);
	st = r->status;
	if (st < 0 && err)
		*err = r->err;
	*ret = st < 0 ? NULL : take(r->text);
	*len = r->len;
	reading_free(r);
	return st;
}

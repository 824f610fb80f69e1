/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/discovery.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/patient.h"
#include "base/thread.h"
#include "base/vec.h"
#include "plugin/match.h"

#define CLAIM_NS  (5 * GPC_SECOND_NS) /* the longest claim() we wait for */
#define SETTLE_NS (50 * GPC_MS_NS)    /* mappings come in bursts: look once after them */
#define QUEUE_MAX 65536

/* A process to look at, not before due_ns. */
struct question {
	uint64_t due_ns;
	int32_t pid;
	struct gpc_instance *asker; /* attach for this one, without match and claim */
	uint64_t child, parent;     /* ids: it was forked just now; 0: another question */
	uint32_t exec_count;        /* of the child then: an image that nobody knows leaves its
				     * id to the next one */
};

/* What is known of a process that was looked at. */
struct known {
	uint64_t id;
	int32_t pid;
	uint64_t attached; /* bit k: to instance k */
};

struct gpc_discovery {
	struct gpc_discovery_setup setup;
	struct gpc_matcher *matcher; /* the thread's own */
	struct gpc_patient *patient;
	uint64_t forks; /* bit k: instance k follows its processes' children */
	pthread_t thread;
	pthread_mutex_t lock; /* covers what follows */
	pthread_cond_t work;
	vec(struct question) queue;
	vec(struct known) known;
	bool is_stopping, is_running;
};

/* ---- questions ------------------------------------------------------------------ */

static bool is_queued(const struct gpc_discovery *d, const struct question *q)
{
	for (size_t k = 0; k < d->queue.n; k++)
		if (d->queue.at[k].pid == q->pid && d->queue.at[k].asker == q->asker &&
		    d->queue.at[k].child == q->child)
			return true;
	return false;
}

/* Locked. */
static void ask(struct gpc_discovery *d, const struct question *q)
{
	if (d->queue.n >= QUEUE_MAX || is_queued(d, q) || !vec_push(&d->queue, *q))
		return;
	pthread_cond_signal(&d->work);
}

static struct known *find_known(struct gpc_discovery *d, uint64_t id)
{
	for (size_t k = 0; k < d->known.n; k++)
		if (d->known.at[k].id == id)
			return &d->known.at[k];
	return NULL;
}

/* Detaches all images of the pid other than keep. */
static void forget_pid(struct gpc_discovery *d, int32_t pid, uint64_t keep)
{
	for (size_t k = 0; k < d->known.n;) {
		struct known *at = &d->known.at[k];

		if (at->pid != pid || at->id == keep) {
			k++;
			continue;
		}
		for (unsigned i = 0; i < d->setup.n_instances; i++)
			if (at->attached >> i & 1)
				gpc_instance_detach(d->setup.instances[i], at->id);
		*at = d->known.at[--d->known.n];
	}
}

/* Locked. A child of a process that is attached to. */
static void forked(struct gpc_discovery *d, const struct gpc_process *p, int32_t ppid)
{
	struct question q = {.pid = p->pid, .child = p->id, .exec_count = p->exec_count};

	/* --min-duration: they have to grow old first. */
	if (!d->forks || d->setup.min_age_ns)
		return;
	for (size_t k = 0; k < d->known.n; k++)
		if (d->known.at[k].pid == ppid && d->known.at[k].attached & d->forks)
			q.parent = d->known.at[k].id;
	if (q.parent)
		ask(d, &q);
}

void gpc_discovery_changed(struct gpc_discovery *d, const struct gpc_process *p,
			   const struct gpc_process_event *ev)
{
	struct question q = {.due_ns = gpc_now_ns() + SETTLE_NS, .pid = ev->pid};
	autolock(&d->lock);

	if (ev->kind == GPC_PROC_EXIT)
		forget_pid(d, ev->pid, 0);
	else if (ev->kind == GPC_PROC_EXEC)
		forget_pid(d, ev->pid, p->id);
	else if (ev->kind == GPC_PROC_FORK && p)
		forked(d, p, ev->ppid);
	if (!p || p->is_kernel || !p->is_sampled)
		return;
	/* A new mapping changes nothing for a process nobody has looked at yet. */
	if (ev->kind == GPC_PROC_SAMPLED || (ev->kind == GPC_PROC_MMAP && find_known(d, p->id)))
		ask(d, &q);
}

gpc_status gpc_discovery_attach(struct gpc_discovery *d, struct gpc_instance *i, int32_t pid)
{
	struct question q = {.pid = pid, .asker = i};
	autolock(&d->lock);

	if (pid <= 0)
		return GPC_E_CONFIG;
	ask(d, &q);
	return GPC_OK;
}

/* ---- the thread -------------------------------------------------------------------- */

/* Waits for the first question that is due; the times of others are waited out. */
static bool next_question(struct gpc_discovery *d, struct question *ret)
{
	autolock(&d->lock);

	while (!d->is_stopping) {
		uint64_t now = gpc_now_ns(), first = UINT64_MAX;
		struct timespec until;

		for (size_t k = 0; k < d->queue.n; k++) {
			if (d->queue.at[k].due_ns <= now) {
				*ret = d->queue.at[k];
				memmove(&d->queue.at[k], &d->queue.at[k + 1],
					(--d->queue.n - k) * sizeof *d->queue.at);
				return true;
			}
			if (d->queue.at[k].due_ns < first)
				first = d->queue.at[k].due_ns;
		}
		if (first == UINT64_MAX) {
			pthread_cond_wait(&d->work, &d->lock);
			continue;
		}
		until = gpc_timespec(first);
		pthread_cond_timedwait(&d->work, &d->lock, &until);
	}
	return false;
}

static bool is_among(const struct gpc_discovery *d, int32_t pid)
{
	for (uint32_t k = 0; k < d->setup.n_pids; k++)
		if (d->setup.pids[k] == pid)
			return true;
	return false;
}

/* --pids means these and what they start. */
static bool is_wanted(const struct gpc_discovery *d, const struct gpc_target_view *v)
{
	struct gpc_target_id parent;
	int32_t pid = v->target.pid, ppid = v->target.ppid;

	if (!d->setup.n_pids)
		return true;
	for (unsigned depth = 0; depth < 64; depth++) {
		struct gpc_target_view *up;

		if (is_among(d, pid))
			return true;
		if (ppid <= 1)
			return false;
		parent = (struct gpc_target_id){.pid = ppid, .patient = d->patient};
		if (gpc_target_read(&parent, &up, NULL) < 0)
			return is_among(d, ppid);
		pid = ppid;
		ppid = up->target.ppid;
		gpc_target_put(up);
	}
	return false;
}

static uint64_t attached_of(struct gpc_discovery *d, uint64_t id)
{
	autolock(&d->lock);
	const struct known *at = find_known(d, id);

	return at ? at->attached : 0;
}

static void remember(struct gpc_discovery *d, const struct gpc_target_id *id, uint64_t attached)
{
	struct known fresh = {.id = id->id, .pid = id->pid, .attached = attached};
	autolock(&d->lock);
	struct known *at = find_known(d, id->id);

	if (at)
		at->attached |= attached;
	else
		vec_push(&d->known, fresh);
}

static bool is_same_runtime(const struct gpc_collector *a, const struct gpc_collector *b)
{
	return a->runtime && b->runtime && strcmp(a->runtime, b->runtime) == 0;
}

/* a is better than b: surer, then gentler, then first by name. */
static bool is_better(int32_t score_a, const struct gpc_collector *a, int32_t score_b,
		      const struct gpc_collector *b)
{
	if (score_a != score_b)
		return score_a > score_b;
	if (a->touch != b->touch)
		return a->touch < b->touch;
	return strcmp(a->name, b->name) < 0;
}

/* Is somebody of k's runtime attached already? */
static bool is_taken(const struct gpc_discovery *d, unsigned k, uint64_t attached)
{
	const struct gpc_collector *mine = gpc_instance_collector(d->setup.instances[k]);

	for (unsigned o = 0; o < d->setup.n_instances; o++)
		if (attached >> o & 1 && o != k &&
		    is_same_runtime(mine, gpc_instance_collector(d->setup.instances[o])))
			return true;
	return false;
}

/* Of the collectors that match, those that nobody of the same runtime beats. */
static uint64_t choose(struct gpc_discovery *d, struct gpc_target_view *v, uint64_t matched,
		       uint64_t attached)
{
	int32_t scores[GPC_MATCH_MAX] = {0};
	uint64_t chosen = 0;

	for (unsigned k = 0; k < d->setup.n_instances; k++)
		if (matched >> k & 1 && !is_taken(d, k, attached))
			scores[k] = gpc_instance_claim(d->setup.instances[k], v,
						       gpc_now_ns() + CLAIM_NS);
	for (unsigned k = 0; k < d->setup.n_instances; k++) {
		const struct gpc_collector *mine = gpc_instance_collector(d->setup.instances[k]);
		bool is_beaten = false;

		if (scores[k] <= 0)
			continue;
		for (unsigned o = 0; o < d->setup.n_instances && !is_beaten; o++) {
			const struct gpc_collector *other =
				gpc_instance_collector(d->setup.instances[o]);

			if (o == k || !is_same_runtime(mine, other))
				continue;
			is_beaten = scores[o] > 0 && is_better(scores[o], other, scores[k], mine);
		}
		if (!is_beaten)
			chosen |= UINT64_C(1) << k;
	}
	return chosen;
}

static void attach_chosen(struct gpc_discovery *d, struct gpc_target_view *v, uint64_t chosen)
{
	struct gpc_target_id id = {.pid = v->target.pid, .id = v->target.id};

	remember(d, &id, chosen);
	for (unsigned k = 0; k < d->setup.n_instances; k++)
		if (chosen >> k & 1)
			gpc_instance_attach(d->setup.instances[k], v);
}

static uint64_t bit_of(const struct gpc_discovery *d, const struct gpc_instance *i)
{
	for (unsigned k = 0; k < d->setup.n_instances; k++)
		if (d->setup.instances[k] == i)
			return UINT64_C(1) << k;
	return 0;
}

/* How long the process must still live to be old enough. */
static uint64_t youth(const struct gpc_discovery *d, const struct gpc_target_view *v)
{
	uint64_t ticks = (uint64_t)sysconf(_SC_CLK_TCK);
	uint64_t born = v->target.start_time * (GPC_SECOND_NS / ticks);
	uint64_t now = gpc_clock_ns(CLOCK_BOOTTIME);
	uint64_t age = now > born ? now - born : 0;

	return age < d->setup.min_age_ns ? d->setup.min_age_ns - age : 0;
}

static void look(struct gpc_discovery *d, const struct question *q, struct gpc_target_view *v)
{
	uint64_t attached = attached_of(d, v->target.id);
	uint64_t wait = youth(d, v);

	if (wait) {
		struct question later = *q;
		autolock(&d->lock);

		later.due_ns = gpc_now_ns() + wait;
		ask(d, &later);
		return;
	}
	if (q->asker)
		attach_chosen(d, v, bit_of(d, q->asker) & ~attached);
	else
		attach_chosen(d, v,
			      choose(d, v, gpc_matcher_ask(d->matcher, v) & ~attached, attached));
}

/* The end or the exec of a process may have been told while it was looked at:
 * nobody may stay attached to an image that is gone. */
static void check_again(struct gpc_discovery *d, const struct gpc_target_id *id)
{
	struct gpc_target_id now = {0};
	bool lives = d->setup.identify(d->setup.ctx, id->pid, &now);

	if (lives && now.id == id->id)
		return;
	for (unsigned k = 0; k < d->setup.n_instances; k++)
		gpc_instance_detach(d->setup.instances[k], id->id);
	autolock(&d->lock);
	forget_pid(d, id->pid, lives ? now.id : 0);
}

/* Most children execute another program at once: then there is nothing to follow. */
static void follow(struct gpc_discovery *d, const struct question *q,
		   const struct gpc_target_id *id)
{
	uint64_t attached = attached_of(d, q->parent) & d->forks & ~attached_of(d, id->id);

	if (id->id != q->child || id->exec_count != q->exec_count || !attached)
		return;
	remember(d, id, attached);
	for (unsigned k = 0; k < d->setup.n_instances; k++)
		if (attached >> k & 1)
			gpc_instance_attach_child(d->setup.instances[k], id, q->parent);
	check_again(d, id);
}

static void answer(struct gpc_discovery *d, const struct question *q)
{
	struct gpc_target_id id = {0};
	struct gpc_target_view *v;
	struct gpc_err err;

	if (!d->setup.identify(d->setup.ctx, q->pid, &id))
		return;
	if (q->child) {
		follow(d, q, &id);
		return;
	}
	id.patient = d->patient;
	/* Before its mappings are read: what it maps later is asked again. */
	remember(d, &id, 0);
	if (gpc_target_read(&id, &v, &err) == GPC_OK) {
		if (is_wanted(d, v)) {
			if (d->setup.complete)
				d->setup.complete(d->setup.ctx, v);
			look(d, q, v);
		}
		gpc_target_put(v);
	} else {
		gpc_debug(d->setup.log, "proc", "%s", err.text);
	}
	check_again(d, &id);
}

static void *run(void *arg)
{
	struct gpc_discovery *d = arg;
	struct question q;

	while (next_question(d, &q))
		answer(d, &q);
	return NULL;
}

/* ---- life ------------------------------------------------------------------------------ */

gpc_status gpc_discovery_new(const struct gpc_discovery_setup *setup, struct gpc_discovery **ret,
			     struct gpc_err *err)
{
	const struct gpc_match *tables[GPC_MATCH_MAX];
	struct gpc_discovery *d = calloc(1, sizeof *d);
	gpc_status st;

	if (!d)
		return gpc_err_nomem(err);
	d->setup = *setup;
	pthread_mutex_init(&d->lock, NULL);
	gpc_cond_init(&d->work);
	for (unsigned k = 0; k < setup->n_instances && k < GPC_MATCH_MAX; k++)
		tables[k] = gpc_instance_collector(setup->instances[k])->match;
	for (unsigned k = 0; k < setup->n_instances && k < GPC_MATCH_MAX; k++)
		if (gpc_instance_forks(setup->instances[k]))
			d->forks |= UINT64_C(1) << k;
	st = gpc_matcher_new(tables, setup->n_instances, &d->matcher, err);
	if (st == GPC_OK)
		st = gpc_patient_new("gpc-read", &d->patient, err);
	if (st == GPC_OK)
		st = gpc_thread_start(&d->thread, "gpc-discover", run, d, err);
	if (st < 0) {
		gpc_discovery_free(d);
		return st;
	}
	d->is_running = true;
	*ret = d;
	return GPC_OK;
}

void gpc_discovery_free(struct gpc_discovery *d)
{
	if (!d)
		return;
	pthread_mutex_lock(&d->lock);
	d->is_stopping = true;
	pthread_cond_signal(&d->work);
	pthread_mutex_unlock(&d->lock);
	if (d->is_running)
		pthread_join(d->thread, NULL);
	gpc_matcher_free(d->matcher);
	gpc_patient_free(d->patient);
	vec_deinit(&d->queue);
	vec_deinit(&d->known);
	pthread_cond_destroy(&d->work);
	pthread_mutex_destroy(&d->lock);
	free(d);
}

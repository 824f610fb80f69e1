/* SPDX-License-Identifier: Apache-2.0 */
#include "containers/containers.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/thread.h"
#include "base/vec.h"
#include "containers/bundle.h"
#include "containers/docker.h"

#define ENTRIES_MAX 4096
#define BATCH_MAX   64
#define LIST_FROM   5 /* so many at once: Docker is asked for all it has */

/* How long an answer holds. */
#define NAMED_NS     (600 * GPC_SECOND_NS) /* containers can be renamed */
#define UNKNOWN_NS   (60 * GPC_SECOND_NS)
#define BACK_OFF_NS  (10 * GPC_SECOND_NS)  /* a daemon that failed is left alone, ... */
#define BACK_OFF_MAX (300 * GPC_SECOND_NS) /* each time twice as long, up to this */

enum state { QUEUED, ASKED, ANSWERED };

struct entry {
	struct gpc_container c;
	enum state state;
	uint64_t due_ns;  /* ANSWERED: then it is asked again */
	uint64_t used_ns; /* when somebody wanted it last */
};

struct gpc_containers {
	char *root;
	struct gpc_log *log;
	struct gpc_docker *docker;
	uint64_t docker_due_ns, back_off_ns; /* the thread's own */

	pthread_t thread;
	bool is_running;
	pthread_mutex_t lock; /* covers what follows */
	pthread_cond_t work, answer;
	vec(struct entry *) entries;
	struct gpc_u64map index; /* hash of the id -> place in entries */
	bool is_stopping;
};

/* ---- entries (locked) -------------------------------------------------------------- */

static uint64_t key_of(const struct gpc_container_id *id)
{
	return gpc_hash(id->hex, GPC_CONTAINER_ID);
}

static struct entry *find(const struct gpc_containers *c, const struct gpc_container_id *id)
{
	uint64_t cursor = 0, at;

	while (gpc_u64map_probe(&c->index, key_of(id), &cursor, &at))
		if (strcmp(c->entries.at[at]->c.id.hex, id->hex) == 0)
			return c->entries.at[at];
	return NULL;
}

static void entry_free(struct entry *e)
{
	gpc_container_deinit(&e->c);
	free(e);
}

/* The one that nobody has wanted for longest gives way. The index is made anew:
 * this is for machines that start thousands of containers. */
static bool make_room(struct gpc_containers *c)
{
	size_t oldest = 0;

	for (size_t i = 1; i < c->entries.n; i++)
		if (c->entries.at[i]->used_ns < c->entries.at[oldest]->used_ns)
			oldest = i;
	entry_free(c->entries.at[oldest]);
	c->entries.at[oldest] = c->entries.at[--c->entries.n];
	gpc_u64map_clear(&c->index);
	for (size_t i = 0; i < c->entries.n; i++)
		if (!gpc_u64map_add(&c->index, key_of(&c->entries.at[i]->c.id), i))
			return false;
	return true;
}

static struct entry *enter(struct gpc_containers *c, const struct gpc_container_id *id)
{
	struct entry *e;

	if (c->entries.n >= ENTRIES_MAX && !make_room(c))
		return NULL;
	e = calloc(1, sizeof *e);
	if (!e)
		return NULL;
	e->c.id = *id;
	if (!vec_reserve(&c->entries, 1) || !gpc_u64map_add(&c->index, key_of(id), c->entries.n)) {
		free(e);
		return NULL;
	}
	c->entries.at[c->entries.n++] = e;
	return e;
}

/* NULL: no memory. */
static struct entry *want(struct gpc_containers *c, const struct gpc_container_id *id)
{
	struct entry *e = find(c, id);
	bool is_new = !e;
	uint64_t now = gpc_now_ns();

	if (is_new)
		e = enter(c, id);
	if (!e)
		return NULL;
	e->used_ns = now;
	if (is_new || (e->state == ANSWERED && now >= e->due_ns)) {
		e->state = QUEUED;
		pthread_cond_signal(&c->work);
	}
	return e;
}

/* ---- asking: the thread -------------------------------------------------------------- */

/* One that is being asked for. */
struct question {
	struct gpc_container_id id;
	bool is_named, is_dockers, has_failed;
};

struct batch {
	struct gpc_containers *owner;
	struct question at[BATCH_MAX];
	size_t n;
};

/* The name is there for all who wait, while others are still being asked for. */
static void publish(struct batch *b, struct question *q, struct gpc_container *found)
{
	struct gpc_containers *c = b->owner;
	struct entry *e;
	autolock(&c->lock);

	q->is_named = true;
	e = find(c, &q->id);
	if (!e) {
		gpc_container_deinit(found);
		return;
	}
	gpc_container_deinit(&e->c);
	e->c = *found;
	pthread_cond_broadcast(&c->answer);
}

static void ask_bundles(struct batch *b)
{
	for (size_t i = 0; i < b->n; i++) {
		struct gpc_container found = {.id = b->at[i].id};
		struct gpc_err err;

		if (gpc_bundle_find(b->owner->root, &found, &err) == GPC_OK)
			publish(b, &b->at[i], &found);
		else if (err.code != GPC_E_GONE)
			gpc_debug(b->owner->log, "containers", "%s: %s", b->at[i].id.hex, err.text);
	}
}

/* A name from Docker wins over one from a bundle. */
static void on_listed(void *ctx, struct gpc_container *found)
{
	struct batch *b = ctx;

	for (size_t i = 0; i < b->n; i++)
		if (strcmp(b->at[i].id.hex, found->id.hex) == 0) {
			b->at[i].is_dockers = true;
			publish(b, &b->at[i], found);
			return;
		}
	gpc_container_deinit(found);
}

/* Those that Docker did not list may have stopped since. */
static gpc_status ask_one_by_one(struct batch *b, struct gpc_err *err)
{
	for (size_t i = 0; i < b->n; i++) {
		struct gpc_container found = {0};
		gpc_status st;

		if (b->at[i].is_dockers)
			continue;
		st = gpc_docker_one(b->owner->docker, &b->at[i].id, &found, err);
		if (st == GPC_OK && strcmp(found.id.hex, b->at[i].id.hex) == 0)
			publish(b, &b->at[i], &found);
		else if (st == GPC_OK)
			gpc_container_deinit(&found);
		else if (st != GPC_E_GONE)
			return st;
	}
	return GPC_OK;
}

static gpc_status ask_docker_for(struct batch *b, struct gpc_err *err)
{
	if (b->n >= LIST_FROM)
		gpc_try(gpc_docker_list(b->owner->docker, on_listed, b, err));
	return ask_one_by_one(b, err);
}

static void fail_unnamed(struct batch *b)
{
	for (size_t i = 0; i < b->n; i++)
		b->at[i].has_failed = !b->at[i].is_named;
}

static void ask_docker(struct batch *b)
{
	struct gpc_containers *c = b->owner;
	struct gpc_err err;

	if (!gpc_docker_is_there(c->docker))
		return;
	if (gpc_now_ns() < c->docker_due_ns) {
		fail_unnamed(b);
		return;
	}
	if (ask_docker_for(b, &err) == GPC_OK) {
		c->back_off_ns = BACK_OFF_NS;
		return;
	}
	/* A socket without a daemon behind it stays when Docker is removed. */
	if (err.code != GPC_E_TIMEOUT)
		gpc_log_at(c->log, err.code == GPC_E_UNSUPPORTED ? GPC_DEBUG : GPC_WARN,
			   "containers", 0,
			   "%s: containers it knows have no names until it answers", err.text);
	c->docker_due_ns = gpc_now_ns() + c->back_off_ns;
	c->back_off_ns = c->back_off_ns * 2 < BACK_OFF_MAX ? c->back_off_ns * 2 : BACK_OFF_MAX;
	fail_unnamed(b);
}

static void settle(struct batch *b)
{
	struct gpc_containers *c = b->owner;
	uint64_t now = gpc_now_ns();
	autolock(&c->lock);

	for (size_t i = 0; i < b->n; i++) {
		struct entry *e = find(c, &b->at[i].id);

		if (!e)
			continue;
		e->state = ANSWERED;
		e->due_ns = now + (b->at[i].is_named ? NAMED_NS : UNKNOWN_NS);
		if (b->at[i].has_failed)
			e->due_ns = c->docker_due_ns;
	}
	pthread_cond_broadcast(&c->answer);
}

/* False: the end. */
static bool next_batch(struct gpc_containers *c, struct batch *b)
{
	autolock(&c->lock);

	b->n = 0;
	while (!c->is_stopping) {
		for (size_t i = 0; i < c->entries.n && b->n < BATCH_MAX; i++)
			if (c->entries.at[i]->state == QUEUED) {
				c->entries.at[i]->state = ASKED;
				b->at[b->n++] = (struct question){.id = c->entries.at[i]->c.id};
			}
		if (b->n)
			return true;
		pthread_cond_wait(&c->work, &c->lock);
	}
	return false;
}

static void *run(void *arg)
{
	struct batch b = {.owner = arg};

	while (next_batch(b.owner, &b)) {
		ask_bundles(&b);
		ask_docker(&b);
		settle(&b);
	}
	return NULL;
}

/* ---- finding --------------------------------------------------------------------------- */

void gpc_containers_want(struct gpc_containers *c, const char *cgroup)
{
	struct gpc_container_id ids[GPC_CONTAINER_DEPTH];
	size_t n = gpc_container_ids(cgroup, ids);
	autolock(&c->lock);

	for (size_t i = 0; i < n; i++)
		want(c, &ids[i]);
}

/* Is there anything to wait for? An outer container matters only while no inner
 * one has a name. *ret: the innermost with a name so far; NULL: none. */
static bool is_open(struct gpc_containers *c, const struct gpc_container_id *ids, size_t n,
		    const struct entry **ret)
{
	bool is_waiting = false;

	*ret = NULL;
	for (size_t i = 0; i < n && !*ret; i++) {
		const struct entry *e = want(c, &ids[i]);

		if (e && e->c.name)
			*ret = e;
		else if (e && e->state != ANSWERED)
			is_waiting = true;
	}
	return is_waiting;
}

bool gpc_containers_find(struct gpc_containers *c, const char *cgroup, uint64_t until_ns,
			 struct gpc_container *ret)
{
	struct gpc_container_id ids[GPC_CONTAINER_DEPTH];
	size_t n = gpc_container_ids(cgroup, ids);
	struct timespec until = gpc_timespec(until_ns);
	struct gpc_container bare = {0};
	const struct entry *best = NULL;
	autolock(&c->lock);

	if (!n)
		return false;
	while (is_open(c, ids, n, &best) && gpc_now_ns() < until_ns &&
	       pthread_cond_timedwait(&c->answer, &c->lock, &until) != ETIMEDOUT)
		;
	bare.id = ids[0];
	return gpc_container_copy(best ? &best->c : &bare, ret, NULL) == GPC_OK;
}

/* ---- life -------------------------------------------------------------------------------- */

/* A profiler in a container of its own looks at the machine through PID 1. */
static const char *machine_root(void)
{
	static const char first[] = "/proc/1/root";
	struct stat a, b;

	if (stat(first, &a) < 0 || stat("/", &b) < 0)
		return "";
	return a.st_dev == b.st_dev && a.st_ino == b.st_ino ? "" : first;
}

static gpc_status build(struct gpc_containers *c, const struct gpc_containers_setup *setup,
			struct gpc_err *err)
{
	const char *root = setup->root ? setup->root : machine_root();
	char socket[PATH_MAX];

	c->root = strdup(root);
	if (!c->root)
		return gpc_err_nomem(err);
	/* Not /var/run: an absolute link, which leads out of another root. */
	snprintf(socket, sizeof socket, "%s/run/docker.sock", root);
	gpc_try(gpc_docker_new(setup->docker_socket ? setup->docker_socket : socket, &c->docker,
			       err));
	gpc_try(gpc_thread_start(&c->thread, "gpc-containers", run, c, err));
	c->is_running = true;
	return GPC_OK;
}

gpc_status gpc_containers_new(const struct gpc_containers_setup *setup, struct gpc_containers **ret,
			      struct gpc_err *err)
{
	struct gpc_containers *c = calloc(1, sizeof *c);
	gpc_status st;

	if (!c)
		return gpc_err_nomem(err);
	c->log = setup->log;
	c->back_off_ns = BACK_OFF_NS;
	pthread_mutex_init(&c->lock, NULL);
	gpc_cond_init(&c->work);
	gpc_cond_init(&c->answer);
	st = build(c, setup, err);
	if (st < 0) {
		gpc_containers_free(c);
		return st;
	}
	*ret = c;
	return GPC_OK;
}

void gpc_containers_free(struct gpc_containers *c)
{
	if (!c)
		return;
	pthread_mutex_lock(&c->lock);
	c->is_stopping = true;
	pthread_cond_signal(&c->work);
	pthread_mutex_unlock(&c->lock);
	if (c->docker)
		gpc_docker_interrupt(c->docker);
	if (c->is_running)
		pthread_join(c->thread, NULL);
	gpc_docker_free(c->docker);
	for (size_t i = 0; i < c->entries.n; i++)
		entry_free(c->entries.at[i]);
	vec_deinit(&c->entries);
	gpc_u64map_deinit(&c->index);
	pthread_cond_destroy(&c->work);
	pthread_cond_destroy(&c->answer);
	pthread_mutex_destroy(&c->lock);
	free(c->root);
	free(c);
}

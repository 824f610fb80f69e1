/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/tables.h"

#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/thread.h"
#include "base/vec.h"

#define MODULE    "unwind"
#define LATER_NS  (10 * GPC_MS_NS) /* between looks whether a file was opened */
#define TRIES_MAX 300

enum state {
	WANTED, /* in the queue, or being built */
	ABSENT, /* to be queued when it is asked for */
	READY,
	NONE,   /* the file has none, or is not for us */
	NO_FILE /* it could not be had */
};

struct entry {
	uint32_t image, refs, tries;
	enum state state;
	uint64_t turn;
	struct gpc_unwind_table *table;
};

struct gpc_unwind_tables {
	struct gpc_images *images;
	struct gpc_log *log;
	size_t max_bytes;
	pthread_t thread;
	bool is_running;
	pthread_mutex_t lock; /* covers what follows */
	pthread_cond_t work;
	bool is_stopping;
	vec(struct entry *) all;
	struct gpc_u64map by_image; /* -> place in all */
	vec(uint32_t) queue;        /* from head on */
	size_t head;
	vec(uint32_t) later; /* their files are not open yet */
	uint64_t turn, changes;
	struct gpc_unwind_tables_stats stats;
};

/* ---- locked -------------------------------------------------------------------- */

static struct entry *find(const struct gpc_unwind_tables *t, uint32_t image)
{
	uint64_t place;

	return gpc_u64map_get(&t->by_image, image, &place) ? t->all.at[place] : NULL;
}

static struct entry *add(struct gpc_unwind_tables *t, uint32_t image)
{
	struct entry *e = calloc(1, sizeof *e);

	if (!e)
		return NULL;
	e->image = image;
	e->state = ABSENT;
	if (!vec_reserve(&t->all, 1) || !gpc_u64map_set(&t->by_image, image, t->all.n)) {
		free(e);
		return NULL;
	}
	t->all.at[t->all.n++] = e;
	return e;
}

/* The table is the caller's, who frees it without the lock: readers wait for that. */
static struct gpc_unwind_table *drop_table(struct gpc_unwind_tables *t, struct entry *e)
{
	struct gpc_unwind_table *gone = take(e->table);

	if (!gone)
		return NULL;
	t->stats.tables--;
	t->stats.bytes -= gone->bytes;
	e->state = ABSENT;
	return gone;
}

static struct entry *least_recent(const struct gpc_unwind_tables *t, uint32_t but)
{
	struct entry *ret = NULL;

	for (size_t i = 0; i < t->all.n; i++) {
		struct entry *e = t->all.at[i];

		if (e->table && !e->refs && e->image != but && (!ret || e->turn < ret->turn))
			ret = e;
	}
	return ret;
}

static void want(struct gpc_unwind_tables *t, struct entry *e)
{
	if (!vec_push(&t->queue, e->image))
		return;
	e->state = WANTED;
	e->tries = 0;
	pthread_cond_signal(&t->work);
}

/* ---- the thread ------------------------------------------------------------------- */

static gpc_status build_from(const struct gpc_elf_source *source, struct gpc_unwind_table **ret,
			     struct gpc_err *err)
{
	struct gpc_elf elf;
	gpc_status st;

	gpc_try(gpc_elf_init(&elf, source, err));
	st = gpc_unwind_table_build(&elf, ret, err);
	gpc_elf_deinit(&elf);
	return st;
}

/* The vdso ends with its section headers; the kernel made it, so what they say is
 * true. */
static gpc_status build_vdso(struct gpc_unwind_table **ret, struct gpc_err *err)
{
	const ElfW(Ehdr) *h = (const void *)getauxval(AT_SYSINFO_EHDR);
	struct gpc_elf_source source;

	if (!h)
		return gpc_err_set(err, GPC_E_UNSUPPORTED, "the kernel gave us no vdso");
	source = gpc_elf_source_memory(h, h->e_shoff + (size_t)h->e_shnum * h->e_shentsize);
	return build_from(&source, ret, err);
}

static gpc_status build(struct gpc_unwind_tables *t, uint32_t image, struct gpc_unwind_table **ret,
			struct gpc_err *err)
{
	struct gpc_elf_source source;
	autoclose int fd = -1;

	if (image == GPC_UNWIND_VDSO)
		return build_vdso(ret, err);
	gpc_try(gpc_images_file(t->images, image, &fd, err));
	gpc_try(gpc_elf_source_fd(fd, &source, err));
	return build_from(&source, ret, err);
}

/* Locked. */
static void wait_for_work(struct gpc_unwind_tables *t)
{
	struct timespec until;

	if (!t->later.n) {
		pthread_cond_wait(&t->work, &t->lock);
		return;
	}
	until = gpc_timespec(gpc_now_ns() + LATER_NS);
	pthread_cond_timedwait(&t->work, &t->lock, &until);
	for (size_t i = 0; i < t->later.n; i++)
		(void)vec_push(&t->queue, t->later.at[i]);
	t->later.n = 0;
}

static bool next_image(struct gpc_unwind_tables *t, uint32_t *ret)
{
	autolock(&t->lock);

	while (t->head == t->queue.n && !t->is_stopping) {
		t->head = t->queue.n = 0;
		wait_for_work(t);
	}
	if (t->is_stopping)
		return false;
	*ret = t->queue.at[t->head++];
	return true;
}

static void enter(struct gpc_unwind_tables *t, struct entry *e, struct gpc_unwind_table *table,
		  uint64_t ns)
{
	e->table = table;
	e->state = READY;
	e->turn = ++t->turn;
	t->stats.tables++;
	t->stats.bytes += table->bytes;
	t->stats.built++;
	t->stats.rows += table->n_rows;
	t->stats.build_ns += ns;
}

static bool put_off(struct gpc_unwind_tables *t, struct entry *e)
{
	return e->tries++ < TRIES_MAX && vec_push(&t->later, e->image);
}

/* What building it led to. is_awaited: its file was not open; it may still be. */
struct result {
	gpc_status st;
	bool is_awaited;
	struct gpc_unwind_table *table; /* taken if there is still somebody to have it */
	uint64_t ns;
};

/* True: there will be none. */
static bool settle(struct gpc_unwind_tables *t, uint32_t image, struct result *r)
{
	struct entry *e;
	autolock(&t->lock);

	e = find(t, image);
	if (!e) /* forgotten meanwhile */
		return false;
	if (r->is_awaited && put_off(t, e))
		return false;
	t->changes++;
	if (r->st == GPC_OK) {
		enter(t, e, take(r->table), r->ns);
		return false;
	}
	e->state = r->st == GPC_E_GONE ? NO_FILE : NONE;
	return true;
}

static struct gpc_unwind_table *over_budget(struct gpc_unwind_tables *t, uint32_t newest)
{
	struct entry *e;
	autolock(&t->lock);

	e = t->stats.bytes > t->max_bytes ? least_recent(t, newest) : NULL;
	if (!e)
		return NULL;
	t->stats.evicted++;
	return drop_table(t, e);
}

/* newest: stays, however large it is. */
static void keep_budget(struct gpc_unwind_tables *t, uint32_t newest)
{
	struct gpc_unwind_table *gone;

	while ((gone = over_budget(t, newest)))
		gpc_unwind_table_free(gone);
}

static void make(struct gpc_unwind_tables *t, uint32_t image)
{
	uint64_t begin = gpc_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	struct result r = {0};
	struct gpc_err err;

	r.st = build(t, image, &r.table, &err);
	r.ns = gpc_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
	r.is_awaited = r.st == GPC_E_GONE && gpc_images_wants_file(t->images, image);
	if (settle(t, image, &r))
		gpc_debug(t->log, MODULE, "image %u has no table: %s", image, err.text);
	gpc_unwind_table_free(r.table);
	keep_budget(t, image);
}

static void *run(void *arg)
{
	struct gpc_unwind_tables *t = arg;
	uint32_t image;

	while (next_image(t, &image))
		make(t, image);
	return NULL;
}

/* ---- shared ------------------------------------------------------------------------- */

gpc_status gpc_unwind_tables_new(struct gpc_images *images, size_t max_bytes, struct gpc_log *log,
				 struct gpc_unwind_tables **ret, struct gpc_err *err)
{
	struct gpc_unwind_tables *t = calloc(1, sizeof *t);

	if (!t)
		return gpc_err_nomem(err);
	t->images = images;
	t->max_bytes = max_bytes;
	t->log = log;
	gpc_mutex_init_inherit(&t->lock);
	gpc_cond_init(&t->work);
	if (gpc_thread_start(&t->thread, "gpc-unwind", run, t, err) < 0) {
		gpc_unwind_tables_free(t);
		return GPC_E_SYSTEM;
	}
	t->is_running = true;
	*ret = t;
	return GPC_OK;
}

void gpc_unwind_tables_stop(struct gpc_unwind_tables *t)
{
	if (!t || !t->is_running)
		return;
	pthread_mutex_lock(&t->lock);
	t->is_stopping = true;
	pthread_cond_signal(&t->work);
	pthread_mutex_unlock(&t->lock);
	pthread_join(t->thread, NULL);
	t->is_running = false;
}

void gpc_unwind_tables_free(struct gpc_unwind_tables *t)
{
	if (!t)
		return;
	gpc_unwind_tables_stop(t);
	for (size_t i = 0; i < t->all.n; i++) {
		gpc_unwind_table_free(t->all.at[i]->table);
		free(t->all.at[i]);
	}
	vec_deinit(&t->all);
	vec_deinit(&t->queue);
	vec_deinit(&t->later);
	gpc_u64map_deinit(&t->by_image);
	pthread_cond_destroy(&t->work);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

enum gpc_code_state gpc_unwind_tables_get(struct gpc_unwind_tables *t, uint32_t image,
					  const struct gpc_unwind_table **ret)
{
	struct entry *e;
	autolock(&t->lock);

	e = find(t, image);
	if (!e)
		e = add(t, image);
	if (!e)
		return GPC_CODE_PLAIN;
	if (e->state == ABSENT)
		want(t, e);
	if (e->state == READY) {
		e->refs++;
		e->turn = ++t->turn;
		*ret = e->table;
		return GPC_CODE_KNOWN;
	}
	return e->state == WANTED ? GPC_CODE_WAITING : GPC_CODE_PLAIN;
}

void gpc_unwind_tables_put(struct gpc_unwind_tables *t, uint32_t image)
{
	struct entry *e;
	autolock(&t->lock);

	e = find(t, image);
	if (e && e->refs)
		e->refs--;
}

uint64_t gpc_unwind_tables_turn(struct gpc_unwind_tables *t)
{
	autolock(&t->lock);

	return t->changes;
}

static size_t count(struct gpc_unwind_tables *t)
{
	autolock(&t->lock);

	return t->all.n;
}

static uint32_t image_at(struct gpc_unwind_tables *t, size_t i)
{
	autolock(&t->lock);

	return t->all.at[i]->image;
}

/* Takes it out, with its table, unless it is still needed; then NULL. */
static struct entry *take_out(struct gpc_unwind_tables *t, size_t i, bool is_known)
{
	struct entry *e;
	autolock(&t->lock);

	e = t->all.at[i];
	if (e->state == NO_FILE)
		e->state = ABSENT;
	if (is_known || e->refs || e->state == WANTED)
		return NULL;
	e->table = drop_table(t, e);
	gpc_u64map_remove(&t->by_image, e->image);
	t->all.at[i] = t->all.at[--t->all.n];
	if (i < t->all.n)
		gpc_u64map_set(&t->by_image, t->all.at[i]->image, i);
	return e;
}

/* Readers wait for the lock: it is held for one entry at a time. Others only add some
 * meanwhile, at the end. */
void gpc_unwind_tables_trim(struct gpc_unwind_tables *t)
{
	for (size_t i = count(t); i-- > 0;) {
		uint32_t image = image_at(t, i);
		bool is_known =
			image == GPC_UNWIND_VDSO || gpc_images_path(t->images, image) != NULL;
		struct entry *e = take_out(t, i, is_known);

		if (e)
			gpc_unwind_table_free(e->table);
		free(e);
	}
}

void gpc_unwind_tables_stats(struct gpc_unwind_tables *t, struct gpc_unwind_tables_stats *ret)
{
	autolock(&t->lock);

	*ret = t->stats;
}

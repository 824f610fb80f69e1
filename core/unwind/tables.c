/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/tables.h"

#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/thread.h"
#include "base/vec.h"
#include "unwind/jit.h"

#define MODULE    "unwind"
#define FIRST_JIT (UINT32_C(1) << 31) /* images have 20 bits */
#define SOON_NS   (300 * GPC_MS_NS)   /* a file that is to be read again is waited for */
#define LATER_NS  (10 * GPC_MS_NS)    /* between looks whether a file was opened */
#define TRIES_MAX 300
#define AGAIN_NS  GPC_SECOND_NS /* after that a file that was not there is tried again */

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
	/* Of code that a process makes. */
	struct gpc_unwind_jit *jit;
	bool is_renewing;         /* as WANTED, while there is a table to go on with */
	uint64_t due_ns, read_ns; /* as the jit's; due_ns also of a file that was not there */
	bool is_removed;          /* the thread is at it, and will free it */
	vec(struct gpc_unwind_table *) retired; /* somebody may still look at them */
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
	uint32_t last_jit;
	struct gpc_unwind_tables_stats stats;
};

static bool is_jit(uint32_t image)
{
	return image >= FIRST_JIT && image != GPC_UNWIND_VDSO;
}

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

static void drop_table(struct gpc_unwind_tables *t, struct entry *e)
{
	if (!e->table)
		return;
	t->stats.tables--;
	t->stats.bytes -= e->table->bytes;
	gpc_unwind_table_free(take(e->table));
	e->state = ABSENT;
}

static void free_retired(struct entry *e)
{
	for (size_t i = 0; i < e->retired.n; i++)
		gpc_unwind_table_free(e->retired.at[i]);
	e->retired.n = 0;
}

static void free_entry(struct entry *e)
{
	gpc_unwind_table_free(e->table);
	free_retired(e);
	vec_deinit(&e->retired);
	if (e->jit)
		gpc_unwind_jit_deinit(e->jit);
	free(e->jit);
	free(e);
}

/* From the list. */
static void take_out(struct gpc_unwind_tables *t, struct entry *e)
{
	uint64_t place;

	if (!gpc_u64map_get(&t->by_image, e->image, &place))
		return;
	gpc_u64map_remove(&t->by_image, e->image);
	t->all.at[place] = t->all.at[--t->all.n];
	if (place < t->all.n)
		gpc_u64map_set(&t->by_image, t->all.at[place]->image, place);
}

static struct entry *least_recent(const struct gpc_unwind_tables *t, const struct entry *but)
{
	struct entry *ret = NULL;

	for (size_t i = 0; i < t->all.n; i++) {
		struct entry *e = t->all.at[i];

		if (e->table && !e->refs && !e->is_renewing && e != but &&
		    (!ret || e->turn < ret->turn))
			ret = e;
	}
	return ret;
}

/* newest: stays, however large it is. */
static void keep_budget(struct gpc_unwind_tables *t, const struct entry *newest)
{
	while (t->stats.bytes > t->max_bytes) {
		struct entry *e = least_recent(t, newest);

		if (!e)
			return;
		drop_table(t, e);
		t->stats.evicted++;
	}
}

/* Its file may have been opened meanwhile, on a slow machine or for another process. */
static void try_again(struct gpc_unwind_tables *t, struct entry *e)
{
	if (e->is_renewing || e->due_ns > gpc_now_ns() || !vec_push(&t->queue, e->image))
		return;
	e->is_renewing = true;
	pthread_cond_signal(&t->work);
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
	keep_budget(t, e);
}

/* Its file was not open; it may still be. */
static bool put_off(struct gpc_unwind_tables *t, struct entry *e)
{
	return e->tries++ < TRIES_MAX && gpc_images_wants_file(t->images, e->image) &&
	       vec_push(&t->later, e->image);
}

/* The new table replaces the old one; NULL: that is still right. */
static void replace(struct gpc_unwind_tables *t, struct entry *e, struct gpc_unwind_table *table,
		    uint64_t ns)
{
	struct gpc_unwind_table *old = e->table;

	t->changes++;
	e->is_renewing = false;
	e->due_ns = e->jit->due_ns;
	e->read_ns = e->jit->read_ns;
	if (!table)
		return;
	if (old && e->refs && !vec_push(&e->retired, old)) {
		gpc_unwind_table_free(table);
		return;
	}
	if (old) {
		t->stats.tables--;
		t->stats.bytes -= old->bytes;
	}
	if (old && !e->refs)
		gpc_unwind_table_free(old);
	enter(t, e, table, ns);
}

/* It is too early to read the file again. Locked. */
static bool is_early(struct gpc_unwind_tables *t, struct entry *e)
{
	return e->read_ns && e->due_ns > gpc_now_ns() && vec_push(&t->later, e->image);
}

/* Nobody else touches e->jit while it is WANTED or being renewed. */
static void make_jit(struct gpc_unwind_tables *t, uint32_t number)
{
	uint64_t begin = gpc_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	struct gpc_unwind_table *table = NULL;
	bool has_table = false, is_removed = false;
	struct gpc_err err = {0};
	struct entry *e;

	pthread_mutex_lock(&t->lock);
	e = find(t, number);
	if (e) {
		has_table = e->table != NULL;
		is_removed = e->is_removed;
	}
	if (e && !is_removed && is_early(t, e))
		e = NULL;
	pthread_mutex_unlock(&t->lock);
	if (!e)
		return;
	if (!is_removed && gpc_unwind_jit_update(e->jit, has_table, &table, &err) < 0)
		gpc_debug(t->log, MODULE, "code %u has no table: %s", number, err.text);
	autolock(&t->lock);
	if (e->is_removed) {
		gpc_unwind_table_free(table);
		drop_table(t, e);
		take_out(t, e);
		free_entry(e);
		return;
	}
	if (e->state == WANTED && !table)
		e->state = NONE;
	replace(t, e, table, gpc_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin);
}

static void make(struct gpc_unwind_tables *t, uint32_t image)
{
	uint64_t begin = gpc_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	struct gpc_unwind_table *table = NULL;
	struct gpc_err err;
	gpc_status st = build(t, image, &table, &err);
	struct entry *e;
	autolock(&t->lock);

	e = find(t, image);
	if (!e) { /* forgotten meanwhile */
		gpc_unwind_table_free(table);
		return;
	}
	if (st == GPC_E_GONE && e->state == WANTED && put_off(t, e))
		return;
	t->changes++;
	e->is_renewing = false;
	e->due_ns = gpc_now_ns() + AGAIN_NS;
	if (st == GPC_OK) {
		enter(t, e, table, gpc_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin);
		return;
	}
	e->state = st == GPC_E_GONE ? NO_FILE : NONE;
	gpc_debug(t->log, MODULE, "image %u has no table: %s", image, err.text);
}

static void *run(void *arg)
{
	struct gpc_unwind_tables *t = arg;
	uint32_t image;

	while (next_image(t, &image)) {
		if (is_jit(image))
			make_jit(t, image);
		else
			make(t, image);
	}
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
	pthread_mutex_init(&t->lock, NULL);
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
	for (size_t i = 0; i < t->all.n; i++)
		free_entry(t->all.at[i]);
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
	if (!e && !is_jit(image))
		e = add(t, image);
	if (!e)
		return GPC_CODE_PLAIN;
	if (e->state == ABSENT)
		want(t, e);
	if (e->state == NO_FILE)
		try_again(t, e);
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
	if (e && e->refs && --e->refs == 0)
		free_retired(e);
}

/* ---- code that a process makes ------------------------------------------------------ */

uint32_t gpc_unwind_tables_add_jit(struct gpc_unwind_tables *t, int fd)
{
	struct gpc_unwind_jit *jit = calloc(1, sizeof *jit);
	struct entry *e;
	autolock(&t->lock);

	e = jit ? add(t, FIRST_JIT + t->last_jit % (FIRST_JIT - 1)) : NULL;
	if (!e) {
		free(jit);
		close(fd);
		return 0;
	}
	t->last_jit++;
	jit->fd = fd;
	e->jit = jit;
	return e->image;
}

void gpc_unwind_tables_remove_jit(struct gpc_unwind_tables *t, uint32_t number)
{
	struct entry *e;
	autolock(&t->lock);

	e = find(t, number);
	if (!e || !e->jit)
		return;
	e->is_removed = true;
	/* Whoever looks at its table gives it back by its number. */
	if (e->state == WANTED || e->is_renewing || e->refs)
		return;
	drop_table(t, e);
	take_out(t, e);
	free_entry(e);
}

bool gpc_unwind_tables_renew(struct gpc_unwind_tables *t, uint32_t number, uint64_t since_ns)
{
	struct entry *e;
	uint64_t now = gpc_now_ns();
	autolock(&t->lock);

	e = find(t, number);
	if (!e || !e->jit || e->is_removed || e->state != READY)
		return false;
	/* What a runtime has not told by now it does not tell. */
	if (e->read_ns > since_ns)
		return false;
	if (e->is_renewing)
		return true;
	if (e->due_ns > now + SOON_NS)
		return false;
	if (!vec_push(&t->queue, number))
		return false;
	e->is_renewing = true;
	pthread_cond_signal(&t->work);
	return true;
}

uint64_t gpc_unwind_tables_turn(struct gpc_unwind_tables *t)
{
	autolock(&t->lock);

	return t->changes;
}

void gpc_unwind_tables_trim(struct gpc_unwind_tables *t)
{
	autolock(&t->lock);

	for (size_t i = t->all.n; i-- > 0;) {
		struct entry *e = t->all.at[i];
		bool is_known = e->jit || e->image == GPC_UNWIND_VDSO ||
				gpc_images_path(t->images, e->image) != NULL;

		if (e->state == NO_FILE)
			e->state = ABSENT;
		if (e->refs || e->state == WANTED || e->is_renewing)
			continue;
		if (e->jit ? !e->is_removed : is_known)
			continue;
		drop_table(t, e);
		take_out(t, e);
		free_entry(e);
	}
}

void gpc_unwind_tables_stats(struct gpc_unwind_tables *t, struct gpc_unwind_tables_stats *ret)
{
	autolock(&t->lock);

	*ret = t->stats;
}

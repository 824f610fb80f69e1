/* SPDX-License-Identifier: Apache-2.0 */
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hot.h"
#include "base/thread.h"
#include "unwind/tables_impl.h"

#define LATER_NS  (10 * GPC_MS_NS) /* between looks whether a file was opened */
#define TRIES_MAX 300
/* Where more code runs than there is room for, tables that push each other out take one
 * part in so many of a CPU, and stacks do without in between. */
#define REBUILD_PART 20
#define AGAIN_NS     GPC_SECOND_NS /* after that a file that was not there is tried again */

/* ---- locked -------------------------------------------------------------------- */

GPC_HOT struct gpc_unwind_entry *gpc_unwind_find(const struct gpc_unwind_tables *t, uint32_t image)
{
	uint64_t place;

	return gpc_u64map_get(&t->by_image, image, &place) ? t->all.at[place] : NULL;
}

struct gpc_unwind_entry *gpc_unwind_add(struct gpc_unwind_tables *t, uint32_t image)
{
	struct gpc_unwind_entry *e = calloc(1, sizeof *e);

	if (!e)
		return NULL;
	e->image = image;
	e->state = GPC_TABLE_ABSENT;
	if (!vec_reserve(&t->all, 1) || !gpc_u64map_set(&t->by_image, image, t->all.n)) {
		free(e);
		return NULL;
	}
	t->all.at[t->all.n++] = e;
	return e;
}

void gpc_unwind_drop_table(struct gpc_unwind_tables *t, struct gpc_unwind_entry *e)
{
	if (!e->table)
		return;
	t->stats.tables--;
	t->stats.bytes -= e->table->bytes;
	gpc_unwind_table_free(take(e->table));
	e->state = GPC_TABLE_ABSENT;
}

static void gpc_unwind_free_retired(struct gpc_unwind_entry *e)
{
	for (size_t i = 0; i < e->retired.n; i++)
		gpc_unwind_table_free(e->retired.at[i]);
	e->retired.n = 0;
}

void gpc_unwind_free_entry(struct gpc_unwind_entry *e)
{
	gpc_unwind_table_free(e->table);
	gpc_unwind_free_retired(e);
	vec_deinit(&e->retired);
	if (e->jit)
		gpc_unwind_jit_deinit(e->jit);
	free(e->jit);
	free(e);
}

/* From the list. */
void gpc_unwind_take_out(struct gpc_unwind_tables *t, struct gpc_unwind_entry *e)
{
	uint64_t place;

	if (!gpc_u64map_get(&t->by_image, e->image, &place))
		return;
	gpc_u64map_remove(&t->by_image, e->image);
	t->all.at[place] = t->all.at[--t->all.n];
	if (place < t->all.n)
		gpc_u64map_set(&t->by_image, t->all.at[place]->image, place);
}

static struct gpc_unwind_entry *least_recent(const struct gpc_unwind_tables *t,
					     const struct gpc_unwind_entry *but)
{
	struct gpc_unwind_entry *ret = NULL;

	for (size_t i = 0; i < t->all.n; i++) {
		struct gpc_unwind_entry *e = t->all.at[i];

		if (e->table && !e->refs && !e->is_renewing && e != but &&
		    (!ret || e->turn < ret->turn))
			ret = e;
	}
	return ret;
}

/* newest: stays, however large it is. */
static void keep_budget(struct gpc_unwind_tables *t, const struct gpc_unwind_entry *newest)
{
	while (t->stats.bytes > t->max_bytes) {
		struct gpc_unwind_entry *e = least_recent(t, newest);

		if (!e)
			return;
		gpc_unwind_drop_table(t, e);
		e->was_evicted = true;
		t->stats.evicted++;
	}
}

/* Its file may have been opened meanwhile, on a slow machine or for another process. */
static void try_again(struct gpc_unwind_tables *t, struct gpc_unwind_entry *e)
{
	if (e->is_renewing || e->due_ns > gpc_now_ns() || !vec_push(&t->queue, e->image))
		return;
	e->is_renewing = true;
	pthread_cond_signal(&t->work);
}

static void want(struct gpc_unwind_tables *t, struct gpc_unwind_entry *e)
{
	if (!vec_push(&t->queue, e->image))
		return;
	e->state = GPC_TABLE_WANTED;
	e->tries = 0;
	pthread_cond_signal(&t->work);
}

/* ---- the thread ------------------------------------------------------------------- */

static gpc_status build_from(const struct gpc_unwind_tables *t, const struct gpc_elf_source *source,
			     struct gpc_unwind_table **ret, struct gpc_err *err)
{
	struct gpc_elf elf;
	gpc_status st;

	gpc_try(gpc_elf_init(&elf, source, err));
	st = gpc_unwind_table_build(&elf, &t->is_stopping, ret, err);
	gpc_elf_deinit(&elf);
	return st;
}

/* The vdso ends with its section headers; the kernel made it, so what they say is
 * true. */
static gpc_status build_vdso(const struct gpc_unwind_tables *t, struct gpc_unwind_table **ret,
			     struct gpc_err *err)
{
	const ElfW(Ehdr) *h = (const void *)getauxval(AT_SYSINFO_EHDR);
	struct gpc_elf_source source;

	if (!h)
		return gpc_err_set(err, GPC_E_UNSUPPORTED, "the kernel gave us no vdso");
	source = gpc_elf_source_memory(h, h->e_shoff + (size_t)h->e_shnum * h->e_shentsize);
	return build_from(t, &source, ret, err);
}

static gpc_status build(struct gpc_unwind_tables *t, uint32_t image, struct gpc_unwind_table **ret,
			struct gpc_err *err)
{
	struct gpc_elf_source source;
	autoclose int fd = -1;

	if (image == GPC_UNWIND_VDSO)
		return build_vdso(t, ret, err);
	gpc_try(gpc_images_file(t->images, image, &fd, err));
	gpc_try(gpc_elf_source_fd(fd, &source, err));
	return build_from(t, &source, ret, err);
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

void gpc_unwind_enter(struct gpc_unwind_tables *t, struct gpc_unwind_entry *e,
		      struct gpc_unwind_table *table, uint64_t ns)
{
	e->table = table;
	e->state = GPC_TABLE_READY;
	e->turn = ++t->turn;
	t->stats.tables++;
	t->stats.bytes += table->bytes;
	t->stats.built++;
	t->stats.rows += table->n_rows;
	t->stats.build_ns += ns;
	keep_budget(t, e);
}

/* Its file was not open; it may still be. */
static bool put_off(struct gpc_unwind_tables *t, struct gpc_unwind_entry *e)
{
	return e->tries++ < TRIES_MAX && gpc_images_awaits_file(t->images, e->image) &&
	       vec_push(&t->later, e->image);
}

static void make(struct gpc_unwind_tables *t, uint32_t image)
{
	uint64_t begin = gpc_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	struct gpc_unwind_table *table = NULL;
	struct gpc_err err;
	gpc_status st = build(t, image, &table, &err);
	struct gpc_unwind_entry *e;
	autolock(&t->lock);

	e = gpc_unwind_find(t, image);
	if (!e) { /* forgotten meanwhile */
		gpc_unwind_table_free(table);
		return;
	}
	if (st == GPC_E_GONE && e->state == GPC_TABLE_WANTED && put_off(t, e))
		return;
	t->changes++;
	e->is_renewing = false;
	e->due_ns = gpc_now_ns() + AGAIN_NS;
	if (st == GPC_OK) {
		uint64_t ns = gpc_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin;

		if (e->was_evicted)
			t->rests_until_ns = gpc_now_ns() + REBUILD_PART * ns;
		gpc_unwind_enter(t, e, table, ns);
		return;
	}
	e->state = st == GPC_E_GONE ? GPC_TABLE_NO_FILE : GPC_TABLE_NONE;
	gpc_debug(t->log, GPC_UNWIND_MODULE, "image %u has no table: %s", image, err.text);
}

static void *run(void *arg)
{
	struct gpc_unwind_tables *t = arg;
	uint32_t image;

	while (next_image(t, &image)) {
		if (gpc_unwind_is_jit(image))
			gpc_unwind_make_jit(t, image);
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
	gpc_mutex_init_inherit(&t->lock); /* readers take it */
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
		gpc_unwind_free_entry(t->all.at[i]);
	vec_deinit(&t->all);
	vec_deinit(&t->queue);
	vec_deinit(&t->later);
	gpc_u64map_deinit(&t->by_image);
	pthread_cond_destroy(&t->work);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

GPC_HOT enum gpc_code_state gpc_unwind_tables_get(struct gpc_unwind_tables *t, uint32_t image,
						  const struct gpc_unwind_table **ret)
{
	struct gpc_unwind_entry *e;
	autolock(&t->lock);

	e = gpc_unwind_find(t, image);
	if (!e && !gpc_unwind_is_jit(image))
		e = gpc_unwind_add(t, image);
	if (!e)
		return GPC_CODE_PLAIN;
	if (e->state == GPC_TABLE_ABSENT && !(e->was_evicted && gpc_now_ns() < t->rests_until_ns))
		want(t, e);
	if (e->state == GPC_TABLE_NO_FILE)
		try_again(t, e);
	if (e->state == GPC_TABLE_READY) {
		e->refs++;
		e->turn = ++t->turn;
		*ret = e->table;
		return GPC_CODE_KNOWN;
	}
	return e->state == GPC_TABLE_WANTED ? GPC_CODE_WAITING : GPC_CODE_PLAIN;
}

GPC_HOT void gpc_unwind_tables_put(struct gpc_unwind_tables *t, uint32_t image)
{
	struct gpc_unwind_entry *e;
	autolock(&t->lock);

	e = gpc_unwind_find(t, image);
	if (e && e->refs && --e->refs == 0)
		gpc_unwind_free_retired(e);
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
		struct gpc_unwind_entry *e = t->all.at[i];
		bool is_known = e->jit || e->image == GPC_UNWIND_VDSO ||
				gpc_images_path(t->images, e->image) != NULL;

		if (e->state == GPC_TABLE_NO_FILE)
			e->state = GPC_TABLE_ABSENT;
		if (e->refs || e->state == GPC_TABLE_WANTED || e->is_renewing)
			continue;
		if (e->jit ? !e->is_removed : is_known)
			continue;
		gpc_unwind_drop_table(t, e);
		gpc_unwind_take_out(t, e);
		gpc_unwind_free_entry(e);
	}
}

void gpc_unwind_tables_stats(struct gpc_unwind_tables *t, struct gpc_unwind_tables_stats *ret)
{
	autolock(&t->lock);

	*ret = t->stats;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "unwind/tables_impl.h"

#define SOON_NS (300 * GPC_MS_NS) /* a file that is to be read again is waited for */

/* The new table replaces the old one; NULL: that is still right. */
static void replace(struct gpc_unwind_tables *t, struct gpc_unwind_entry *e,
		    struct gpc_unwind_table *table, uint64_t ns)
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
	gpc_unwind_enter(t, e, table, ns);
}

static void forget(struct gpc_unwind_tables *t, struct gpc_unwind_entry *e)
{
	gpc_unwind_drop_table(t, e);
	gpc_unwind_take_out(t, e);
	gpc_unwind_free_entry(e);
}

/* It is too early to read the file again. Locked. */
static bool is_early(struct gpc_unwind_tables *t, struct gpc_unwind_entry *e)
{
	return e->read_ns && e->due_ns > gpc_now_ns() && vec_push(&t->later, e->image);
}

/* Nobody else touches e->jit while it is GPC_TABLE_WANTED or being renewed. */
void gpc_unwind_make_jit(struct gpc_unwind_tables *t, uint32_t number)
{
	uint64_t begin = gpc_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	struct gpc_unwind_table *table = NULL;
	bool has_table = false, is_removed = false;
	struct gpc_err err = {0};
	struct gpc_unwind_entry *e;

	pthread_mutex_lock(&t->lock);
	e = gpc_unwind_find(t, number);
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
		gpc_debug(t->log, GPC_UNWIND_MODULE, "code %u has no table: %s", number, err.text);
	autolock(&t->lock);
	if (e->is_removed) {
		gpc_unwind_table_free(table);
		e->is_renewing = false;
		if (e->state == GPC_TABLE_WANTED)
			e->state = GPC_TABLE_NONE;
		/* Else gpc_unwind_tables_trim does it later. */
		if (!e->refs)
			forget(t, e);
		return;
	}
	if (e->state == GPC_TABLE_WANTED && !table)
		e->state = GPC_TABLE_NONE;
	replace(t, e, table, gpc_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin);
}

uint32_t gpc_unwind_tables_add_jit(struct gpc_unwind_tables *t, int fd)
{
	struct gpc_unwind_jit *jit = calloc(1, sizeof *jit);
	struct gpc_unwind_entry *e;
	autolock(&t->lock);

	e = jit ? gpc_unwind_add(t, GPC_UNWIND_FIRST_JIT + t->last_jit % (GPC_UNWIND_FIRST_JIT - 1))
		: NULL;
	if (!e) {
		free(jit);
		close(fd);
		return 0;
	}
	t->last_jit++;
	t->changes++; /* samples may wait for it */
	jit->fd = fd;
	e->jit = jit;
	return e->image;
}

void gpc_unwind_tables_remove_jit(struct gpc_unwind_tables *t, uint32_t number)
{
	struct gpc_unwind_entry *e;
	autolock(&t->lock);

	e = gpc_unwind_find(t, number);
	if (!e || !e->jit)
		return;
	e->is_removed = true;
	/* Whoever looks at its table gives it back by its number. */
	if (e->state == GPC_TABLE_WANTED || e->is_renewing || e->refs)
		return;
	forget(t, e);
}

bool gpc_unwind_tables_renew(struct gpc_unwind_tables *t, uint32_t number, uint64_t since_ns)
{
	struct gpc_unwind_entry *e;
	uint64_t now = gpc_now_ns();
	autolock(&t->lock);

	e = gpc_unwind_find(t, number);
	if (!e || !e->jit || e->is_removed || e->state != GPC_TABLE_READY)
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

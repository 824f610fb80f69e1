/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the tables: tables.c has those of files, the list and the thread,
 * tables_jit.c those of code that processes make. All but gpc_unwind_make_jit is called
 * with the lock held. */
#ifndef GPC_UNWIND_TABLES_IMPL_H
#define GPC_UNWIND_TABLES_IMPL_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/map.h"
#include "base/vec.h"
#include "unwind/jit.h"
#include "unwind/tables.h"

#define GPC_UNWIND_MODULE    "unwind"
#define GPC_UNWIND_FIRST_JIT (UINT32_C(1) << 31) /* images have 20 bits */

enum gpc_unwind_state {
	GPC_TABLE_WANTED, /* in the queue, or being built */
	GPC_TABLE_ABSENT, /* to be queued when it is asked for */
	GPC_TABLE_READY,
	GPC_TABLE_NONE,   /* the file has none, or is not for us */
	GPC_TABLE_NO_FILE /* it could not be had */
};

struct gpc_unwind_entry {
	uint32_t image, refs, tries;
	enum gpc_unwind_state state;
	uint64_t turn;
	struct gpc_unwind_table *table;
	/* Of code that a process makes. */
	struct gpc_unwind_jit *jit;
	bool is_renewing;         /* as GPC_TABLE_WANTED, while there is a table to go on with */
	uint64_t due_ns, read_ns; /* as the jit's; due_ns also of a file that was not there */
	bool was_evicted;         /* there was a table once */
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
	atomic_bool is_stopping; /* a build looks at it without the lock */
	vec(struct gpc_unwind_entry *) all;
	struct gpc_u64map by_image; /* -> place in all */
	vec(uint32_t) queue;        /* from head on */
	size_t head;
	vec(uint32_t) later; /* their files are not open yet */
	uint64_t turn, changes;
	uint64_t rests_until_ns; /* until then no table is built that was there before */
	uint32_t last_jit;
	struct gpc_unwind_tables_stats stats;
};

static inline bool gpc_unwind_is_jit(uint32_t image)
{
	return image >= GPC_UNWIND_FIRST_JIT && image != GPC_UNWIND_VDSO;
}

struct gpc_unwind_entry *gpc_unwind_find(const struct gpc_unwind_tables *t, uint32_t image);
struct gpc_unwind_entry *gpc_unwind_add(struct gpc_unwind_tables *t, uint32_t image);
/* From the list. */
void gpc_unwind_take_out(struct gpc_unwind_tables *t, struct gpc_unwind_entry *e);
void gpc_unwind_drop_table(struct gpc_unwind_tables *t, struct gpc_unwind_entry *e);
void gpc_unwind_enter(struct gpc_unwind_tables *t, struct gpc_unwind_entry *e,
		      struct gpc_unwind_table *table, uint64_t ns);
void gpc_unwind_free_entry(struct gpc_unwind_entry *e);

/* The thread: reads the file of code that a process makes. */
void gpc_unwind_make_jit(struct gpc_unwind_tables *t, uint32_t number);

#endif

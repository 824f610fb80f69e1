/* SPDX-License-Identifier: Apache-2.0 */
/* Pull: which processes have a collector that is asked for runtime frames at
 * each sample, the asking, and the joining of its frames with native ones.
 *
 * Readers call gpc_pulls_pull; workers add and remove; the source's thread does
 * the chores. Thread-safe. */
#ifndef GPC_SOURCE_PULL_H
#define GPC_SOURCE_PULL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/log.h"
#include "proc/mem.h"
#include "profile/names.h"
#include "source/decode.h"
#include "source/native.h"
#include "source/slot.h"

struct gpc_pulls;

struct gpc_pull_collector { /* all borrowed until gpc_pulls_remove */
	const char *name;
	const char *const *suffixes; /* NULL terminated; or NULL */
	void *self, *tctx;
	const struct gpc_target *target;
	const struct gpc_walk_api *walk; /* NULL: none */
	const struct gpc_step_api *step; /* NULL: none */
	/* Told once when its reads hang or it is too slow too often: it is left
	 * alone from then on. Any thread. */
	void (*given_up)(void *ctx, uint64_t target, const char *why);
	void *ctx;
};

gpc_status gpc_pulls_new(struct gpc_mem *mem, struct gpc_log *log, struct gpc_pulls **ret,
			 struct gpc_err *err);
/* False: a reader that was given up is still in it, and may come back at any
 * time; it stays for ever then, and so must mem. NULL is fine. */
bool gpc_pulls_free(struct gpc_pulls *p);
bool gpc_pulls_has_stuck(struct gpc_pulls *p); /* when all readers were stopped */
/* What the readers' priority vouches for. */
void gpc_pulls_set_realtime(struct gpc_pulls *p, bool is_realtime);
/* Records go on as they are: somebody writes them down. Before readers are. */
void gpc_pulls_keep_stacks(struct gpc_pulls *p);
/* Names that answers are numbers of; a reference is taken. */
void gpc_pulls_set_names(struct gpc_pulls *p, struct gpc_names *names);

/* How native frames are found from now on; tables: borrowed. Before that, along frame
 * pointers. */
void gpc_pulls_set_unwind(struct gpc_pulls *p, struct gpc_unwind_tables *tables,
			  enum gpc_unwind_mode mode);

gpc_status gpc_pulls_add(struct gpc_pulls *p, const struct gpc_pull_collector *c,
			 struct gpc_err *err);
/* Returns when no reader uses it any more. False: one hangs in it; what c points
 * to must then stay for ever. */
bool gpc_pulls_remove(struct gpc_pulls *p, const void *self, uint64_t target);
size_t gpc_pulls_count(struct gpc_pulls *p);
/* Is some process in a pid namespace of its own? */
bool gpc_pulls_has_foreign(struct gpc_pulls *p);

/* Code ranges of step collectors; also before gpc_pulls_add, from attach(). They
 * are forgotten with gpc_pulls_remove. */
gpc_status gpc_pulls_claim(struct gpc_pulls *p, const void *self, uint64_t target, uint64_t start,
			   uint64_t end);
gpc_status gpc_pulls_release(struct gpc_pulls *p, const void *self, uint64_t target, uint64_t start,
			     uint64_t end);

/* [reader] For struct gpc_pull_hooks. */
bool gpc_pulls_pull(void *pulls, uint32_t cpu, const void *record, size_t n,
		    const struct gpc_perf_format *format, struct gpc_pulled *ret);
void gpc_pulls_hangs(void *pulls, struct gpc_pulled *ret);
void gpc_pulls_end(void *pulls, struct gpc_pulled *ret);

/* Now and then, from a thread that may open files: thread numbers in other pid
 * namespaces. */
void gpc_pulls_chores(struct gpc_pulls *p);

/* The same for what the processes have mapped: space tells it, NULL for one that is
 * no more, and the number of its jitdump file for unwinding. Where tables are wanted a
 * process is not asked before: frame pointers do not tell a root from a caller that
 * cannot be found. One call at a time. */
typedef const struct gpc_space *gpc_pulls_space(void *ctx, uint64_t target, uint32_t *jit);
void gpc_pulls_follow_code(struct gpc_pulls *p, gpc_pulls_space *space, void *ctx,
			   bool is_new_only);
/* [reader] One frame up, for gpc.native-unwind/1. False: there is no plausible caller. */
bool gpc_pulls_up(struct gpc_pulls *p, const struct gpc_target *target,
		  const struct gpc_pull_sample *sample, struct gpc_step_state *state);

/* A thread came to be: what was known of its number is another's. */
void gpc_pulls_new_thread(struct gpc_pulls *p, int32_t pid, int32_t tid);

/* Since start. */
struct gpc_pull_stats {
	uint64_t asked;    /* samples of processes with a collector */
	uint64_t answered; /* with frames */
	uint64_t exact;    /* of those checked: memory was as when sampled */
	uint64_t checked;
	uint64_t joined, alone; /* answers joined with native frames; and not */
	uint64_t failed;        /* the collector gave an error */
	uint64_t slow;          /* took longer than its budget */
	uint64_t skipped;       /* the readers' share of the CPU was used up */
	uint64_t read;          /* asked, and not skipped */
	uint64_t age_ns;        /* sum: how old the samples were when read */
	uint64_t age_max_ns;
	uint64_t pull_ns; /* sum: time of the answers */
};
void gpc_pulls_stats(struct gpc_pulls *p, struct gpc_pull_stats *ret);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of struct gpc_pulls, for pull.c (who is pulled) and ask.c (the
 * asking). */
#ifndef GPC_SOURCE_PULL_IMPL_H
#define GPC_SOURCE_PULL_IMPL_H

#include <pthread.h>

#include "base/map.h"
#include "base/vec.h"
#include "source/pull.h"

struct gpc_code_range {
	uint64_t start, end;
};

/* Claimed in attach(), before the process is pulled. */
struct gpc_early_range {
	const void *self;
	uint64_t target;
	struct gpc_code_range range;
};

/* A process with its collector. */
struct gpc_puller {
	int refs; /* atomic */
	struct gpc_pull_collector c;
	uint64_t target;
	int32_t pid;
	bool is_same_ns;                   /* thread numbers in its pid namespace are ours */
	bool is_given_up;                  /* atomic */
	uint32_t slow;                     /* atomic: slow answers in a row */
	struct gpc_puller *next;           /* of the same pid */
	pthread_mutex_t lock;              /* covers what follows */
	vec(struct gpc_code_range) ranges; /* by start */
	struct gpc_u64map tids;            /* tid -> the same in its namespace */
	vec(int32_t) unknown_tids;
};

/* What readers of one CPU have used of it in this second. */
struct gpc_cpu_share {
	uint64_t second, spent_ns; /* atomic: one that was given up may come back */
};

struct gpc_pulls {
	struct gpc_mem *mem;
	struct gpc_log *log;
	uint32_t n_cpus;
	struct gpc_cpu_share *shares; /* one per CPU */
	struct gpc_pull_stats stats;  /* members are atomic */
	bool is_realtime;             /* atomic: all readers are */
	uint32_t inside;              /* atomic: readers in gpc_pulls_pull */
	pthread_mutex_t lock;         /* covers what follows */
	struct gpc_u64map by_pid;     /* -> first struct gpc_puller * */
	size_t n;
	vec(struct gpc_early_range) early;
	struct gpc_names *names;
};

#define GPC_PULL_ADD(p, member, value) \
	__atomic_add_fetch(&(p)->stats.member, (value), __ATOMIC_RELAXED)

void gpc_puller_put(struct gpc_puller *t);
void gpc_puller_give_up(struct gpc_puller *t, const char *why);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of struct gpc_pulls, for pull.c (who is pulled), pull_code.c (native
 * frames) and ask.c (the asking). */
#ifndef GPC_SOURCE_PULL_IMPL_H
#define GPC_SOURCE_PULL_IMPL_H

#include "base/lock.h"
#include "base/map.h"
#include "base/vec.h"
#include "source/pull.h"
#include "source/unwind.h"

struct gpc_code_range {
	uint64_t start, end;
};

/* Claimed in attach(), before the process is pulled. */
struct gpc_early_range {
	const void *self;
	uint64_t target;
	struct gpc_code_range range;
};

/* What a process has mapped, for readers: never changed, replaced. */
struct gpc_pull_code {
	int refs;     /* atomic */
	uint32_t jit; /* gpc_unwind_tables_add_jit; 0: none */
	struct gpc_space space;
	struct gpc_area areas[];
};

struct gpc_pull_thread {
	int32_t ns_tid; /* in its own pid namespace; 0: not known yet */
	char name[16];  /* "" not wanted, or not known yet */
};

/* A process with its collector. */
struct gpc_puller {
	int refs; /* atomic */
	struct gpc_pull_collector c;
	uint64_t target;
	int32_t pid;
	bool is_same_ns;                   /* thread numbers in its pid namespace are ours */
	bool is_given_up;                  /* atomic */
	bool has_code;                     /* atomic: code is there */
	uint32_t hanging;                  /* atomic: readers that hang in it */
	uint64_t hangs_since_ns;           /* atomic: when the latest one was given up */
	uint32_t slow;                     /* atomic: slow answers in a row */
	struct gpc_puller *next;           /* of the same pid */
	struct gpc_lock lock;              /* covers what follows */
	vec(struct gpc_code_range) ranges; /* by start */
	struct gpc_u64map tids;            /* tid -> its place in threads */
	vec(struct gpc_pull_thread) threads;
	vec(int32_t) unknown_tids;
	vec(const struct gpc_pulled *) hung; /* of the readers that hang */
	struct gpc_pull_code *code;          /* NULL: not known yet */
};

/* What the reader of one CPU writes at each sample: nothing that another one writes too, whose
 * CPU it would have to come from. Members are atomic: a reader that was given up may come
 * back. */
struct gpc_pull_share {
	_Alignas(64) uint64_t second, spent_ns; /* of the CPU in this second */
	uint32_t inside;                        /* readers in gpc_pulls_pull */
	struct gpc_pull_stats stats;
};

struct gpc_pulls {
	struct gpc_mem *mem;
	struct gpc_log *log;
	uint32_t n_cpus;
	struct gpc_pull_share *shares;    /* one per CPU */
	struct gpc_unwind_tables *tables; /* atomic; NULL: frame pointers only */
	enum gpc_unwind_mode unwind;      /* atomic */
	bool is_realtime;                 /* atomic: all readers are */
	bool keeps_stacks;                /* records are wanted whole; set before readers are */
	/* Held to say that who is asked (gpc_pulled.asked) hangs, which a reader that comes
	 * back waits for: before the lock of a puller. */
	struct gpc_lock asked_lock;
	struct gpc_lock lock;     /* covers what follows */
	struct gpc_u64map by_pid; /* -> first struct gpc_puller * */
	size_t n, n_foreign;      /* processes; of them in pid namespaces of their own */
	vec(struct gpc_early_range) early;
	struct gpc_names *names;
};

struct gpc_pull_whom {
	const void *self; /* the collector */
	uint64_t target;
	int32_t tid;
	uint32_t epoch; /* of names */
};

/* A walk's answer that stood alone. */
#define GPC_PULL_ANSWER_MAX 128 /* frames; longer ones are not kept */
struct gpc_pull_answer {
	struct gpc_pull_whom of;
	uint64_t read_ns; /* when it was begun; 0: none */
	uint32_t n;
	uint64_t frames[GPC_PULL_ANSWER_MAX];
};

/* What a reader keeps from one sample to the next (gpc_pulled.own). */
struct gpc_pull_own {
	_Alignas(64) struct gpc_native_rules rules; /* a cache line each */
	struct gpc_native native;
	uint64_t held_ns;                 /* since when it holds tables; 0: none */
	struct gpc_pull_answer latest[8]; /* by thread */
};
/* pull_recall.c; own may be NULL. The answer that was begun at since_ns or later. */
bool gpc_pull_recall(const struct gpc_pull_own *own, const struct gpc_pull_whom *of,
		     uint64_t since_ns, struct gpc_pulled *ret);
void gpc_pull_remember(struct gpc_pull_own *own, const struct gpc_pull_whom *of, uint64_t read_ns,
		       const struct gpc_pulled *answer);

/* [reader] Is enough known of what it has mapped for its stacks to be told? */
bool gpc_pull_may_ask(struct gpc_pulls *p, struct gpc_puller *t);

/* Native frames of a pulled process: pull_code.c. For the length of one answer. */
struct gpc_pull_native {
	struct gpc_native *native; /* of the reader that asks; else brief */
	struct gpc_native brief;
	struct gpc_pull_own *own; /* NULL: there is none */
	struct gpc_pull_code *code;
	struct gpc_native_look look;
	struct gpc_unwind_source memory;
	struct gpc_unwind_piece piece;
	struct gpc_unwind_view view;
};
/* False: there is nothing but frame pointers. t may be NULL then. sample, t and n->own
 * (which may be NULL) are borrowed until gpc_pull_native_end. */
bool gpc_pull_native_begin(struct gpc_pull_native *n, struct gpc_pulls *p, struct gpc_puller *t,
			   const struct gpc_pull_sample *sample);
void gpc_pull_native_end(struct gpc_pull_native *n);
/* [reader] What it keeps; NULL: no memory. */
struct gpc_pull_own *gpc_pull_own(struct gpc_pulled *reader);
void gpc_pull_code_put(struct gpc_pull_code *code); /* NULL is fine */
/* One up; regs follow. */
enum gpc_unwind_result gpc_pull_native_up(struct gpc_pull_native *n, struct gpc_unwind_regs *regs,
					  uint64_t *place);

/* [reader] */
static inline struct gpc_pull_share *gpc_pull_share(struct gpc_pulls *p, uint32_t cpu)
{
	return &p->shares[cpu < p->n_cpus ? cpu : 0];
}

#define GPC_PULL_ADD(share, member, value) \
	__atomic_add_fetch(&(share)->stats.member, (value), __ATOMIC_RELAXED)

void gpc_puller_put(struct gpc_puller *t);

/* [reader] Back from the one it asked, which may count as hanging since: then this reader
 * has been given up, and true is returned. */
bool gpc_puller_is_back(struct gpc_pulls *p, struct gpc_puller *t, struct gpc_pulled *ret);

/* ---- pull_effort.c: what answers take -------------------------------------------- */

struct gpc_pull_effort {
	uint64_t ns, cpu_ns;
	long waits;
	bool is_realtime; /* then time is all that counts */
};
/* now 0: the clock is asked. */
struct gpc_pull_effort gpc_pull_effort_begin(bool is_realtime, uint64_t now);
/* Since begin. Of a reader that is not real-time, and if it is more than slow_ns: its CPU
 * time, for a busy machine can make it wait; nobody's fault here, unless the answer itself
 * waited. */
uint64_t gpc_pull_effort_ns(const struct gpc_pull_effort *begin, uint64_t slow_ns);
/* May this CPU's reader go on in this second? */
bool gpc_pull_has_share(struct gpc_pull_share *share, uint64_t now);

/* ---- pull_names.c ------------------------------------------------------------- */

/* [reader] What is known of the thread; the rest is looked up by the chores. */
struct gpc_pull_thread gpc_puller_thread(struct gpc_puller *t, int32_t tid);
/* From a thread that may open files. */
void gpc_puller_chores(struct gpc_puller *t);
void gpc_puller_forget(struct gpc_puller *t, int32_t tid);

/* ------------------------------------------------------------------------------- */

void gpc_puller_give_up(struct gpc_puller *t, const char *why);

#endif

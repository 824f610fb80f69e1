/* SPDX-License-Identifier: Apache-2.0 */
#include "threads.h"

#include <stdlib.h>

#include "lock.h"

#define SLOTS      (2 * GPC_JAVA_THREADS_MAX)
#define SCAN_NS    UINT64_C(20000000) /* the list is not looked at more often */
#define NEW_MAX    256                /* threads whose number is read in one look */
#define LIST_CHUNK 512
#define ANCHOR_MAX 64    /* bytes of a JavaFrameAnchor */
#define THREAD_MAX 1024  /* of a JavaThread, from the first to the last member that is read */
#define MISSED_MAX 5     /* a thread that is not in the list: 20 ms, 40 ms, ... 0.64 s */
#define LIST_MAX   16384 /* entries looked at in one look */

bool gpc_java_threads_init(struct java_threads *t)
{
	gpc_java_lock_init(&t->lock);
	t->at = calloc(SLOTS, sizeof *t->at);
	return t->at != NULL;
}

void gpc_java_threads_deinit(struct java_threads *t)
{
	free(t->at);
	pthread_mutex_destroy(&t->lock);
}

static struct java_thread_id *slot_of(struct java_threads *t, int32_t tid)
{
	uint32_t at = (uint32_t)tid * 2654435761u % SLOTS;

	while (t->at[at].tid && t->at[at].tid != tid)
		at = (at + 1) % SLOTS;
	return &t->at[at];
}

/* ---- the JVM's list ------------------------------------------------------------------ */

static bool read_tid(const struct jmem *m, const struct layout *l, uint64_t thread, int32_t *ret)
{
	uint64_t os;
	uint32_t tid;

	if (!gpc_java_read_u64(m, thread + (uint32_t)l->field[F_THREAD_OSTHREAD], &os) ||
	    !gpc_java_read_u32(m, os + (uint32_t)l->field[F_OSTHREAD_ID], &tid))
		return false;
	*ret = (int32_t)tid;
	return *ret > 0;
}

/* Locked. False: enough for now. */
static bool take_thread(struct java_threads *t, const struct jmem *m, const struct layout *l,
			uint64_t thread, uint32_t *fresh)
{
	struct java_thread_id *slot;
	int32_t tid;

	if (*fresh >= NEW_MAX)
		return false;
	if (!gpc_java_is_pointer(thread))
		return true;
	(*fresh)++; /* also of what is no thread: reading it costs the same */
	if (!read_tid(m, l, thread, &tid))
		return true;
	if (t->n >= GPC_JAVA_THREADS_MAX) { /* those of threads that ended are in the way */
		memset(t->at, 0, SLOTS * sizeof *t->at);
		t->n = 0;
	}
	slot = slot_of(t, tid);
	t->n += !slot->tid;
	*slot = (struct java_thread_id){.tid = tid, .thread = thread};
	return true;
}

/* Locked. New threads are put first in old JVMs, last in newer ones (ThreadsList::add):
 * so both from their new end. */
static void scan_list(struct java_threads *t, const struct jmem *m, const struct layout *l)
{
	uint64_t list, threads, chunk[LIST_CHUNK];
	uint32_t n, end, fresh = 0;

	if (!gpc_java_read_u64(m, l->at[S_THREADS_LIST], &list) ||
	    !gpc_java_read_u32(m, list + (uint32_t)l->field[F_LIST_LENGTH], &n) ||
	    !gpc_java_read_u64(m, list + (uint32_t)l->field[F_LIST_THREADS], &threads))
		return;
	n = t->left && t->left < n ? t->left : n;
	t->left = 0;
	end = n > LIST_MAX ? n - LIST_MAX : 0;
	while (n > end && n <= 1u << 20) {
		uint32_t part = n < LIST_CHUNK ? n : LIST_CHUNK;

		n -= part;
		if (!gpc_java_read(m, threads + 8 * (uint64_t)n, chunk, part * 8))
			return;
		while (part) {
			if (!take_thread(t, m, l, chunk[part - 1], &fresh)) {
				t->left = n + part;
				return;
			}
			part--;
		}
	}
	t->left = n;
}

static void scan_chain(struct java_threads *t, const struct jmem *m, const struct layout *l)
{
	uint64_t thread = t->next;
	uint32_t fresh = 0;

	if (!thread && !gpc_java_read_u64(m, l->at[S_THREAD_FIRST], &thread))
		return;
	t->next = 0;
	for (uint32_t i = 0; thread && i < GPC_JAVA_THREADS_MAX; i++) {
		if (!take_thread(t, m, l, thread, &fresh)) {
			t->next = thread;
			return;
		}
		if (!gpc_java_read_u64(m, thread + (uint32_t)l->field[F_THREAD_NEXT], &thread))
			return;
	}
}

/* Locked. */
static void scan(struct java_threads *t, const struct jmem *m, const struct layout *l, uint64_t now)
{
	if (t->scanned_ns && now - t->scanned_ns < SCAN_NS)
		return;
	t->scanned_ns = now;
	if (!gpc_java_has(l, F_THREAD_OSTHREAD) || !gpc_java_has(l, F_OSTHREAD_ID))
		return;
	if (l->at[S_THREADS_LIST] && gpc_java_has(l, F_LIST_THREADS))
		scan_list(t, m, l);
	else if (l->at[S_THREAD_FIRST] && gpc_java_has(l, F_THREAD_NEXT))
		scan_chain(t, m, l);
}

/* Locked. The JVM's own threads are in no list, and looking for one is much work: the less
 * often the more often it was in vain. */
static uint64_t look_for(struct java_threads *t, const struct jmem *m, const struct layout *l,
			 int32_t ns_tid)
{
	uint64_t now = m->host->now_ns(m->host);
	struct java_thread_id *slot = slot_of(t, ns_tid);

	if (slot->tid && !slot->thread && now < slot->scan_ns)
		return 0;
	scan(t, m, l, now);
	slot = slot_of(t, ns_tid);
	if (slot->tid && slot->thread)
		return slot->thread;
	if (!slot->tid && t->n >= GPC_JAVA_THREADS_MAX)
		return 0;
	t->n += !slot->tid;
	slot->tid = ns_tid;
	/* Was all of the list looked at? */
	if (t->scanned_ns == now && !t->left && !t->next)
		slot->missed += slot->missed < MISSED_MAX;
	slot->scan_ns = now + (SCAN_NS << slot->missed) / 2;
	return 0;
}

JAVA_HOT static uint64_t known(struct java_threads *t, int32_t ns_tid)
{
	uint64_t thread;

	pthread_mutex_lock(&t->lock);
	thread = slot_of(t, ns_tid)->thread;
	pthread_mutex_unlock(&t->lock);
	return thread;
}

static bool is_of(const struct jmem *m, const struct layout *l, uint64_t thread, int32_t ns_tid)
{
	int32_t tid;

	/* The number may be another thread's by now. */
	return thread && read_tid(m, l, thread, &tid) && tid == ns_tid;
}

uint64_t gpc_java_thread_of(struct java_threads *t, const struct jmem *m, const struct layout *l,
			    int32_t ns_tid)
{
	uint64_t thread;

	if (ns_tid <= 0)
		return 0;
	thread = known(t, ns_tid);
	if (is_of(m, l, thread, ns_tid))
		return thread;
	pthread_mutex_lock(&t->lock);
	thread = look_for(t, m, l, ns_tid);
	pthread_mutex_unlock(&t->lock);
	return is_of(m, l, thread, ns_tid) ? thread : 0;
}

/* ---- anchors --------------------------------------------------------------------------- */

static uint32_t max_of(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static uint32_t min_of(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* Its three members lie together. */
static uint32_t anchor_bytes(const struct layout *l)
{
	return 8 + max_of(max_of((uint32_t)l->field[F_ANCHOR_SP], (uint32_t)l->field[F_ANCHOR_PC]),
			  (uint32_t)l->field[F_ANCHOR_FP]);
}

static struct java_anchor anchor_of(const struct jmem *m, const struct layout *l,
				    const uint8_t *bytes)
{
	struct java_anchor a = {gpc_java_u64(bytes, (uint32_t)l->field[F_ANCHOR_SP]),
				gpc_java_u64(bytes, (uint32_t)l->field[F_ANCHOR_PC]),
				gpc_java_u64(bytes, (uint32_t)l->field[F_ANCHOR_FP])};

	/* Without a pc it is where the call left it (cpu/x86/javaFrameAnchor_x86.hpp). */
	if (!a.sp || (!a.pc && !gpc_java_read_u64(m, a.sp - 8, &a.pc)) || !gpc_java_anchor_is(&a))
		return (struct java_anchor){0};
	return a;
}

static struct java_anchor read_anchor(const struct jmem *m, const struct layout *l, uint64_t thread)
{
	uint64_t addr = thread + (uint32_t)l->field[F_THREAD_ANCHOR];
	uint8_t bytes[ANCHOR_MAX];

	if (anchor_bytes(l) > sizeof bytes || !gpc_java_read(m, addr, bytes, anchor_bytes(l)))
		return (struct java_anchor){0};
	return anchor_of(m, l, bytes);
}

/* One read for whose stack it is and for the anchor. False: it is not that of sp, or a
 * JVM that has these members far from each other. */
JAVA_HOT static bool read_left(const struct jmem *m, const struct layout *l, uint64_t thread,
			       uint64_t sp, struct java_anchor *ret)
{
	uint32_t base = (uint32_t)l->field[F_THREAD_STACK_BASE], anchor, from, to;
	uint32_t size = (uint32_t)l->field[F_THREAD_STACK_SIZE];
	uint8_t bytes[THREAD_MAX];
	uint64_t end;

	if (!gpc_java_has(l, F_THREAD_STACK_BASE) || !gpc_java_has(l, F_THREAD_STACK_SIZE))
		return false;
	anchor = (uint32_t)l->field[F_THREAD_ANCHOR];
	from = min_of(anchor, min_of(base, size));
	to = max_of(anchor + anchor_bytes(l), 8 + max_of(base, size));
	if (to - from > sizeof bytes || !gpc_java_read(m, thread + from, bytes, to - from))
		return false;
	end = gpc_java_u64(bytes, base - from);
	if (sp >= end || end - sp > gpc_java_u64(bytes, size - from))
		return false;
	*ret = anchor_of(m, l, bytes + (anchor - from));
	return true;
}

JAVA_HOT struct java_anchor gpc_java_thread_left(struct java_threads *t, const struct jmem *m,
						 const struct layout *l, int32_t ns_tid,
						 uint64_t sp)
{
	struct java_anchor ret = {0};
	uint64_t thread;

	if (ns_tid <= 0 || !gpc_java_has_anchors(l) || !gpc_java_has(l, F_THREAD_ANCHOR))
		return ret;
	thread = known(t, ns_tid);
	if (thread && read_left(m, l, thread, sp, &ret))
		return ret;
	thread = gpc_java_thread_of(t, m, l, ns_tid);
	return thread ? read_anchor(m, l, thread) : ret;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "threads.h"

#include <stdlib.h>

#define SLOTS      (2 * GPC_JAVA_THREADS_MAX)
#define SCAN_NS    UINT64_C(20000000) /* the list is not looked at more often */
#define NEW_MAX    256                /* threads whose number is read in one look */
#define LIST_CHUNK 512
#define ANCHOR_MAX 64    /* bytes of a JavaFrameAnchor */
#define LIST_MAX   16384 /* entries looked at in one look */

bool gpc_java_threads_init(struct java_threads *t)
{
	pthread_mutex_init(&t->lock, NULL);
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
static void scan(struct java_threads *t, const struct jmem *m, const struct layout *l)
{
	uint64_t now = m->host->now_ns(m->host);

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

JAVA_HOT uint64_t gpc_java_thread_of(struct java_threads *t, const struct jmem *m,
				     const struct layout *l, int32_t ns_tid)
{
	uint64_t thread;
	int32_t tid;

	if (ns_tid <= 0)
		return 0;
	pthread_mutex_lock(&t->lock);
	thread = slot_of(t, ns_tid)->thread;
	pthread_mutex_unlock(&t->lock);
	/* A number that another thread has by now. */
	if (thread && read_tid(m, l, thread, &tid) && tid == ns_tid)
		return thread;
	pthread_mutex_lock(&t->lock);
	scan(t, m, l);
	thread = slot_of(t, ns_tid)->thread;
	pthread_mutex_unlock(&t->lock);
	return thread && read_tid(m, l, thread, &tid) && tid == ns_tid ? thread : 0;
}

/* ---- anchors --------------------------------------------------------------------------- */

/* Its three members lie together: one read. */
static bool read_anchor(const struct jmem *m, const struct layout *l, uint64_t addr,
			struct java_anchor *ret)
{
	uint32_t sp = (uint32_t)l->field[F_ANCHOR_SP], pc = (uint32_t)l->field[F_ANCHOR_PC];
	uint32_t fp = (uint32_t)l->field[F_ANCHOR_FP];
	uint8_t bytes[ANCHOR_MAX];
	uint32_t n = (sp > pc ? sp : pc) > fp ? (sp > pc ? sp : pc) + 8 : fp + 8;

	if (n > sizeof bytes || !gpc_java_read(m, addr, bytes, n))
		return false;
	*ret = (struct java_anchor){gpc_java_u64(bytes, sp), gpc_java_u64(bytes, pc),
				    gpc_java_u64(bytes, fp)};
	return true;
}

struct java_anchor gpc_java_anchor_read(const struct jmem *m, const struct layout *l, uint64_t addr)
{
	struct java_anchor a = {0}, none = {0};

	if (!gpc_java_has(l, F_ANCHOR_SP) || !gpc_java_has(l, F_ANCHOR_PC) ||
	    !gpc_java_has(l, F_ANCHOR_FP) || !read_anchor(m, l, addr, &a) || !a.sp)
		return none;
	/* Without a pc it is where the call left it (cpu/x86/javaFrameAnchor_x86.hpp). */
	if (!a.pc && !gpc_java_read_u64(m, a.sp - 8, &a.pc))
		return none;
	return gpc_java_is_pointer(a.sp) && a.sp % 8 == 0 && gpc_java_is_pointer(a.pc) ? a : none;
}

JAVA_HOT struct java_anchor gpc_java_thread_anchor(const struct jmem *m, const struct layout *l,
						   uint64_t thread)
{
	if (!thread || !gpc_java_has(l, F_THREAD_ANCHOR))
		return (struct java_anchor){0};
	return gpc_java_anchor_read(m, l, thread + (uint32_t)l->field[F_THREAD_ANCHOR]);
}

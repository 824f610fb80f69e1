/* SPDX-License-Identifier: Apache-2.0 */
#include "continuation.h"

#include "walk.h"

#define CHUNKS_MAX   64
#define WORDS_MAX    (1 << 20)
#define ENTRY_REACH  4096 /* bytes from the stub's return address to the entry: arguments */
#define ENTRY_WORDS  8    /* of a ContinuationEntry, where its continuation is looked for */
#define SUPERS_MAX   8
#define CONTINUATION "jdk/internal/vm/Continuation"
#define CHUNK        "jdk/internal/vm/StackChunk"

/* ---- what is where ------------------------------------------------------------------- */

/* 25 and later tell it; before, the stub's first instruction does: mov rsp,
 * [r15+disp32] (cpu/x86/stubGenerator_x86_64.cpp, generate_cont_thaw). */
static int32_t entry_of(struct walk *w, uint64_t barrier)
{
	const struct layout *l = &w->vm->layout;
	uint8_t code[7];
	uint32_t at;

	if (gpc_java_has(l, F_THREAD_CONT_ENTRY))
		return l->field[F_THREAD_CONT_ENTRY];
	if (!gpc_java_read(&w->vm->mem, barrier, code, sizeof code) ||
	    memcmp(code, "\x49\x8b\xa7", 3) != 0)
		return -1;
	at = gpc_java_u32(code, 3);
	return at < 65536 ? (int32_t)at : -1;
}

/* A Continuation, or a subclass of it: the class that declares tail. */
static bool learn_continuation(struct walk *w, struct java_cont_facts *c, uint64_t klass)
{
	static const char *const names[] = {"tail"};
	const struct jmem *m = &w->vm->mem;
	const struct layout *l = &w->vm->layout;
	uint64_t at = klass;

	for (int i = 0; i < SUPERS_MAX && gpc_java_is_pointer(at); i++) {
		if (gpc_java_klass_is(m, l, at, CONTINUATION)) {
			if (!gpc_java_members(m, l, at, names, &c->tail, 1) || c->tail < 0)
				return false;
			c->continuation = klass;
			return true;
		}
		if (!gpc_java_has(l, F_KLASS_SUPER) ||
		    !gpc_java_read_u64(m, at + (uint32_t)l->field[F_KLASS_SUPER], &at))
			return false;
	}
	return false;
}

static bool learn_chunk(struct walk *w, struct java_cont_facts *c, uint64_t klass)
{
	static const char *const names[] = {"parent", "size", "sp", "bottom", "argsize"};
	const struct jmem *m = &w->vm->mem;
	const struct layout *l = &w->vm->layout;
	int32_t at[5];
	uint32_t helper;

	if (!gpc_java_has(l, F_KLASS_LAYOUT) || !gpc_java_klass_is(m, l, klass, CHUNK) ||
	    !gpc_java_members(m, l, klass, names, at, 5) ||
	    !gpc_java_read_u32(m, klass + (uint32_t)l->field[F_KLASS_LAYOUT], &helper))
		return false;
	/* An instance's bytes, and a mark in the lowest bit (klass.hpp); its stack is
	 * behind them. */
	c->start = helper & ~7u;
	if (c->start < 16 || c->start > 256 || at[0] < 0 || at[1] < 0 || at[2] < 0 ||
	    (at[3] < 0 && at[4] < 0))
		return false;
	c->parent = at[0];
	c->size = at[1];
	c->sp = at[2];
	c->bottom = at[3];
	c->args = at[4];
	c->chunk = klass;
	return true;
}

/* The continuation that entry belongs to; where in it depends on the version. */
static uint64_t continuation_of(struct walk *w, struct java_cont_facts *c, uint64_t entry)
{
	const struct jmem *m = &w->vm->mem;

	for (int i = 0; i < ENTRY_WORDS; i++) {
		uint64_t object, klass;

		if (!gpc_java_stack(w, entry + 8 * (uint64_t)i, &object) ||
		    !gpc_java_is_pointer(object) ||
		    !gpc_java_object(m, &w->vm->layout, &w->vm->heap, &object, &klass))
			continue;
		if (klass == c->continuation || learn_continuation(w, c, klass))
			return object;
	}
	return 0;
}

/* ---- a chunk ----------------------------------------------------------------------------- */

struct chunk {
	uint64_t object, stack;
	uint32_t sp, bottom; /* words */
};

static bool read_chunk(struct walk *w, struct java_cont_facts *c, uint64_t object,
		       struct chunk *ret)
{
	const struct jmem *m = &w->vm->mem;
	uint64_t klass;
	uint32_t size, sp, end;

	if (!gpc_java_object(m, &w->vm->layout, &w->vm->heap, &object, &klass) ||
	    (klass != c->chunk && !learn_chunk(w, c, klass)))
		return false;
	if (!gpc_java_read_u32(m, object + (uint32_t)c->size, &size) ||
	    !gpc_java_read_u32(m, object + (uint32_t)c->sp, &sp) ||
	    !gpc_java_read_u32(m, object + (uint32_t)(c->bottom >= 0 ? c->bottom : c->args), &end))
		return false;
	if (c->bottom < 0)
		end = end <= size ? size - end : 0;
	*ret = (struct chunk){object, object + c->start, sp, end};
	return size <= WORDS_MAX && end <= size && sp <= size;
}

/* The place that a frame returned to, or would have: deoptimized ones know it. */
static const struct place *frame_place(struct walk *w, uint64_t pc, uint64_t sp)
{
	const struct place *p = gpc_java_place(w, pc, true);
	uint64_t true_pc;

	if (!p || p->rule != RULE_DEOPT)
		return p;
	if (!gpc_java_stack(w, sp + (uint64_t)p->shape.ra, &true_pc))
		return NULL;
	p = gpc_java_place(w, true_pc, true);
	return p && p->rule != RULE_DEOPT ? p : NULL;
}

/* In the heap an interpreter's frame has distances in place of addresses. */
static bool interp_up(struct walk *w, uint64_t *sp, uint64_t *frame, uint64_t end)
{
	uint64_t link = *sp - 16, fp, words, method, bcp, sender;
	struct method m;
	int bcp_words = w->vm->layout.bcp_words;
	int32_t bci = -1;

	if (!gpc_java_stack(w, link, &words))
		return false;
	fp = link + 8 * words;
	if (fp % 8 || fp <= *sp || fp >= end || !gpc_java_stack(w, fp - 24, &method) ||
	    !gpc_java_stack(w, fp + (uint64_t)(8 * (int64_t)bcp_words), &bcp) ||
	    !gpc_java_stack(w, fp - 8, &sender) || !gpc_java_known_method(w, method, &m))
		return false;
	if (bcp >= m.code && bcp - m.code < m.code_size)
		bci = (int32_t)(bcp - m.code);
	gpc_java_add(w, gpc_java_frame(w, method, bci, SUFFIX_INTERPRETED));
	*sp = fp + 16;
	*frame = fp + 8 * sender;
	/* Of the outermost one the arguments lie beyond the end. */
	return *frame >= *sp && *frame <= end + ENTRY_REACH;
}

/* One frame up: its return address is below sp, itself from frame on. */
static bool chunk_up(struct walk *w, uint64_t *sp, uint64_t *frame, uint64_t end)
{
	const struct place *p;
	uint64_t pc;

	if (!gpc_java_stack(w, *sp - 8, &pc))
		return false;
	p = frame_place(w, pc, *frame);
	if (!p)
		return false;
	if (p->blob.kind == BLOB_INTERPRETER)
		return interp_up(w, sp, frame, end);
	if ((p->blob.kind != BLOB_COMPILED && p->blob.kind != BLOB_NATIVE &&
	     p->blob.kind != BLOB_RUNTIME) ||
	    p->blob.frame_bytes < 16 || (p->blob.kind == BLOB_COMPILED && !p->is_call))
		return false;
	for (uint32_t i = 0; i < p->n; i++)
		gpc_java_add(w, p->frames[i]);
	*sp = *frame = *frame + (uint64_t)p->blob.frame_bytes;
	return true;
}

/* All frames of a chunk; *last is what the outermost returns to. */
static bool walk_chunk(struct walk *w, const struct chunk *k, uint64_t *last)
{
	uint64_t sp = k->stack + 8 * (uint64_t)k->sp, end = k->stack + 8 * (uint64_t)k->bottom;
	uint64_t frame = sp;

	while (sp < end && frame < end && !w->is_full) {
		uint64_t before = sp;

		if (!chunk_up(w, &sp, &frame, end) || sp <= before)
			return false;
	}
	return gpc_java_stack(w, sp - 8, last);
}

/* ---- all of them ---------------------------------------------------------------------------- */

struct newest {
	uint64_t chunk;
	uint32_t sp;
};

/* chunk 0: the thread has no frames in the heap. */
static bool read_newest(struct walk *w, struct java_cont_facts *c, uint64_t continuation,
			struct newest *ret)
{
	struct chunk k;

	*ret = (struct newest){0};
	ret->chunk =
		gpc_java_reference(&w->vm->mem, &w->vm->heap, continuation + (uint32_t)c->tail);
	if (!ret->chunk)
		return true;
	if (!read_chunk(w, c, ret->chunk, &k))
		return false;
	ret->sp = k.sp;
	return true;
}

static bool walk_chunks(struct walk *w, struct java_cont_facts *c, uint64_t at, uint64_t *last)
{
	struct chunk k;

	for (int i = 0; at; i++) {
		if (i == CHUNKS_MAX || w->is_full || !read_chunk(w, c, at, &k) ||
		    (k.sp < k.bottom && !walk_chunk(w, &k, last)))
			return false;
		at = gpc_java_reference(&w->vm->mem, &w->vm->heap, k.object + (uint32_t)c->parent);
	}
	return true;
}

/* Is there an entry where the stub goes on? */
static uint64_t find_entry(struct walk *w, const struct java_cont_facts *c)
{
	struct vm *vm = w->vm;
	uint64_t sp = w->state->sp, entry;
	uint64_t thread =
		gpc_java_thread_of(&vm->threads, &vm->mem, &vm->layout, w->sample->ns_tid);

	if (!thread || c->entry < 0 ||
	    !gpc_java_read_u64(&vm->mem, thread + (uint32_t)c->entry, &entry) || entry % 8 ||
	    entry < sp || entry - sp > ENTRY_REACH)
		return 0;
	return entry;
}

static bool is_entry_return(struct walk *w, uint64_t pc)
{
	const struct place *p = gpc_java_place(w, pc, true);

	return p && p->blob.kind == BLOB_NATIVE && p->is_after_call && p->n;
}

/* What came of it: nothing, some frames, all of them. */
enum heap_frames { HEAP_NONE, HEAP_SOME, HEAP_ALL };

static enum heap_frames add_frames(struct walk *w, struct java_cont_facts *c, uint64_t barrier,
				   uint64_t *entry)
{
	uint32_t n = w->out->n;
	uint64_t continuation, last = 0;
	struct newest before, after;
	bool is_whole;

	if (!c->is_known)
		c->entry = entry_of(w, barrier);
	c->is_known = true;
	*entry = w->vm->heap.is_known ? find_entry(w, c) : 0;
	continuation = *entry ? continuation_of(w, c, *entry) : 0;
	if (!continuation || !read_newest(w, c, continuation, &before))
		return HEAP_NONE;
	is_whole = walk_chunks(w, c, before.chunk, &last);
	/* Frames that the thread has got meanwhile were told twice, or are of another time. */
	if (!read_newest(w, c, continuation, &after) || after.chunk != before.chunk ||
	    after.sp != before.sp) {
		w->out->n = n;
		return HEAP_NONE;
	}
	if (!is_whole)
		return HEAP_SOME;
	if (w->vm->layout.at[S_CONT_RETURN])
		gpc_java_read_u64(&w->vm->mem, w->vm->layout.at[S_CONT_RETURN], &last);
	if (!is_entry_return(w, last))
		*entry = 0;
	w->state->pc = *entry ? last : w->state->pc;
	return HEAP_ALL;
}

bool gpc_java_heap_frames(struct walk *w, uint64_t barrier)
{
	struct java_continuations *all = &w->vm->continuations;
	struct java_cont_facts facts, before;
	uint64_t entry = 0;

	pthread_mutex_lock(&all->lock);
	facts = before = all->facts;
	pthread_mutex_unlock(&all->lock);
	if (add_frames(w, &facts, barrier, &entry) != HEAP_ALL) {
		gpc_java_add(w, gpc_java_plain_frame(w->out->writer, "[frames in the heap]"));
		entry = 0;
	}
	if (memcmp(&facts, &before, sizeof facts) != 0) {
		pthread_mutex_lock(&all->lock);
		all->facts = facts;
		pthread_mutex_unlock(&all->lock);
	}
	if (!entry)
		return false;
	w->state->sp = entry;
	w->state->is_leaf = 0;
	return true;
}

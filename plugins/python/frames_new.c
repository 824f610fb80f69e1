/* SPDX-License-Identifier: Apache-2.0 */
/* From 3.11 on: frames of Python functions lie one after another in chunks of
 * memory that belong to the thread, those of generators in these. One call of
 * the interpreter's loop executes many; where it begins there is an entry frame
 * (3.11: marked; 3.12 on: a frame of its own, in the loop's C frame). */
#include "frames.h"

#define BLOCK_MAX  16384
#define CHUNK_HEAD 24         /* _PyStackChunk: previous, size, top (cpython/pystate.h) */
#define CHUNK_MAX  (1u << 28) /* bytes; no thread's chunk is larger */
#define POINTER    UINT64_C(0x00FFFFFFFFFFFFFF)

/* A piece of the chunk that was read at once. */
struct block {
	uint64_t at, n;
	uint8_t bytes[BLOCK_MAX];
};

struct walk {
	const struct py_memory *m;
	const struct py_layout *l;
	struct py_stack *ret;
	struct block block;
	uint8_t one[PY_INNER_MAX]; /* a frame that lies elsewhere */
};

/* The end of the thread's current chunk, in which its innermost frames lie. */
static void read_block(struct walk *w, uint64_t chunk, uint64_t top)
{
	uint64_t from = chunk + CHUNK_HEAD;

	w->block.n = 0;
	if (!chunk || top <= from || top - from > CHUNK_MAX)
		return;
	if (top - from > BLOCK_MAX)
		from = top - BLOCK_MAX;
	if (gpc_py_read(w->m, from, w->block.bytes, top - from)) {
		w->block.at = from;
		w->block.n = top - from;
	}
}

static const uint8_t *frame_at(struct walk *w, uint64_t at)
{
	size_t n = w->l->frame_size;

	if (at >= w->block.at && w->block.n >= n && at - w->block.at <= w->block.n - n)
		return w->block.bytes + (at - w->block.at);
	return n <= sizeof w->one && gpc_py_read(w->m, at, w->one, n) ? w->one : NULL;
}

/* The interpreter's loop was entered here. */
static void end_group(struct py_stack *s, uint64_t c_stack)
{
	if (s->n_groups == PY_GROUPS_MAX) {
		s->has_open_group = true;
		return;
	}
	s->groups[s->n_groups++] = (struct py_group){.end = s->n, .c_stack = c_stack};
}

static bool is_aligned(uint64_t at)
{
	return at % 8 == 0;
}

PY_HOT static bool put(struct walk *w, const uint8_t *frame)
{
	const struct py_layout *l = w->l;
	struct py_frame *f = &w->ret->frames[w->ret->n];

	if (w->ret->n == PY_FRAMES_MAX) {
		w->ret->is_cut = true;
		return false;
	}
	*f = (struct py_frame){.code = gpc_py_u64(frame, l->frame_code),
			       .pointer = gpc_py_u64(frame, l->frame_at)};
	/* From 3.14 on a tagged reference: _PyStackRef of pycore_stackref.h. */
	if (l->version >= PY_VERSION(3, 14))
		f->code &= ~UINT64_C(7);
	if (l->frame_tlbc != PY_NONE && l->is_free_threaded)
		f->tlbc = gpc_py_u32(frame, l->frame_tlbc);
	w->ret->n++;
	return true;
}

/* Has this frame to be shown? 3.12 on has frames for the loop itself. */
static bool is_python(const struct py_layout *l, const uint8_t *frame)
{
	return frame[l->frame_owner] < l->owner_c;
}

static gpc_status walk(struct walk *w, uint64_t at)
{
	const struct py_layout *l = w->l;
	bool has_marks = l->frame_is_entry != PY_NONE;

	for (unsigned i = 0; at; i++) {
		const uint8_t *frame = is_aligned(at) ? frame_at(w, at) : NULL;

		if (!frame || i == 2 * PY_FRAMES_MAX)
			return GPC_E_CORRUPT;
		if (!is_python(l, frame)) {
			/* Two in a row: a call of the loop that executes nothing yet. */
			end_group(w->ret, at);
		} else {
			if (!put(w, frame))
				return GPC_OK;
			if (has_marks && frame[l->frame_is_entry])
				end_group(w->ret, 0);
		}
		at = gpc_py_u64(frame, l->frame_back);
	}
	if (!w->ret->n_groups || w->ret->groups[w->ret->n_groups - 1].end != w->ret->n)
		w->ret->has_open_group |= w->ret->n > 0;
	return GPC_OK;
}

/* The addresses of the loop's C frames: to 3.12 each holds a _PyCFrame. */
static void place_groups(struct walk *w, uint64_t cframe)
{
	for (uint32_t i = 0; i < w->ret->n_groups && cframe; i++) {
		w->ret->groups[i].c_stack = cframe;
		if (!gpc_py_read_u64(w->m, cframe + w->l->cframe_previous, &cframe))
			return;
	}
}

PY_HOT gpc_status gpc_py_frames_new(const struct py_memory *m, const struct py_layout *l,
				    const uint8_t *thread, struct py_stack *ret)
{
	uint64_t top = 0, cframe = 0;
	struct walk w;
	gpc_status st;

	w.m = m; /* the rest of it is large, and is filled before it is used */
	w.l = l;
	w.ret = ret;
	if (l->thread_cframe == PY_NONE) {
		top = gpc_py_u64(thread, l->thread_frame);
	} else {
		cframe = gpc_py_u64(thread, l->thread_cframe);
		if (!gpc_py_read_u64(m, cframe + l->cframe_frame, &top))
			return GPC_E_CORRUPT;
	}
	if (!top)
		return GPC_OK;
	read_block(&w, gpc_py_u64(thread, l->thread_chunk),
		   gpc_py_u64(thread, (uint16_t)(l->thread_chunk + 8)));
	st = walk(&w, top);
	/* 3.12 has both; its entry frames are in the loop's C frames already. */
	if (st == GPC_OK && l->frame_is_entry != PY_NONE)
		place_groups(&w, cframe);
	return st;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "frames.h"

#define TRIES 3 /* the first, and twice more */

PY_HOT size_t gpc_py_thread_bytes(const struct py_layout *l)
{
	const uint16_t used[] = {l->thread_next,      l->thread_interp, l->thread_id,
				 l->thread_native_id, l->thread_frame,  l->thread_cframe,
				 l->thread_chunk,     l->thread_status};
	size_t n = 0;

	for (size_t i = 0; i < sizeof used / sizeof *used; i++)
		if (used[i] != PY_NONE && used[i] + 16u > n)
			n = used[i] + 16u; /* datastack_top follows datastack_chunk */
	return n <= PY_THREAD_MAX ? n : 0;
}

/* Where the thread state leads to: changes with every call and return. */
static uint64_t top_of(const struct py_memory *m, const struct py_layout *l, const uint8_t *thread)
{
	uint64_t top = 0;

	if (l->thread_frame != PY_NONE)
		return gpc_py_u64(thread, l->thread_frame);
	if (!gpc_py_read_u64(m, gpc_py_u64(thread, l->thread_cframe) + l->cframe_frame, &top))
		return 0;
	return top;
}

static bool is_as_before(const struct py_memory *m, const struct py_layout *l, uint64_t at,
			 uint64_t before)
{
	uint8_t thread[PY_THREAD_MAX];
	size_t n = gpc_py_thread_bytes(l);

	return gpc_py_read(m, at, thread, n) && top_of(m, l, thread) == before;
}

/* The first try is made with the bytes that are there. */
PY_HOT gpc_status gpc_py_frames_of(const struct py_memory *m, const struct py_layout *l,
				   const struct py_thread_state *thread, struct py_stack *ret)
{
	bool is_exact = m->sample && m->sample->flags & GPC_PULL_EXACT;
	/* The copy of the stack is of another moment than all the rest that is read. */
	struct py_memory now = {m->host, m->target, is_exact ? m->sample : NULL};
	size_t n = gpc_py_thread_bytes(l);
	gpc_status st = GPC_E_CORRUPT;
	uint8_t bytes[PY_THREAD_MAX];

	for (unsigned i = 0; n && i < TRIES; i++) {
		uint64_t top;

		ret->n = ret->n_groups = 0;
		ret->is_cut = ret->has_open_group = false;
		if (!i)
			memcpy(bytes, thread->bytes, n);
		else if (!gpc_py_read(&now, thread->at, bytes, n))
			return GPC_E_CORRUPT;
		/* Before the walk: from 3.11 on it lies elsewhere, and may change meanwhile. */
		top = is_exact ? 0 : top_of(&now, l, bytes);
		st = l->version >= PY_VERSION(3, 11) ? gpc_py_frames_new(&now, l, bytes, ret)
						     : gpc_py_frames_old(&now, l, bytes, ret);
		/* The thread stands still: what is there is what there is. */
		if (is_exact)
			return st;
		if (is_as_before(&now, l, thread->at, top))
			return st;
	}
	return st < 0 ? st : GPC_E_CORRUPT;
}

gpc_status gpc_py_frames(const struct py_memory *m, const struct py_layout *l, uint64_t at,
			 struct py_stack *ret)
{
	struct py_thread_state thread = {.at = at};
	size_t n = gpc_py_thread_bytes(l);

	if (!n || !gpc_py_read(m, at, thread.bytes, n))
		return GPC_E_CORRUPT;
	return gpc_py_frames_of(m, l, &thread, ret);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* To 3.10: a list of PyFrameObject on the heap, each executed by a call of the
 * interpreter's loop of its own. */
#include "frames.h"

static bool read_frame(const struct py_memory *m, const struct py_layout *l, uint64_t at,
		       struct py_frame *f, uint64_t *back)
{
	uint8_t bytes[PY_FRAME_MAX];
	size_t need = l->frame_at + 4u, want = l->frame_locals + 8u;
	size_t got = gpc_py_read_some(m, at, bytes, want < sizeof bytes ? want : sizeof bytes);
	int32_t lasti;

	if (got < need)
		return false;
	lasti = (int32_t)gpc_py_u32(bytes, l->frame_at);
	if (l->lasti == PY_LASTI_UNITS && lasti > 0)
		lasti = lasti < INT32_MAX / 2 ? 2 * lasti : -1;
	*f = (struct py_frame){.code = gpc_py_u64(bytes, l->frame_code), .at = lasti};
	if (got >= want)
		f->self = gpc_py_u64(bytes, l->frame_locals);
	*back = gpc_py_u64(bytes, l->frame_back);
	return f->code != 0;
}

PY_HOT gpc_status gpc_py_frames_old(const struct py_memory *m, const struct py_layout *l,
				    const uint8_t *thread, struct py_stack *ret)
{
	uint64_t at = gpc_py_u64(thread, l->thread_frame);

	while (at) {
		uint64_t back;

		if (ret->n == PY_FRAMES_MAX) {
			ret->is_cut = true;
			return GPC_OK;
		}
		if (!read_frame(m, l, at, &ret->frames[ret->n], &back))
			return GPC_E_CORRUPT;
		ret->n++;
		if (ret->n_groups < PY_GROUPS_MAX)
			ret->groups[ret->n_groups++] =
				(struct py_group){.end = ret->n, .frame = at};
		else
			ret->has_open_group = true;
		at = back;
	}
	return GPC_OK;
}

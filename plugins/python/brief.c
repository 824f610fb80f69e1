/* SPDX-License-Identifier: Apache-2.0 */
#include "brief.h"

static uint32_t place_of(const struct py_frame *f)
{
	return (uint32_t)(((f->code >> 4) + f->pointer) * UINT64_C(0x9E3779B97F4A7C15) >> 32) %
	       PY_BRIEFS;
}

void gpc_py_briefs_put(struct py_briefs *b, const struct py_frame *f, gpc_frame frame,
		       uint64_t until_ns)
{
	b->at[place_of(f)] = (struct py_brief){f->code, f->pointer, frame, until_ns};
}

PY_HOT void gpc_py_briefs_find(const struct py_briefs *b, const struct py_frame *frames, uint32_t n,
			       uint64_t now, gpc_frame *ret)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct py_frame *f = &frames[i];
		const struct py_brief *known = &b->at[place_of(f)];
		bool is_it = known->code == f->code && known->pointer == f->pointer &&
			     now < known->until_ns;

		ret[i] = is_it ? known->frame : 0;
	}
}

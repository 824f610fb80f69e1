/* SPDX-License-Identifier: Apache-2.0 */
#include "gil.h"

/* struct _gil_runtime_state (Include/internal/pycore_gil.h). */
static bool holder_of(const struct py_memory *m, const struct py_layout *l, uint64_t gil,
		      uint64_t *ret)
{
	int32_t locked;

	return gpc_py_read(m, gil + l->gil_locked, &locked, sizeof locked) && locked == 1 &&
	       gpc_py_read_u64(m, gil + l->gil_holder, ret) && *ret;
}

static unsigned of_interpreters(const struct py_memory *m, const struct py_runtime *r,
				uint64_t ret[PY_GILS_MAX])
{
	uint64_t interp, gil, seen[PY_GILS_MAX];
	unsigned n = 0, n_seen = 0;

	if (!gpc_py_read_u64(m, r->list, &interp))
		return 0;
	while (interp && n_seen < PY_GILS_MAX) {
		bool is_new = gpc_py_read_u64(m, interp + r->layout.interp_gil, &gil);

		for (unsigned i = 0; i < n_seen; i++)
			is_new &= seen[i] != gil;
		if (is_new && holder_of(m, &r->layout, gil, &ret[n]))
			n++;
		seen[n_seen++] = gil;
		if (!gpc_py_read_u64(m, interp + r->layout.interp_next, &interp))
			break;
	}
	return n;
}

unsigned gpc_py_gil_holders(const struct py_memory *m, const struct py_runtime *r,
			    uint64_t ret[PY_GILS_MAX])
{
	/* To 3.6 the one that runs is a variable: _PyThreadState_Current. */
	if (r->current)
		return gpc_py_read_u64(m, r->current, ret) && ret[0];
	if (r->layout.runtime_gil != PY_NONE && r->runtime)
		return holder_of(m, &r->layout, r->runtime + r->layout.runtime_gil, ret);
	return r->layout.interp_gil != PY_NONE ? of_interpreters(m, r, ret) : 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "gil.h"

#define LOOK_EVERY 64 /* questions */
#define GIL_MAX    512

/* struct _gil_runtime_state (Include/internal/pycore_gil.h), in one read. */
static bool holder_of(const struct py_memory *m, const struct py_layout *l, uint64_t gil,
		      uint64_t *ret)
{
	uint16_t first = l->gil_locked < l->gil_holder ? l->gil_locked : l->gil_holder;
	uint16_t last = l->gil_locked < l->gil_holder ? l->gil_holder : l->gil_locked;
	size_t n = last - first + sizeof(uint64_t);
	uint8_t bytes[GIL_MAX];

	if (n > sizeof bytes || !gpc_py_read(m, gil + first, bytes, n) ||
	    gpc_py_u32(bytes, l->gil_locked - first) != 1)
		return false;
	*ret = gpc_py_u64(bytes, l->gil_holder - first);
	return *ret != 0;
}

/* From 3.12 on; several interpreters may share one. */
static void look(struct py_gils *g, const struct py_memory *m, const struct py_runtime *r)
{
	uint64_t interp, gil;

	g->n = 0;
	if (!gpc_py_read_u64(m, r->list, &interp))
		return;
	for (unsigned i = 0; interp && i < PY_GILS_MAX; i++) {
		bool is_new = gpc_py_read_u64(m, interp + r->layout.interp_gil, &gil) && gil;

		for (unsigned k = 0; k < g->n; k++)
			is_new &= g->at[k] != gil;
		if (is_new)
			g->at[g->n++] = gil;
		if (!gpc_py_read_u64(m, interp + r->layout.interp_next, &interp))
			return;
	}
}

unsigned gpc_py_gil_holders(struct py_gils *g, const struct py_memory *m,
			    const struct py_runtime *r, uint64_t ret[PY_GILS_MAX])
{
	unsigned n = 0;

	/* To 3.6 the one that runs is a variable: _PyThreadState_Current. */
	if (r->current)
		return gpc_py_read_u64(m, r->current, ret) && ret[0];
	if (r->layout.runtime_gil != PY_NONE && r->runtime)
		return holder_of(m, &r->layout, r->runtime + r->layout.runtime_gil, ret);
	if (r->layout.interp_gil == PY_NONE)
		return 0;
	if (g->asked++ % LOOK_EVERY == 0)
		look(g, m, r);
	for (unsigned i = 0; i < g->n; i++)
		n += holder_of(m, &r->layout, g->at[i], &ret[n]);
	return n;
}

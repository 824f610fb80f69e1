/* SPDX-License-Identifier: Apache-2.0 */
/* What a thread was found to execute a moment ago. */
#include <string.h>

#include "base/hot.h"

#include "source/pull_impl.h"

#define LATEST (sizeof(((struct gpc_pull_own *)0)->latest) / sizeof(struct gpc_pull_answer))

static bool is_same(const struct gpc_pull_whom *a, const struct gpc_pull_whom *b)
{
	return a->self == b->self && a->target == b->target && a->tid == b->tid &&
	       a->epoch == b->epoch;
}

GPC_HOT bool gpc_pull_recall(const struct gpc_pull_own *own, const struct gpc_pull_whom *of,
			     uint64_t since_ns, struct gpc_pulled *ret)
{
	const struct gpc_pull_answer *a = own ? &own->latest[(uint32_t)of->tid % LATEST] : NULL;

	if (!a || !a->read_ns || a->read_ns < since_ns || !is_same(&a->of, of))
		return false;
	ret->n = a->n;
	memcpy(ret->frames, a->frames, a->n * sizeof *a->frames);
	return true;
}

GPC_HOT void gpc_pull_remember(struct gpc_pull_own *own, const struct gpc_pull_whom *of,
			       uint64_t read_ns, const struct gpc_pulled *answer)
{
	struct gpc_pull_answer *a = own ? &own->latest[(uint32_t)of->tid % LATEST] : NULL;

	if (!a || answer->n > GPC_PULL_ANSWER_MAX)
		return;
	a->of = *of;
	a->read_ns = read_ns;
	a->n = answer->n;
	memcpy(a->frames, answer->frames, answer->n * sizeof *a->frames);
}

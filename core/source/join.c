/* SPDX-License-Identifier: Apache-2.0 */
#include "source/join.h"

#include <string.h>

#include "base/hot.h"

static bool put(struct gpc_pulled *ret, uint64_t frame)
{
	if (ret->n == GPC_PULLED_MAX)
		return false;
	ret->frames[ret->n++] = frame;
	return true;
}

static void put_native(const struct gpc_pull_sample *s, uint32_t from, uint32_t to,
		       struct gpc_pulled *ret)
{
	for (uint32_t i = from; i < to; i++)
		if (!put(ret, gpc_join_native(s->native[i], i == 0)))
			return;
}

static bool fits(const struct gpc_pull_sample *s, const struct gpc_pull_out *a,
		 const struct gpc_pull_run *run, uint32_t native_from, uint32_t frames_from)
{
	return run->native_at >= native_from && run->native_at <= s->n_native &&
	       run->native_n <= s->n_native - run->native_at && run->frames_at >= frames_from &&
	       run->frames_at <= a->n && run->frames_n <= a->n - run->frames_at;
}

GPC_HOT bool gpc_join(const struct gpc_pull_sample *s, const struct gpc_pull_out *answer,
		      struct gpc_pulled *ret)
{
	uint32_t native = 0, frames = 0;

	ret->n = 0;
	for (uint32_t i = 0; i < answer->n_runs; i++) {
		const struct gpc_pull_run *run = &answer->runs[i];

		if (!fits(s, answer, run, native, frames))
			return false;
		put_native(s, native, run->native_at, ret);
		for (uint32_t k = 0; k < run->frames_n; k++)
			put(ret, answer->frames[run->frames_at + k]);
		native = run->native_at + run->native_n;
		frames = run->frames_at + run->frames_n;
	}
	put_native(s, native, s->n_native, ret);
	return true;
}

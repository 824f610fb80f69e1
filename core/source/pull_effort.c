/* SPDX-License-Identifier: Apache-2.0 */
/* What answers take, and how much of a CPU's time readers may take. */
#include <sys/resource.h>

#include "base/clock.h"
#include "base/hot.h"
#include "source/pull_impl.h"

#define SHARE_NS (100 * GPC_MS_NS) /* of each second of a CPU */

static uint64_t us_of(const struct timeval *tv)
{
	return (uint64_t)tv->tv_sec * 1000000 + (uint64_t)tv->tv_usec;
}

GPC_HOT struct gpc_pull_effort gpc_pull_effort_begin(bool is_realtime, uint64_t now)
{
	struct gpc_pull_effort e = {.ns = now ? now : gpc_now_ns(), .is_realtime = is_realtime};
	struct rusage used;

	if (is_realtime)
		return e;
	getrusage(RUSAGE_THREAD, &used);
	e.cpu_ns = 1000 * (us_of(&used.ru_utime) + us_of(&used.ru_stime));
	e.waits = used.ru_nvcsw;
	return e;
}

GPC_HOT uint64_t gpc_pull_effort_ns(const struct gpc_pull_effort *begin, uint64_t slow_ns)
{
	uint64_t took = gpc_now_ns() - begin->ns;
	struct gpc_pull_effort now;

	if (took <= slow_ns || begin->is_realtime)
		return took;
	now = gpc_pull_effort_begin(false, 0);
	return now.waits != begin->waits ? took : now.cpu_ns - begin->cpu_ns;
}

GPC_HOT bool gpc_pull_has_share(struct gpc_pull_share *share, uint64_t now)
{
	if (__atomic_load_n(&share->second, __ATOMIC_RELAXED) != now / GPC_SECOND_NS) {
		__atomic_store_n(&share->second, now / GPC_SECOND_NS, __ATOMIC_RELAXED);
		__atomic_store_n(&share->spent_ns, 0, __ATOMIC_RELAXED);
	}
	return __atomic_load_n(&share->spent_ns, __ATOMIC_RELAXED) < SHARE_NS;
}

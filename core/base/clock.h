/* SPDX-License-Identifier: Apache-2.0 */
/* The clocks the core uses. Perf records carry CLOCK_MONOTONIC too. */
#ifndef GPC_BASE_CLOCK_H
#define GPC_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define GPC_SECOND_NS UINT64_C(1000000000)
#define GPC_MS_NS     UINT64_C(1000000)

static inline uint64_t gpc_clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * GPC_SECOND_NS + (uint64_t)ts.tv_nsec;
}

static inline uint64_t gpc_now_ns(void)
{
	return gpc_clock_ns(CLOCK_MONOTONIC);
}

static inline int64_t gpc_unix_ns(void)
{
	return (int64_t)gpc_clock_ns(CLOCK_REALTIME);
}

#endif

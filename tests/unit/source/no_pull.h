/* SPDX-License-Identifier: Apache-2.0 */
/* Hooks of readers that only have to be there: no sample is read. */
#ifndef TESTS_NO_PULL_H
#define TESTS_NO_PULL_H

#include "source/pull_thread.h"

static inline bool no_pull(void *ctx, uint32_t cpu, const void *record, size_t n,
			   const struct gpc_perf_format *format, struct gpc_pulled *ret)
{
	(void)ctx;
	(void)cpu;
	(void)record;
	(void)n;
	(void)format;
	(void)ret;
	return false;
}

static inline void no_hangs(void *ctx, struct gpc_pulled *ret)
{
	(void)ctx;
	(void)ret;
}

#define NO_PULL                                    \
	{                                          \
		.pull = no_pull, .hangs = no_hangs \
	}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The machine's load for the profile's header: CPU use since the last read, and
 * the mean of memory use over samples taken since then. The owner calls
 * gpc_metrics_tick every five seconds. One thread at a time. */
#ifndef GPC_HEALTH_METRICS_H
#define GPC_HEALTH_METRICS_H

#include <stdint.h>

#include "base/err.h"

struct gpc_metrics {
	int proc_fd;          /* borrowed */
	uint64_t busy, total; /* jiffies at the last read; total 0: unknown */
	double memory_sum;
	unsigned memory_n;
};

struct gpc_metrics_values { /* percent; NAN: not known */
	double cpu, memory;
};

/* proc_fd: the folder /proc, borrowed as long as m is used. */
void gpc_metrics_init(struct gpc_metrics *m, int proc_fd);
/* Takes a sample of memory use. */
void gpc_metrics_tick(struct gpc_metrics *m);
/* The values since the last call (or init), and begins anew. */
struct gpc_metrics_values gpc_metrics_read(struct gpc_metrics *m);

#endif

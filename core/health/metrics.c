/* SPDX-License-Identifier: Apache-2.0 */
#include "health/metrics.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/io.h"

/* Guests' time is part of user time already, waiting for a disk is idle. */
static bool read_cpu(int proc_fd, uint64_t *busy, uint64_t *total)
{
	uint64_t v[8] = {0};
	char text[512];
	int n;

	if (gpc_read_small(proc_fd, "stat", text, sizeof text) <= 0)
		return false;
	n = sscanf(text,
		   "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
		   " %" SCNu64 " %" SCNu64,
		   &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6], &v[7]);
	if (n < 4)
		return false;
	*total = 0;
	for (int i = 0; i < 8; i++)
		*total += v[i];
	*busy = *total - v[3] - v[4];
	return *total != 0;
}

static bool read_field(const char *text, const char *name, uint64_t *ret)
{
	const char *at = strstr(text, name);

	return at && sscanf(at + strlen(name), "%" SCNu64, ret) == 1;
}

void gpc_metrics_init(struct gpc_metrics *m, int proc_fd)
{
	*m = (struct gpc_metrics){.proc_fd = proc_fd};
	if (!read_cpu(proc_fd, &m->busy, &m->total))
		m->total = 0;
}

void gpc_metrics_tick(struct gpc_metrics *m)
{
	uint64_t total = 0, available = 0;
	char text[1024];

	if (gpc_read_small(m->proc_fd, "meminfo", text, sizeof text) <= 0 ||
	    !read_field(text, "MemTotal:", &total) ||
	    !read_field(text, "MemAvailable:", &available) || !total || available > total)
		return;
	m->memory_sum += 100.0 * (double)(total - available) / (double)total;
	m->memory_n++;
}

struct gpc_metrics_values gpc_metrics_read(struct gpc_metrics *m)
{
	struct gpc_metrics_values values = {NAN, NAN};
	uint64_t busy = 0, total = 0;

	if (!read_cpu(m->proc_fd, &busy, &total))
		total = 0;
	/* The kernel's idle counters may step back a little. */
	if (m->total && total > m->total)
		values.cpu = busy > m->busy
				     ? 100.0 * (double)(busy - m->busy) / (double)(total - m->total)
				     : 0;
	if (values.cpu > 100)
		values.cpu = 100;
	if (m->memory_n)
		values.memory = m->memory_sum / m->memory_n;
	m->busy = busy;
	m->total = total;
	m->memory_sum = 0;
	m->memory_n = 0;
	return values;
}

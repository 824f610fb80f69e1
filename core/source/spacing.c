/* SPDX-License-Identifier: Apache-2.0 */
#include "source/spacing.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>

#include "base/clock.h"
#include "base/hot.h"

/* Most readers have come by then. Of a dense sampling it is but a part. */
#define LEAST_NS   (100 * UINT64_C(1000))
#define LEAST_PART 4
#define SILENT_MAX 2  /* then its CPU is likely to stay idle */
#define PART_BITS  24 /* of ahead; gpc_random_distance gives at most 20 means */

void gpc_spacing_init(struct gpc_spacing *s, int fd, uint64_t mean_ns)
{
	s->fd = fd;
	s->mean_ns = mean_ns;
	s->last_ns = 0;
	s->n_silent = 0;
	s->n_ahead = 0;
	s->is_calm = false;
	gpc_random_init(&s->random, gpc_now_ns() ^ (uint64_t)fd << 40);
}

/* Restarts the event's timer with it. */
GPC_HOT static void set(int fd, uint64_t ns)
{
	/* An event that has gone is noticed by whoever polls it. */
	(void)ioctl(fd, PERF_EVENT_IOC_PERIOD, &ns);
}

static bool is_calm(const struct gpc_spacing *s)
{
	return __atomic_load_n(&s->is_calm, __ATOMIC_RELAXED);
}

static void fill(struct gpc_spacing *s)
{
	while (s->n_ahead < GPC_SPACING_AHEAD)
		s->ahead[s->n_ahead++] =
			(uint32_t)gpc_random_distance(&s->random, UINT64_C(1) << PART_BITS);
}

GPC_HOT uint64_t gpc_spacing_distance(struct gpc_spacing *s, uint64_t late_ns)
{
	uint64_t part = s->mean_ns / LEAST_PART, least = part < LEAST_NS ? part : LEAST_NS;
	uint64_t known = least + (late_ns < part ? late_ns : part);

	if (!s->n_ahead)
		fill(s);
	return least + (s->ahead[--s->n_ahead] * (s->mean_ns - known) >> PART_BITS);
}

GPC_HOT void gpc_spacing_next(struct gpc_spacing *s, uint64_t sampled_ns)
{
	if (!s->mean_ns)
		return;
	s->n_silent = 0;
	if (is_calm(s)) {
		if (s->last_ns)
			set(s->fd, s->mean_ns);
		s->last_ns = 0;
		return;
	}
	s->last_ns = gpc_spacing_distance(s, gpc_now_ns() - sampled_ns);
	set(s->fd, s->last_ns);
}

GPC_HOT int gpc_spacing_wait_ms(const struct gpc_spacing *s)
{
	return s->last_ns ? (int)((s->last_ns + LEAST_NS) / GPC_MS_NS) + 1 : -1;
}

void gpc_spacing_silent(struct gpc_spacing *s)
{
	if (!s->last_ns)
		return;
	s->last_ns = ++s->n_silent < SILENT_MAX && !is_calm(s) ? gpc_spacing_distance(s, 0) : 0;
	set(s->fd, s->last_ns ? s->last_ns : s->mean_ns);
}

void gpc_spacing_end(int fd, uint64_t mean_ns)
{
	if (mean_ns)
		set(fd, mean_ns);
}

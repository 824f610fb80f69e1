/* SPDX-License-Identifier: Apache-2.0 */
#include "source/spacing.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>

#include "base/clock.h"
#include "base/hot.h"

/* Most readers have come by then. Of a dense sampling it is but a part. */
#define LEAST_NS   (100 * UINT64_C(1000))
#define LEAST_PART 4
#define PART_BITS  24 /* of ahead; gpc_random_distance gives at most 20 means */

void gpc_spacing_init(struct gpc_spacing *s, int fd, uint64_t mean_ns)
{
	s->fd = fd;
	s->mean_ns = mean_ns;
	s->n_ahead = 0;
	gpc_random_init(&s->random, gpc_now_ns() ^ (uint64_t)fd << 40);
}

/* Restarts the event's timer with it. */
GPC_HOT static void set(int fd, uint64_t ns)
{
	/* An event that has gone is noticed by whoever polls it. */
	(void)ioctl(fd, PERF_EVENT_IOC_PERIOD, &ns);
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
	if (s->mean_ns)
		set(s->fd, gpc_spacing_distance(s, gpc_now_ns() - sampled_ns));
}

void gpc_spacing_end(int fd, uint64_t mean_ns)
{
	if (mean_ns)
		set(fd, mean_ns);
}

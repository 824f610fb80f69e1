/* SPDX-License-Identifier: Apache-2.0 */
#include "base/random.h"

#include <math.h>

#define MEANS_MAX 20 /* longer ones are one in 500 million */

void gpc_random_init(struct gpc_random *r, uint64_t seed)
{
	/* Seeds that lie close together, like times, would begin alike (the multiplier is
	 * Knuth's, of the golden ratio). */
	r->state = (seed | 1) * UINT64_C(0x9e3779b97f4a7c15);
	for (int i = 0; i < 8; i++)
		(void)gpc_random_next(r);
}

uint64_t gpc_random_next(struct gpc_random *r)
{
	r->state ^= r->state << 13;
	r->state ^= r->state >> 7;
	r->state ^= r->state << 17;
	return r->state;
}

uint64_t gpc_random_distance(struct gpc_random *r, uint64_t mean)
{
	/* In (0, 1]: the 53 bits that a double holds, and never 0. */
	double u = (double)((gpc_random_next(r) >> 11) + 1) / 9007199254740992.0;
	double means = -log(u);

	return (uint64_t)((means < MEANS_MAX ? means : MEANS_MAX) * (double)mean);
}

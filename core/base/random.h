/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers for sampling, not for secrets: xorshift64 (Marsaglia, "Xorshift RNGs",
 * 2003). One per thread. */
#ifndef GPC_BASE_RANDOM_H
#define GPC_BASE_RANDOM_H

#include <stdint.h>

struct gpc_random {
	uint64_t state; /* never 0 */
};

void gpc_random_init(struct gpc_random *r, uint64_t seed);
uint64_t gpc_random_next(struct gpc_random *r);
/* Exponentially distributed with this mean, at most 20 times it. The time to the next
 * event of a process that has no memory: such events fall in step with nothing, not even
 * with what they cause themselves. */
uint64_t gpc_random_distance(struct gpc_random *r, uint64_t mean);

#endif

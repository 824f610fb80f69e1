/* SPDX-License-Identifier: Apache-2.0 */
/* Do threads wait for CPUs? Where none does a reader that comes at samples ends nobody's time
 * slice, and even distances between samples do no harm (spacing.h). */
#ifndef GPC_SOURCE_CROWD_H
#define GPC_SOURCE_CROWD_H

#include <stdbool.h>
#include <stdint.h>

struct gpc_crowd { /* zeroed at first */
	uint64_t looked_ns, waited_us;
	bool is_calm;
};

/* Now and then, with /proc/pressure/cpu (NULL: of this machine). False: threads have waited
 * in more than a sixteenth of the last two seconds or longer, or the kernel does not tell (it is
 * built or started without pressure stall information). */
bool gpc_crowd_is_calm(struct gpc_crowd *c, uint64_t now_ns, const char *path);

#endif

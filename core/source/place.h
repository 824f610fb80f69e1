/* SPDX-License-Identifier: Apache-2.0 */
/* In which control group a process uses CPU: by its samples, and what they do not
 * tell by the opener, while the process lives. Under the owner's lock. */
#ifndef GPC_SOURCE_PLACE_H
#define GPC_SOURCE_PLACE_H

#include <stdint.h>

#include "proc/opener.h"
#include "proc/table.h"

struct gpc_place { /* all borrowed */
	struct gpc_table *table;
	struct gpc_opener *opener;
	/* A group that may be a container's; NULL: nobody wants to know. */
	void (*placed)(void *ctx, const char *cgroup);
	void *ctx;
};

/* A sample of p came from this group; 0: the kernel does not say. */
void gpc_place_sample(const struct gpc_place *at, struct gpc_process *p, uint64_t cgroup);
/* What the opener found, see gpc_opener_cgroup_fn. */
void gpc_place_told(const struct gpc_place *at, uint64_t process, uint64_t cgroup,
		    const char *text);

#endif

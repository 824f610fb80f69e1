/* SPDX-License-Identifier: Apache-2.0 */
/* The path of a control group by the number that perf's samples carry, for
 * groups that are older than we. */
#ifndef GPC_PROC_CGROUPFS_H
#define GPC_PROC_CGROUPFS_H

#include <stdbool.h>
#include <stdint.h>

struct gpc_cgroupfs {
	int fd; /* a folder of the hierarchy that perf numbers; -1: none */
	char *mount;
	bool is_unified; /* cgroup v2 alone: a process is in one group only */
};

/* mountinfo: "/proc/self/mountinfo". */
void gpc_cgroupfs_init(struct gpc_cgroupfs *c, const char *mountinfo);
void gpc_cgroupfs_deinit(struct gpc_cgroupfs *c);
/* New, freed by the caller; "/" is the root. NULL: the group is gone, lies
 * outside of what we see, or CAP_DAC_READ_SEARCH is missing. */
char *gpc_cgroupfs_path(const struct gpc_cgroupfs *c, uint64_t id);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of /proc/PID/stat that we need, in one read. */
#ifndef GPC_PROC_STAT_H
#define GPC_PROC_STAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gpc_proc_stat {
	char comm[16];
	char state;
	int32_t ppid;
	uint32_t flags;      /* PF_ of the kernel */
	uint64_t start_time; /* clock ticks since boot */
	uint64_t cpu_ticks;  /* user and system */
};
#define GPC_PF_KTHREAD 0x00200000u

/* text: NUL terminated. comm may hold spaces and parentheses. */
bool gpc_proc_stat_parse(const char *text, struct gpc_proc_stat *ret);
/* procfd: an open /proc. False with errno when the process has gone. */
bool gpc_proc_stat_read(int procfd, int32_t pid, struct gpc_proc_stat *ret);

#endif

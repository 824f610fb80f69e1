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
	uint32_t threads;    /* that live; of one that ended and waits for its parent 1 or 0 */
};
#define GPC_PF_KTHREAD 0x00200000u

/* Has it ended? A main thread that ended alone, as by pthread_exit, is a zombie too: its
 * process goes on. */
bool gpc_proc_stat_is_over(const struct gpc_proc_stat *st);

/* text: NUL terminated. comm may hold spaces and parentheses. */
bool gpc_proc_stat_parse(const char *text, struct gpc_proc_stat *ret);
/* procfd: an open /proc. False with errno when the process has gone. */
bool gpc_proc_stat_read(int procfd, int32_t pid, struct gpc_proc_stat *ret);

/* A thread of pid that is not its main one, from its folder task; 0: none. */
int32_t gpc_proc_other_thread(int dirfd, const char *task, int32_t pid);

#endif

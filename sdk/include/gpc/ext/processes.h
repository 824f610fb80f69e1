/* SPDX-License-Identifier: Apache-2.0 */
/* gpc.processes/1: the core's process table.
 *
 * A part of gpc/plugin.h, which includes it: the rules on growth, threads, memory and
 * text stand there. */
#ifndef GPC_EXT_PROCESSES_H
#define GPC_EXT_PROCESSES_H

#include <gpc/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
	GPC_PROC_EXEC = 1u << 0,
	GPC_PROC_MMAP = 1u << 1,
	GPC_PROC_FORK = 1u << 2,
	GPC_PROC_EXIT = 1u << 3
};
struct gpc_process_event {
	uint32_t struct_size;
	uint32_t kind; /* one of GPC_PROC_ */
	uint64_t time_ns;
	int32_t pid;
	int32_t ppid;        /* FORK: the parent */
	const char *path;    /* MMAP: the file as the process sees it; EXEC: comm; else "" */
	uint64_t start, end; /* MMAP: addresses */
};
struct gpc_processes_api {
	uint32_t struct_size, reserved;
	/* [control,worker] Calls fn for every process of the machine, idle ones
	 * too (kernel threads excepted), until it returns non-zero, which each()
	 * returns. The target is borrowed until fn returns. */
	int32_t (*each)(const struct gpc_host *h,
			int32_t (*fn)(void *arg, const struct gpc_target *t), void *arg);
	/* [control] fn is called [worker] of this collector; kinds is a set of
	 * GPC_PROC_; 0 ends it. One subscription per collector. */
	gpc_status (*subscribe)(const struct gpc_host *h, uint32_t kinds,
				void (*fn)(void *self, const struct gpc_process_event *ev));
	/* [control,worker] Attaches to a process found in the collector's own way:
	 * no match table, no claim. attach() is called soon, never from here. */
	gpc_status (*attach)(const struct gpc_host *h, int32_t pid);
};

#ifdef __cplusplus
}
#endif
#endif /* GPC_EXT_PROCESSES_H */

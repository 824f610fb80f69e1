/* SPDX-License-Identifier: Apache-2.0 */
/* Which thread a CPU has just executed, told without perf: the kernel notes when it last
 * began to count a thread's time (se.exec_start in /proc/PID/task/TID/sched). A thread that
 * another one interrupts is counted up to the moment at which the other begins, so both have
 * the same note; one that has been waiting has an older one. Linux 2.6.23 and later with
 * CONFIG_SCHED_DEBUG, which distributions set; always from 6.15 on. */
#ifndef GPC_PROC_RUNNING_H
#define GPC_PROC_RUNNING_H

#include <stdbool.h>
#include <stdint.h>

struct gpc_thread_place {
	char state;   /* as in /proc/PID/stat; R: runs, or waits for a CPU */
	uint32_t cpu; /* where it runs, or ran last */
};

/* text: NUL terminated; of /proc/PID/task/TID/stat. */
bool gpc_thread_place_parse(const char *text, struct gpc_thread_place *ret);
/* procfd: an open /proc. False: the thread has gone. */
bool gpc_thread_place_read(int procfd, int32_t pid, int32_t tid, struct gpc_thread_place *ret);

/* *ret in nanoseconds of the scheduler's clock of its CPU. */
bool gpc_exec_start_parse(const char *text, uint64_t *ret);
bool gpc_exec_start_read(int procfd, int32_t pid, int32_t tid, uint64_t *ret);
/* The same again and again, of a descriptor that stays open (below 0: there is none). */
int gpc_exec_start_open(int procfd, int32_t pid, int32_t tid);
bool gpc_exec_start_again(int fd, uint64_t *ret);

/* CPU time of one thread; false: it has gone, or the kernel does not say. */
bool gpc_thread_cpu_ns(int procfd, int32_t pid, int32_t tid, uint64_t *ret);
/* CPU time of a process and all its threads; 0: it has gone. Cheap: no file is opened. */
uint64_t gpc_process_cpu_ns(int32_t pid);

#endif

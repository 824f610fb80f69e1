/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of the core: named, with all signals blocked (they belong to the
 * program around us) and a small stack. */
#ifndef GPC_BASE_THREAD_H
#define GPC_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/err.h"

gpc_status gpc_thread_start(pthread_t *ret, const char *name, void *(*fn)(void *), void *arg,
			    struct gpc_err *err);

/* Runs fn on a stack of so many bytes, of which only those in use cost memory, and
 * waits for its end. False: no memory for it. */
bool gpc_thread_run(const char *name, size_t stack, void *(*fn)(void *), void *arg);

/* The calling thread: above all ordinary threads, below everything real-time; children do
 * not inherit it. False: not allowed (CAP_SYS_NICE). */
bool gpc_thread_realtime(void);
/* The calling thread runs on this CPU from now on. False: it may not. */
bool gpc_thread_pin(uint32_t cpu);

/* The calling thread, until its end: glibc asks the kernel to keep a record of each thread's
 * CPU in its memory (rseq(2)), which costs one that is woken often a cold cache line each
 * time. Whoever asks for the CPU after that calls the kernel. */
void gpc_thread_leave_rseq(void);

/* For what real-time readers lock too: its holder runs at their priority while they
 * wait, or any busy program could keep them waiting. */
void gpc_mutex_init_inherit(pthread_mutex_t *m);
/* The same; to lock what one holds already is EDEADLK. */
void gpc_mutex_init_checked(pthread_mutex_t *m);

/* A condition whose timed waits take CLOCK_MONOTONIC. */
void gpc_cond_init(pthread_cond_t *cond);

static inline struct timespec gpc_timespec(uint64_t ns)
{
	return (struct timespec){.tv_sec = (time_t)(ns / 1000000000),
				 .tv_nsec = (long)(ns % 1000000000)};
}

#endif

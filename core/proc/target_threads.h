/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of a target as its C library knows them: the thread pointer of a
 * thread (perf's registers lack it), the thread of a pthread_t, and the address
 * of thread-local variables. Read from outside, without stopping anything.
 *
 * glibc publishes the places of what is needed in its _thread_db_* symbols (for
 * libthread_db; glibc/nptl_db/structs.def), so nothing of it is assumed. musl
 * has no such thing: the layout of struct pthread of 1.1.16 to 1.2.5 is used
 * (musl/src/internal/pthread_impl.h) and checked by its self pointer.
 *
 * Open once per target (opens files: a worker), ask often (reads memory only). */
#ifndef GPC_PROC_TARGET_THREADS_H
#define GPC_PROC_TARGET_THREADS_H

#include <stdint.h>

#include "base/err.h"
#include "proc/mem.h"

struct gpc_target_threads;

/* GPC_E_UNSUPPORTED: neither glibc nor musl is mapped. The target is borrowed. */
gpc_status gpc_target_threads_open(const struct gpc_target *t, struct gpc_mem *mem,
				   struct gpc_target_threads **ret, struct gpc_err *err);
/* Of a child that was copied from the process of parent: nothing is read. */
gpc_status gpc_target_threads_fork(const struct gpc_target_threads *parent,
				   const struct gpc_target *t, struct gpc_target_threads **ret,
				   struct gpc_err *err);
void gpc_target_threads_free(struct gpc_target_threads *th); /* NULL is fine */

/* ns_tid: in the target's own pid namespace, as its C library sees it. */
gpc_status gpc_target_threads_pointer(struct gpc_target_threads *th, int32_t ns_tid, uint64_t *ret,
				      struct gpc_err *err);
gpc_status gpc_target_threads_tid(struct gpc_target_threads *th, uint64_t pthread, int32_t *ret,
				  struct gpc_err *err);

/* A thread-local variable: first where it is in its module (once), then where
 * that is in a thread. GPC_E_GONE from the latter: the thread has not used the
 * module's block yet. */
gpc_status gpc_target_threads_variable(struct gpc_target_threads *th, const char *glob,
				       const char *symbol, struct gpc_tls_variable *ret,
				       struct gpc_err *err);
gpc_status gpc_target_threads_address(struct gpc_target_threads *th,
				      const struct gpc_tls_variable *var, uint64_t thread_pointer,
				      uint64_t *ret, struct gpc_err *err);

#endif

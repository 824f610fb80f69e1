/* SPDX-License-Identifier: Apache-2.0 */
#include "base/thread.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#if __has_include(<sys/rseq.h>) && !defined(__clang__)
#define HAS_RSEQ /* clang has no __builtin_thread_pointer on x86-64 */
#include <sys/rseq.h>
#endif

#define STACK_BYTES (512 * 1024)

static int start(pthread_t *ret, size_t stack, void *(*fn)(void *), void *arg)
{
	pthread_attr_t attr;
	sigset_t all, old;
	int failed;

	sigfillset(&all);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, stack);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	failed = pthread_create(ret, &attr, fn, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return failed;
}

gpc_status gpc_thread_start(pthread_t *ret, const char *name, void *(*fn)(void *), void *arg,
			    struct gpc_err *err)
{
	int failed = start(ret, STACK_BYTES, fn, arg);

	if (failed) {
		errno = failed;
		return gpc_err_sys(err, "start thread %s", name);
	}
	pthread_setname_np(*ret, name);
	return GPC_OK;
}

bool gpc_thread_run(const char *name, size_t stack, void *(*fn)(void *), void *arg)
{
	pthread_t thread;

	if (start(&thread, stack, fn, arg) != 0)
		return false;
	pthread_setname_np(thread, name);
	pthread_join(thread, NULL);
	return true;
}

bool gpc_thread_realtime(void)
{
	struct sched_param fifo = {.sched_priority = 1};

	return sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &fifo) == 0;
}

#ifdef HAS_RSEQ
void gpc_thread_leave_rseq(void)
{
	struct rseq *area = (void *)((char *)__builtin_thread_pointer() + __rseq_offset);

	/* glibc 2.35 to 2.39 registers the struct's own size, later ones what the kernel
	 * has; of a size that it does not know the kernel does nothing. */
	if (__rseq_size)
		(void)syscall(SYS_rseq, area, sizeof *area, RSEQ_FLAG_UNREGISTER, RSEQ_SIG);
}
#else
void gpc_thread_leave_rseq(void)
{
}
#endif

bool gpc_thread_pin(uint32_t cpu)
{
	cpu_set_t *set = CPU_ALLOC(cpu + 1);
	size_t size = CPU_ALLOC_SIZE(cpu + 1);
	bool is_pinned;

	if (!set)
		return false;
	CPU_ZERO_S(size, set);
	CPU_SET_S(cpu, size, set);
	is_pinned = sched_setaffinity(0, size, set) == 0;
	CPU_FREE(set);
	return is_pinned;
}

static void init_inherit(pthread_mutex_t *m, int type)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, type);
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	/* A kernel without it (CONFIG_FUTEX_PI) says so here. */
	if (pthread_mutex_init(m, &attr) != 0) {
		pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_NONE);
		pthread_mutex_init(m, &attr);
	}
	pthread_mutexattr_destroy(&attr);
}

void gpc_mutex_init_inherit(pthread_mutex_t *m)
{
	init_inherit(m, PTHREAD_MUTEX_DEFAULT);
}

void gpc_mutex_init_checked(pthread_mutex_t *m)
{
	init_inherit(m, PTHREAD_MUTEX_ERRORCHECK);
}

void gpc_cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &attr);
	pthread_condattr_destroy(&attr);
}

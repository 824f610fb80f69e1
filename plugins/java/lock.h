/* SPDX-License-Identifier: Apache-2.0 */
/* Locks that real-time readers take: who holds one runs as urgently as who waits for it,
 * else any busy thread between the two would keep the reader, and with it the target,
 * waiting. */
#ifndef GPC_JAVA_LOCK_H
#define GPC_JAVA_LOCK_H

#include <pthread.h>

static inline void gpc_java_lock_init(pthread_mutex_t *lock)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	/* A kernel without it (CONFIG_FUTEX_PI) says so here. */
	if (pthread_mutex_init(lock, &attr) != 0)
		pthread_mutex_init(lock, NULL);
	pthread_mutexattr_destroy(&attr);
}

#endif

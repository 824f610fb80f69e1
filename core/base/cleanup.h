/* SPDX-License-Identifier: Apache-2.0 */
/* Scope guards: what a function acquires is given back when the scope ends.
 * Ownership leaves a guarded variable with take(). */
#ifndef GPC_BASE_CLEANUP_H
#define GPC_BASE_CLEANUP_H

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void gpc_cleanup_free(void *p)
{
	free(*(void **)p);
}

static inline void gpc_cleanup_close(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void gpc_cleanup_file(FILE **f)
{
	if (*f)
		fclose(*f);
}

static inline void gpc_cleanup_dir(DIR **d)
{
	if (*d)
		closedir(*d);
}

static inline void gpc_cleanup_unlock(pthread_mutex_t **m)
{
	pthread_mutex_unlock(*m);
}

static inline pthread_mutex_t *gpc_locked(pthread_mutex_t *m)
{
	pthread_mutex_lock(m);
	return m;
}

#define autofree  __attribute__((cleanup(gpc_cleanup_free)))
#define autoclose __attribute__((cleanup(gpc_cleanup_close)))
#define autofile  __attribute__((cleanup(gpc_cleanup_file)))
#define autodir   __attribute__((cleanup(gpc_cleanup_dir)))

/* Runs fn(&variable) at the end of the scope. */
#define autocall(fn) __attribute__((cleanup(fn)))

/* Holds m until the end of the scope. */
#define autolock(m)                                                                            \
	__attribute__((cleanup(gpc_cleanup_unlock), unused)) pthread_mutex_t *gpc_lock_held_ = \
		gpc_locked(m)

/* The pointer leaves the guarded variable, which becomes NULL. */
#define take(p)                             \
	({                                  \
		__typeof__(p) taken_ = (p); \
		(p) = NULL;                 \
		taken_;                     \
	})

/* The same for a descriptor, which becomes -1. */
static inline int take_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

#endif

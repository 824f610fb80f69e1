/* SPDX-License-Identifier: Apache-2.0 */
/* A lock with priority inheritance for what readers take at each sample: whoever holds it runs
 * at the priority of those who wait, as with gpc_mutex_init_inherit. Free, it is taken and
 * given back without a call: a reader finds all that it did not touch a moment ago cold, the C
 * library's locks too (docs/decisions.md).
 *
 * The word is the kernel's (futex(2), FUTEX_LOCK_PI): 0, or the holder's thread number, with
 * FUTEX_WAITERS while somebody waits. Zeroed memory is a free lock; there is nothing to
 * destroy. To lock what one holds already ends the program. */
#ifndef GPC_BASE_LOCK_H
#define GPC_BASE_LOCK_H

#include <stdbool.h>
#include <stdint.h>

struct gpc_lock {
	uint32_t holder;
};

/* The calling thread's number; 0 before it has locked anything. A child of fork() that goes
 * on without exec() must not lock. */
extern __thread uint32_t gpc_lock_self __attribute__((tls_model("initial-exec")));

void gpc_lock_take_slowly(struct gpc_lock *l);
void gpc_lock_give_slowly(struct gpc_lock *l);

static inline void gpc_lock_take(struct gpc_lock *l)
{
	uint32_t nobody = 0, self = gpc_lock_self;

	if (!self || !__atomic_compare_exchange_n(&l->holder, &nobody, self, false,
						  __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		gpc_lock_take_slowly(l);
}

static inline void gpc_lock_give(struct gpc_lock *l)
{
	uint32_t self = gpc_lock_self;

	if (!__atomic_compare_exchange_n(&l->holder, &self, 0, false, __ATOMIC_RELEASE,
					 __ATOMIC_RELAXED))
		gpc_lock_give_slowly(l);
}

static inline struct gpc_lock *gpc_lock_taken(struct gpc_lock *l)
{
	gpc_lock_take(l);
	return l;
}

static inline void gpc_cleanup_give(struct gpc_lock **l)
{
	gpc_lock_give(*l);
}

/* Holds l until the end of the scope. */
#define autohold(l)                                                                     \
	__attribute__((cleanup(gpc_cleanup_give), unused)) struct gpc_lock *gpc_held_ = \
		gpc_lock_taken(l)

#endif

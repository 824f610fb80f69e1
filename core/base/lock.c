/* SPDX-License-Identifier: Apache-2.0 */
#include "base/lock.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAUSE_US 50

__thread uint32_t gpc_lock_self __attribute__((tls_model("initial-exec")));

static bool try(struct gpc_lock *l)
{
	uint32_t nobody = 0;

	return __atomic_compare_exchange_n(&l->holder, &nobody, gpc_lock_self, false,
					   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static long call(struct gpc_lock *l, int operation)
{
	return syscall(SYS_futex, &l->holder, operation | FUTEX_PRIVATE_FLAG, 0, NULL, NULL, 0);
}

static void end_program(const char *why)
{
	fprintf(stderr, "gprofiler-core: a lock %s: this is a mistake of ours, please report it\n",
		why);
	abort();
}

/* EAGAIN: its holder is about to end, which no thread does that holds one of ours. ENOSYS: a
 * kernel without CONFIG_FUTEX_PI, where nobody inherits anything. */
void gpc_lock_take_slowly(struct gpc_lock *l)
{
	if (!gpc_lock_self)
		gpc_lock_self = (uint32_t)syscall(SYS_gettid);
	while (!try(l)) {
		if (call(l, FUTEX_LOCK_PI) == 0) {
			/* The kernel wrote our number: see what its last holder did. */
			(void)__atomic_load_n(&l->holder, __ATOMIC_ACQUIRE);
			return;
		}
		if (errno == EDEADLK)
			end_program("is taken twice by one thread");
		if (errno != EINTR)
			usleep(PAUSE_US);
	}
}

void gpc_lock_give_slowly(struct gpc_lock *l)
{
	/* Somebody waits: the kernel hands it on. */
	(void)__atomic_fetch_or(&l->holder, 0, __ATOMIC_RELEASE);
	if (call(l, FUTEX_UNLOCK_PI) == 0)
		return;
	if (errno == EPERM)
		end_program("is given back by a thread that does not hold it");
	/* Without help of the kernel nobody waits in it. */
	__atomic_store_n(&l->holder, 0, __ATOMIC_RELEASE);
}

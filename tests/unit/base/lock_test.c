/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/io.h"
#include "base/lock.h"

#define THREADS 4
#define TURNS   20000

static struct gpc_lock lock;
static uint64_t counted;

/* Not atomic: the lock is all that keeps it right. */
static void *count(void *arg)
{
	(void)arg;
	for (int i = 0; i < TURNS; i++) {
		autohold(&lock);
		uint64_t before = counted;

		if (i % 100 == 0)
			sched_yield(); /* others wait in the kernel, too */
		counted = before + 1;
	}
	return NULL;
}

static void test_one_at_a_time(void **state)
{
	pthread_t threads[THREADS];

	(void)state;
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, count, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(counted, THREADS * TURNS);
	assert_int_equal(lock.holder, 0);
}

static void test_the_word_is_the_holder(void **state)
{
	(void)state;
	gpc_lock_take(&lock);
	assert_int_equal(lock.holder, syscall(SYS_gettid));
	gpc_lock_give(&lock);
	assert_int_equal(lock.holder, 0);
}

/* ---- mistakes ------------------------------------------------------------------ */

static void take_twice(void)
{
	gpc_lock_take(&lock);
	gpc_lock_take(&lock);
}

static void give_anothers(void)
{
	lock.holder = 1; /* init's */
	gpc_lock_give(&lock);
}

static void expect_end(void (*fn)(void))
{
	int status = 0;
	pid_t child = fork();

	if (!child) {
		gpc_lock_self = 0; /* another thread than the one that has forked */
		setrlimit(RLIMIT_CORE, &(struct rlimit){0});
		close(STDERR_FILENO);
		alarm(10); /* where the kernel knows nothing of holders */
		fn();
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

static void test_mistakes_end_the_program(void **state)
{
	(void)state;
	expect_end(take_twice);
	expect_end(give_anothers);
}

/* ---- priority --------------------------------------------------------------------- */

/* proc_pid_stat(5), field 18: -2 for real-time priority 1. */
static long priority_of(long tid)
{
	char path[64], text[512], *at;

	snprintf(path, sizeof path, "/proc/self/task/%ld/stat", tid);
	if (gpc_read_small(AT_FDCWD, path, text, sizeof text) <= 0)
		return 0;
	at = strrchr(text, ')');
	for (int field = 2; at && field < 18; field++)
		at = strchr(at + 1, ' ');
	return at ? strtol(at, NULL, 10) : 0;
}

enum wanting { WANTING_SOON, WANTING_REALTIME, WANTING_REFUSED };

static void *want(void *arg)
{
	struct sched_param fifo = {.sched_priority = 1};
	bool is_realtime = sched_setscheduler(0, SCHED_FIFO, &fifo) == 0;

	__atomic_store_n((enum wanting *)arg, is_realtime ? WANTING_REALTIME : WANTING_REFUSED,
			 __ATOMIC_RELEASE);
	gpc_lock_take(&lock);
	gpc_lock_give(&lock);
	return NULL;
}

static void test_who_holds_it_runs_as_who_waits(void **state)
{
	long self = syscall(SYS_gettid), before = priority_of(self), now = before;
	enum wanting wanting = WANTING_SOON;
	pthread_t thread;

	(void)state;
	gpc_lock_take(&lock);
	pthread_create(&thread, NULL, want, &wanting);
	for (int i = 0; i < 5000 && now == before; i++) {
		usleep(1000);
		now = priority_of(self);
		if (__atomic_load_n(&wanting, __ATOMIC_ACQUIRE) == WANTING_REFUSED)
			break;
	}
	gpc_lock_give(&lock);
	pthread_join(thread, NULL);
	assert_int_equal(lock.holder, 0);
	if (wanting == WANTING_REFUSED)
		skip(); /* it takes CAP_SYS_NICE */
	assert_int_equal(now, -2);
	assert_int_equal(priority_of(self), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_at_a_time),
		cmocka_unit_test(test_the_word_is_the_holder),
		cmocka_unit_test(test_mistakes_end_the_program),
		cmocka_unit_test(test_who_holds_it_runs_as_who_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/thread.h"

struct seen {
	char name[16];
	bool is_blocked; /* all signals that can be */
	size_t stack;
	int argument;
};

static void *look(void *arg)
{
	struct seen *s = arg;
	pthread_attr_t attr;
	sigset_t mask;

	prctl(PR_GET_NAME, s->name);
	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	s->is_blocked = true;
	for (int sig = 1; sig < 32; sig++)
		if (sig != SIGKILL && sig != SIGSTOP && !sigismember(&mask, sig))
			s->is_blocked = false;
	pthread_getattr_np(pthread_self(), &attr);
	pthread_attr_getstacksize(&attr, &s->stack);
	pthread_attr_destroy(&attr);
	s->argument++;
	return s;
}

static void test_thread_of_the_core(void **state)
{
	struct seen s = {.argument = 41};
	sigset_t before, after;
	pthread_t thread;
	void *returned = NULL;

	(void)state;
	pthread_sigmask(SIG_SETMASK, NULL, &before);
	assert_int_equal(gpc_thread_start(&thread, "gpc-test", look, &s, NULL), GPC_OK);
	pthread_join(thread, &returned);
	pthread_sigmask(SIG_SETMASK, NULL, &after);
	assert_ptr_equal(returned, &s);
	assert_int_equal(s.argument, 42);
	assert_true(s.is_blocked);
	assert_true(s.stack <= 1 << 20);
	/* The caller's signals are the caller's. */
	for (int sig = 1; sig < 32; sig++)
		assert_int_equal(sigismember(&before, sig), sigismember(&after, sig));
}

static void test_condition_waits_by_the_monotonic_clock(void **state)
{
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t cond;
	uint64_t begin = gpc_now_ns(), took;
	struct timespec until = gpc_timespec(begin + 50 * GPC_MS_NS);

	(void)state;
	gpc_cond_init(&cond);
	pthread_mutex_lock(&lock);
	assert_int_equal(pthread_cond_timedwait(&cond, &lock, &until), ETIMEDOUT);
	pthread_mutex_unlock(&lock);
	took = gpc_now_ns() - begin;
	assert_true(took >= 50 * GPC_MS_NS && took < 5 * GPC_SECOND_NS);
	pthread_cond_destroy(&cond);
}

static void test_timespec(void **state)
{
	struct timespec ts = gpc_timespec(3 * GPC_SECOND_NS + 999999999);

	(void)state;
	assert_int_equal(ts.tv_sec, 3);
	assert_int_equal(ts.tv_nsec, 999999999);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_thread_of_the_core),
		cmocka_unit_test(test_condition_waits_by_the_monotonic_clock),
		cmocka_unit_test(test_timespec),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

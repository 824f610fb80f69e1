/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/log.h"

#define THREADS   4
#define PER_SPELL 2000

struct seen {
	pthread_mutex_t lock;
	unsigned lines;
	struct gpc_log_line last;
	char text[1100];
};

static void see(void *ctx, const struct gpc_log_line *line)
{
	struct seen *s = ctx;

	pthread_mutex_lock(&s->lock);
	s->lines++;
	s->last = *line;
	snprintf(s->text, sizeof s->text, "%s", line->message);
	pthread_mutex_unlock(&s->lock);
}

static void test_line_arrives_whole(void **state)
{
	struct seen s = {.lock = PTHREAD_MUTEX_INITIALIZER};
	struct gpc_log log;

	(void)state;
	gpc_log_init(&log, GPC_INFO, see, &s);
	gpc_log_at(&log, GPC_WARN, "perf", 42, "lost %d samples", 7);
	assert_int_equal(s.lines, 1);
	assert_int_equal(s.last.level, GPC_WARN);
	assert_int_equal(s.last.pid, 42);
	assert_string_equal(s.last.module, "perf");
	assert_string_equal(s.text, "lost 7 samples");
	gpc_log_deinit(&log);
}

static void test_level(void **state)
{
	struct seen s = {.lock = PTHREAD_MUTEX_INITIALIZER};
	struct gpc_log log;
	int evaluated = 0;

	(void)state;
	gpc_log_init(&log, GPC_INFO, see, &s);
	gpc_debug(&log, "core", "not formatted, %d", ++evaluated);
	assert_int_equal(evaluated, 0);
	gpc_logf(&log, GPC_TRACE, "core", 0, "nor this");
	assert_int_equal(s.lines, 0);
	gpc_error((struct gpc_log *)NULL, "core", "no log, no crash");
	gpc_logf(NULL, GPC_ERROR, "core", 0, "likewise");
	gpc_log_deinit(&log);
}

/* Lets the quiet time of every remembered message be over. */
static void ten_seconds_later(struct gpc_log *log)
{
	for (size_t i = 0; i < GPC_LOG_RECENT; i++)
		log->recent[i].until_ns = 0;
}

static void test_repeats_are_dropped_and_counted(void **state)
{
	struct seen s = {.lock = PTHREAD_MUTEX_INITIALIZER};
	struct gpc_log log;

	(void)state;
	gpc_log_init(&log, GPC_DEBUG, see, &s);
	for (int i = 0; i < 5; i++)
		gpc_warn(&log, "core", "disk full");
	assert_int_equal(s.lines, 1);
	ten_seconds_later(&log);
	gpc_warn(&log, "core", "disk full");
	assert_int_equal(s.lines, 2);
	assert_string_equal(s.text, "disk full (and 4 times before)");
	gpc_warn(&log, "core", "disk full");
	assert_int_equal(s.lines, 2);
	gpc_warn(&log, "core", "disk %s", "fuller");
	assert_int_equal(s.lines, 3);
	gpc_log_deinit(&log);
}

static void test_quiet_time_is_ten_seconds(void **state)
{
	struct seen s = {.lock = PTHREAD_MUTEX_INITIALIZER};
	uint64_t until = 0, now = gpc_now_ns();
	struct gpc_log log;

	(void)state;
	gpc_log_init(&log, GPC_INFO, see, &s);
	gpc_warn(&log, "core", "once");
	for (size_t i = 0; i < GPC_LOG_RECENT; i++)
		if (log.recent[i].until_ns > until)
			until = log.recent[i].until_ns;
	assert_in_range(until - now, 10 * GPC_SECOND_NS, 11 * GPC_SECOND_NS);
	gpc_log_deinit(&log);
}

static void test_debug_is_never_dropped(void **state)
{
	struct seen s = {.lock = PTHREAD_MUTEX_INITIALIZER};
	struct gpc_log log;

	(void)state;
	gpc_log_init(&log, GPC_DEBUG, see, &s);
	for (int i = 0; i < 5; i++)
		gpc_debug(&log, "core", "tick");
	assert_int_equal(s.lines, 5);
	gpc_log_deinit(&log);
}

static void test_long_message_is_cut(void **state)
{
	struct seen s = {.lock = PTHREAD_MUTEX_INITIALIZER};
	char longer[3000];
	struct gpc_log log;

	(void)state;
	memset(longer, 'y', sizeof longer - 1);
	longer[sizeof longer - 1] = '\0';
	gpc_log_init(&log, GPC_INFO, see, &s);
	gpc_info(&log, "core", "%s", longer);
	assert_int_equal(strlen(s.text), 1023);
	gpc_info(&log, "core", "%s", longer);
	ten_seconds_later(&log);
	gpc_info(&log, "core", "%s", longer);
	assert_int_equal(strlen(s.text), 1023);
	gpc_log_deinit(&log);
}

static void *talk(void *arg)
{
	struct gpc_log *log = arg;

	for (int i = 0; i < PER_SPELL; i++) {
		gpc_debug(log, "core", "line");
		gpc_info(log, "core", "the same");
	}
	return NULL;
}

static void test_threads(void **state)
{
	struct seen s = {.lock = PTHREAD_MUTEX_INITIALIZER};
	pthread_t t[THREADS];
	struct gpc_log log;

	(void)state;
	gpc_log_init(&log, GPC_DEBUG, see, &s);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&t[i], NULL, talk, &log), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	assert_int_equal(s.lines, THREADS * PER_SPELL + 1);
	gpc_log_deinit(&log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_line_arrives_whole),
		cmocka_unit_test(test_level),
		cmocka_unit_test(test_repeats_are_dropped_and_counted),
		cmocka_unit_test(test_quiet_time_is_ten_seconds),
		cmocka_unit_test(test_debug_is_never_dropped),
		cmocka_unit_test(test_long_message_is_cut),
		cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/patient.h"

#define MS UINT64_C(1000000)

/* What a call reads from: it returns when a byte is written, or at its end. */
static int gate[2];
static unsigned dropped, hanging, returned;
static unsigned at_first; /* threads: a sanitizer may have one of its own */

static void wait_at_gate(void *arg)
{
	char c;

	(void)arg;
	__atomic_add_fetch(&hanging, 1, __ATOMIC_SEQ_CST);
	(void)!read(gate[0], &c, 1);
	__atomic_add_fetch(&returned, 1, __ATOMIC_SEQ_CST);
}

static void drop(void *arg)
{
	(void)arg;
	__atomic_add_fetch(&dropped, 1, __ATOMIC_SEQ_CST);
}

static void add_one(void *arg)
{
	++*(int *)arg;
}

static const struct gpc_patient_call hang = {wait_at_gate, drop, NULL};

static void wait_for(const unsigned *count, unsigned n)
{
	uint64_t until = gpc_now_ns() + 5000 * MS;

	while (__atomic_load_n(count, __ATOMIC_SEQ_CST) < n && gpc_now_ns() < until)
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	assert_int_equal(__atomic_load_n(count, __ATOMIC_SEQ_CST), n);
}

static unsigned threads(void)
{
	DIR *dir = opendir("/proc/self/task");
	unsigned n = 0;

	assert_non_null(dir);
	for (const struct dirent *e; (e = readdir(dir));)
		n += e->d_name[0] != '.';
	closedir(dir);
	return n;
}

/* What was left behind has ended, and freed what was its own. */
static void wait_for_the_end(void)
{
	uint64_t until = gpc_now_ns() + 5000 * MS;

	while (threads() != at_first && gpc_now_ns() < until)
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	assert_int_equal(threads(), at_first);
}

static int set_up(void **state)
{
	struct gpc_patient *p;

	__atomic_store_n(&dropped, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&hanging, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&returned, 0, __ATOMIC_SEQ_CST);
	assert_int_equal(pipe(gate), 0);
	assert_int_equal(gpc_patient_new("gpc-test", &p, NULL), GPC_OK);
	*state = p;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	close(gate[0]);
	close(gate[1]);
	return 0;
}

static void calls_are_made(void **state)
{
	int n = 0;
	struct gpc_patient_call call = {add_one, drop, &n};

	for (int i = 0; i < 1000; i++)
		assert_int_equal(gpc_patient_run(*state, &call, GPC_PATIENT_NS), GPC_OK);
	assert_int_equal(n, 1000);
	assert_int_equal(__atomic_load_n(&dropped, __ATOMIC_SEQ_CST), 0);
	gpc_patient_free(*state);
}

static void a_call_that_hangs_is_left_behind(void **state)
{
	int n = 0;
	struct gpc_patient_call call = {add_one, drop, &n};

	assert_int_equal(gpc_patient_run(*state, &hang, 20 * MS), GPC_E_TIMEOUT);
	assert_int_equal(gpc_patient_run(*state, &call, GPC_PATIENT_NS), GPC_OK);
	assert_int_equal(n, 1);
	assert_int_equal(__atomic_load_n(&dropped, __ATOMIC_SEQ_CST), 0);
	gpc_patient_free(*state);
	assert_int_equal(write(gate[1], "x", 1), 1);
	wait_for(&dropped, 1);
	wait_for_the_end();
}

static void not_more_than_a_few_hang(void **state)
{
	int n = 0;
	struct gpc_patient_call call = {add_one, drop, &n};
	uint64_t until = gpc_now_ns() + 20000 * MS;

	/* One that was not begun in time is none that hangs. */
	while (__atomic_load_n(&hanging, __ATOMIC_SEQ_CST) < 8 && gpc_now_ns() < until)
		assert_int_equal(gpc_patient_run(*state, &hang, 5 * MS), GPC_E_TIMEOUT);
	assert_int_equal(__atomic_load_n(&hanging, __ATOMIC_SEQ_CST), 8);
	assert_int_equal(gpc_patient_run(*state, &call, 5 * MS), GPC_E_TIMEOUT);
	assert_int_equal(n, 0);
	/* The server is back. */
	assert_int_equal(write(gate[1], "12345678", 8), 8);
	wait_for(&returned, 8);
	wait_for_the_end();
	assert_int_equal(gpc_patient_run(*state, &call, GPC_PATIENT_NS), GPC_OK);
	assert_int_equal(n, 1);
	gpc_patient_free(*state);
	wait_for_the_end();
}

static void files_are_read(void **state)
{
	struct gpc_err err = {0};
	char *text = NULL;
	size_t n = 0;

	assert_int_equal(gpc_patient_read(*state, -100, "/proc/self/comm", 100, &text, &n, &err),
			 GPC_OK);
	assert_true(n > 1 && text[n - 1] == '\n');
	free(text);
	assert_int_equal(gpc_patient_read(*state, -100, "/proc/self/none", 100, &text, &n, &err),
			 GPC_E_GONE);
	assert_null(text);
	assert_non_null(strstr(err.text, "/proc/self/none"));
	gpc_patient_free(*state);
}

/* A sanitizer's own thread begins with the first one. */
static void start_threads(void)
{
	struct gpc_patient *p = NULL;
	int n = 0;

	if (gpc_patient_new("gpc-test", &p, NULL) == GPC_OK)
		(void)gpc_patient_run(p, &(struct gpc_patient_call){add_one, drop, &n},
				      GPC_PATIENT_NS);
	gpc_patient_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(calls_are_made, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_call_that_hangs_is_left_behind, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(not_more_than_a_few_hang, set_up, tear_down),
		cmocka_unit_test_setup_teardown(files_are_read, set_up, tear_down),
	};

	start_threads();
	at_first = threads();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

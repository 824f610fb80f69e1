/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/thread.h"
#include "proc/running.h"

#define STAT                                                                                \
	" R 1 2 3 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 99 100 200 18446744073709551615 1 " \
	"2 3 4 5 6 7 8 9 0 0 0 17 "

static void test_place(void **state)
{
	struct gpc_thread_place p;

	(void)state;
	assert_true(gpc_thread_place_parse("7 (a) b)" STAT "13 0 0 0\n", &p));
	assert_int_equal(p.state, 'R');
	assert_int_equal(p.cpu, 13);
	assert_false(gpc_thread_place_parse("7 (a" STAT "13 0 0 0\n", &p));
	assert_false(gpc_thread_place_parse("7 (a) R 1 2 3", &p));
	assert_false(gpc_thread_place_parse("7 (a)" STAT "-1 0 0 0\n", &p));
	assert_false(gpc_thread_place_parse("7 (a)" STAT "99999999999 0\n", &p));
	assert_false(gpc_thread_place_parse("7 (a)", &p));
	assert_false(gpc_thread_place_parse("", &p));
}

#define HEAD " (12, #threads: 3)\n-------------------\n"
#define NOTE "se.exec_start                                :      23771385.489360\n"

static void test_note(void **state)
{
	uint64_t ns = 0;

	(void)state;
	assert_true(gpc_exec_start_parse("cat" HEAD NOTE "se.vruntime : 1.0\n", &ns));
	assert_int_equal(ns, UINT64_C(23771385489360));
	/* Names of threads are foreign. */
	assert_true(gpc_exec_start_parse("\nse.exec_start " HEAD NOTE, &ns));
	assert_int_equal(ns, UINT64_C(23771385489360));
	assert_false(gpc_exec_start_parse("cat" HEAD "se.vruntime : 1.0\n", &ns));
	assert_false(gpc_exec_start_parse("cat" HEAD "se.exec_start : x\n", &ns));
	assert_false(gpc_exec_start_parse("cat" HEAD "se.exec_start :", &ns));
	assert_false(gpc_exec_start_parse(NOTE, &ns));
	assert_false(gpc_exec_start_parse("", &ns));
}

/* ---- the kernel ------------------------------------------------------------------------ */

static void spin(void)
{
	for (volatile unsigned i = 0;; i++)
		;
}

static pid_t busy_child(void)
{
	pid_t pid = fork();

	if (!pid)
		spin();
	return pid;
}

/* Two programs share a CPU: of the two the interrupted one has our note, and it is the one
 * that was given the CPU since. */
static void *interrupts(void *arg)
{
	const pid_t *pids = arg;
	int procfd = open("/proc", O_RDONLY | O_DIRECTORY);
	unsigned told = 0, both = 0;

	if (!gpc_thread_realtime() || !gpc_thread_pin(0))
		return (void *)1;
	for (unsigned i = 0; i < 100; i++) {
		uint64_t own, notes[2];
		bool same[2];

		usleep(3000);
		if (!gpc_exec_start_read(procfd, getpid(), (int32_t)syscall(SYS_gettid), &own))
			return (void *)1;
		for (unsigned k = 0; k < 2; k++) {
			if (!gpc_exec_start_read(procfd, pids[k], pids[k], &notes[k]))
				return (void *)2;
			same[k] = notes[k] + 2000 >= own && notes[k] <= own + 2000;
		}
		told += same[0] != same[1];
		both += same[0] && same[1];
	}
	close(procfd);
	/* Other programs may be interrupted, too. */
	return (void *)(uintptr_t)(both ? 3 : told < 20 ? 4 : 0);
}

static void test_who_was_interrupted(void **state)
{
	pid_t pids[2];
	pthread_t thread;
	void *result;

	(void)state;
	for (unsigned k = 0; k < 2; k++) {
		cpu_set_t set;

		CPU_ZERO(&set);
		CPU_SET(0, &set);
		pids[k] = busy_child();
		assert_int_equal(sched_setaffinity(pids[k], sizeof set, &set), 0);
	}
	assert_int_equal(pthread_create(&thread, NULL, interrupts, pids), 0);
	pthread_join(thread, &result);
	for (unsigned k = 0; k < 2; k++) {
		kill(pids[k], SIGKILL);
		waitpid(pids[k], NULL, 0);
	}
	if (result == (void *)1)
		skip(); /* no real-time priority, or the kernel keeps no notes */
	assert_int_equal((uintptr_t)result, 0);
}

static void test_cpu_time(void **state)
{
	pid_t pid = busy_child();
	int procfd = open("/proc", O_RDONLY | O_DIRECTORY);
	uint64_t process, thread, until = gpc_now_ns() + 10 * GPC_SECOND_NS;
	struct gpc_thread_place place;

	(void)state;
	while (gpc_process_cpu_ns(pid) < 20 * GPC_MS_NS && gpc_now_ns() < until)
		usleep(1000);
	process = gpc_process_cpu_ns(pid);
	assert_true(process >= 20 * GPC_MS_NS);
	assert_true(gpc_thread_place_read(procfd, pid, pid, &place));
	assert_int_equal(place.state, 'R');
	assert_true(gpc_thread_cpu_ns(procfd, pid, pid, &thread));
	assert_true(thread + 10 * GPC_MS_NS >= process);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_int_equal(gpc_process_cpu_ns(pid), 0);
	assert_false(gpc_thread_place_read(procfd, pid, pid, &place));
	assert_false(gpc_thread_cpu_ns(procfd, pid, pid, &thread));
	assert_false(gpc_exec_start_read(procfd, pid, pid, &thread));
	close(procfd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_place),
		cmocka_unit_test(test_note),
		cmocka_unit_test(test_who_was_interrupted),
		cmocka_unit_test(test_cpu_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "program/controller.h"

static pid_t child(const char *name)
{
	int ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_NAME, name);
		if (write(ready[1], "x", 1) == 1)
			pause();
		_exit(0);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static void runs_then_zombie_then_gone(void **state)
{
	pid_t pid = child("a) Z 1 (b"); /* names may hold anything */
	struct gpc_controller c;
	siginfo_t info;

	(void)state;
	assert_int_equal(gpc_controller_init(&c, pid, NULL), GPC_OK);
	assert_false(gpc_controller_is_gone(&c));
	kill(pid, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_true(gpc_controller_is_gone(&c)); /* a zombie */
	assert_int_equal(gpc_controller_init(&c, pid, NULL), GPC_E_GONE);
	waitpid(pid, NULL, 0);
	assert_true(gpc_controller_is_gone(&c));
}

static void another_process_with_the_pid(void **state)
{
	struct gpc_controller c;

	(void)state;
	assert_int_equal(gpc_controller_init(&c, getpid(), NULL), GPC_OK);
	assert_false(gpc_controller_is_gone(&c));
	c.start_time--;
	assert_true(gpc_controller_is_gone(&c));
}

static void none(void **state)
{
	struct gpc_controller c;
	struct gpc_err err;

	(void)state;
	assert_int_equal(gpc_controller_init(&c, 0, NULL), GPC_OK);
	assert_false(gpc_controller_is_gone(&c));
	assert_int_equal(gpc_controller_init(&c, 4194304, &err), GPC_E_GONE);
	assert_string_equal(err.text, "Controller process 4194304 is not running");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs_then_zombie_then_gone),
		cmocka_unit_test(another_process_with_the_pid),
		cmocka_unit_test(none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

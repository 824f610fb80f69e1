/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "program/checks.h"

#define CAP(name) (UINT64_C(1) << CAP_##name)

/* The library is not part of this test. */
__attribute__((weak)) int64_t gpc_core_get_int(struct gpc_core *core, const char *name)
{
	(void)core;
	(void)name;
	return 0;
}

__attribute__((weak)) const char *gpc_core_get(struct gpc_core *core, const char *name)
{
	(void)core;
	(void)name;
	return NULL;
}

__attribute__((weak)) gpc_status gpc_core_set(struct gpc_core *core, const char *name,
					      const char *value, struct gpc_err *err)
{
	(void)core;
	(void)name;
	(void)value;
	(void)err;
	return GPC_OK;
}

static gpc_status check(uint64_t capabilities, bool is_root, bool is_rootless, struct gpc_err *err)
{
	struct gpc_privileges p = {capabilities, is_root, is_rootless, true};

	return gpc_check_privileges(&p, err);
}

static void who_may_run(void **state)
{
	(void)state;
	assert_int_equal(check(CAP(SYS_ADMIN), true, false, NULL), GPC_OK);
	assert_int_equal(check(CAP(SYS_ADMIN), false, false, NULL), GPC_OK);
	assert_int_equal(check(CAP(PERFMON) | CAP(SYS_PTRACE), false, false, NULL), GPC_OK);
	assert_int_equal(check(0, false, true, NULL), GPC_OK);
	/* The root of a container that was given nothing. */
	assert_int_equal(check(0, true, true, NULL), GPC_OK);
	assert_int_equal(check(CAP(SYS_ADMIN), false, true, NULL), GPC_OK);
}

static void who_may_not(void **state)
{
	struct gpc_err err;

	(void)state;
	assert_true(check(0, true, false, &err) < 0);
	assert_string_equal(err.text,
			    "Not running as root, rerun with --rootless or as root. Missing "
			    "capabilities: CAP_PERFMON and CAP_SYS_PTRACE (or CAP_SYS_ADMIN).");
	assert_true(check(CAP(PERFMON), false, false, &err) < 0);
	assert_non_null(strstr(err.text, "capabilities: CAP_SYS_PTRACE (or"));
	assert_true(check(CAP(SYS_PTRACE), false, false, &err) < 0);
	assert_non_null(strstr(err.text, "capabilities: CAP_PERFMON (or"));
	assert_true(check(~UINT64_C(0), true, true, &err) < 0);
	assert_memory_equal(err.text, "Conflict", 8);
}

/* Without perf its capability is not needed, as in a task of Fargate. */
static void without_perf(void **state)
{
	struct gpc_privileges p = {.capabilities = CAP(SYS_PTRACE), .is_root = true};
	struct gpc_err err;

	(void)state;
	assert_int_equal(gpc_check_privileges(&p, NULL), GPC_OK);
	p.is_root = false;
	assert_int_equal(gpc_check_privileges(&p, NULL), GPC_OK);
	p.is_rootless = p.is_root = true;
	assert_int_equal(gpc_check_privileges(&p, NULL), GPC_E_CONFIG);
	p = (struct gpc_privileges){.capabilities = CAP(PERFMON), .is_root = true};
	assert_int_equal(gpc_check_privileges(&p, &err), GPC_E_PERM);
	assert_non_null(strstr(err.text, "capabilities: CAP_SYS_PTRACE (or"));
}

static void fargate_is_known_by_its_variable(void **state)
{
	(void)state;
	unsetenv("AWS_EXECUTION_ENV");
	assert_false(gpc_is_fargate());
	setenv("AWS_EXECUTION_ENV", "AWS_ECS_EC2", 1);
	assert_false(gpc_is_fargate());
	setenv("AWS_EXECUTION_ENV", "AWS_ECS_FARGATE", 1);
	assert_true(gpc_is_fargate());
	unsetenv("AWS_EXECUTION_ENV");
}

static void set_comm(const char *dir, const char *text)
{
	char path[96];
	int fd;

	snprintf(path, sizeof path, "%s/2", dir);
	mkdir(path, 0755);
	strcat(path, "/comm");
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	assert_int_equal(gpc_write_all(fd, text, strlen(text), NULL), GPC_OK);
	close(fd);
}

static void pid_namespace(void **state)
{
	char dir[] = "/tmp/gpc-checks-XXXXXX", command[64];
	struct gpc_err err;

	(void)state;
	assert_non_null(mkdtemp(dir));
	assert_true(gpc_check_pid_ns(dir, &err) < 0);
	assert_string_equal(err.text, "Please run me in the init PID namespace! In Docker, make "
				      "sure you pass '--pid=host'. In Kubernetes, add 'hostPID: "
				      "true' in the Pod spec.\nYou can disable this check with "
				      "--disable-pidns-check.");
	set_comm(dir, "bash\n");
	assert_true(gpc_check_pid_ns(dir, &err) < 0);
	set_comm(dir, "kthreadd2\n");
	assert_true(gpc_check_pid_ns(dir, &err) < 0);
	set_comm(dir, "kthreadd\n");
	assert_int_equal(gpc_check_pid_ns(dir, &err), GPC_OK);
	snprintf(command, sizeof command, "rm -rf %s", dir);
	assert_int_equal(system(command), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_may_run),   cmocka_unit_test(who_may_not),
		cmocka_unit_test(without_perf),  cmocka_unit_test(fargate_is_known_by_its_variable),
		cmocka_unit_test(pid_namespace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

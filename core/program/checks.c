/* SPDX-License-Identifier: Apache-2.0 */
#include "program/checks.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"

static bool has(uint64_t capabilities, int capability)
{
	return capabilities >> capability & 1;
}

static gpc_status not_root(const struct gpc_privileges *p, struct gpc_err *err)
{
	bool needs_perfmon = p->has_perf && !has(p->capabilities, CAP_PERFMON);
	bool needs_ptrace = !has(p->capabilities, CAP_SYS_PTRACE);
	const char *both = needs_perfmon && needs_ptrace ? " and " : "";

	return gpc_err_set(err, GPC_E_PERM,
			   "Not running as root, rerun with --rootless or as root. Missing "
			   "capabilities: %s%s%s (or CAP_SYS_ADMIN).",
			   needs_perfmon ? "CAP_PERFMON" : "", both,
			   needs_ptrace ? "CAP_SYS_PTRACE" : "");
}

/* What counts are capabilities: a service may have them without being root,
 * and the root of a container may lack them. */
gpc_status gpc_check_privileges(const struct gpc_privileges *p, struct gpc_err *err)
{
	bool can_read = has(p->capabilities, CAP_SYS_PTRACE);
	bool can_measure = has(p->capabilities, CAP_PERFMON) || !p->has_perf;
	bool is_enough = has(p->capabilities, CAP_SYS_ADMIN) || (can_read && can_measure);

	if (!p->is_rootless && !is_enough)
		return not_root(p, err);
	if (p->is_rootless && p->is_root && is_enough)
		return gpc_err_set(err, GPC_E_CONFIG,
				   "Conflict: --rootless was given, but this runs as root. Leave "
				   "--rootless out, or run as another user.");
	return GPC_OK;
}

gpc_status gpc_check_pid_ns(const char *proc, struct gpc_err *err)
{
	autofree char *path = NULL;
	char comm[32];

	if (asprintf(&path, "%s/2/comm", proc) < 0)
		return gpc_err_nomem(err);
	if (gpc_read_small(AT_FDCWD, path, comm, sizeof comm) > 0 &&
	    strcmp(comm, "kthreadd\n") == 0)
		return GPC_OK;
	return gpc_err_set(err, GPC_E_UNSUPPORTED,
			   "Please run me in the init PID namespace! In Docker, make sure you pass "
			   "'--pid=host'. In Kubernetes, add 'hostPID: true' in the Pod spec.\n"
			   "You can disable this check with --disable-pidns-check.");
}

static gpc_status check_log_usage(struct gpc_err *err)
{
	if (getenv("GPROFILER_IN_K8S") || getenv("GPROFILER_IN_CONTAINER"))
		return GPC_OK;
	return gpc_err_set(err, GPC_E_CONFIG,
			   "--log-usage is available only in a container or Kubernetes: set "
			   "GPROFILER_IN_CONTAINER=1 or GPROFILER_IN_K8S=1 there.");
}

/* The effective set; none when the kernel does not tell. */
static uint64_t own_capabilities(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};

	if (syscall(SYS_capget, &head, data) < 0)
		return 0;
	return data[0].effective | (uint64_t)data[1].effective << 32;
}

bool gpc_is_fargate(void)
{
	const char *env = getenv("AWS_EXECUTION_ENV");

	return env && strcmp(env, "AWS_ECS_FARGATE") == 0;
}

static bool has_perf(struct gpc_core *core)
{
	const char *mode = gpc_core_get(core, "perf-mode");

	return mode && strcmp(mode, "disabled") != 0 && strcmp(mode, "none") != 0;
}

/* A task of Fargate has neither perf events nor a way to the host's processes. */
static gpc_status adapt_to_fargate(struct gpc_core *core, struct gpc_err *err)
{
	if (has_perf(core))
		gpc_try(gpc_core_set(core, "perf-mode", "disabled", err));
	return gpc_core_set(core, "disable-pidns-check", "true", err);
}

gpc_status gpc_checks_run(struct gpc_core *core, struct gpc_err *err)
{
	struct gpc_privileges p = {.capabilities = own_capabilities(),
				   .is_root = geteuid() == 0,
				   .is_rootless = gpc_core_get_int(core, "rootless")};

	if (gpc_is_fargate())
		gpc_try(adapt_to_fargate(core, err));
	p.has_perf = has_perf(core);
	gpc_try(gpc_check_privileges(&p, err));
	if (gpc_core_get_int(core, "disable-pidns-check"))
		gpc_try(gpc_check_pid_ns("/proc", err));
	if (gpc_core_get_int(core, "log-usage"))
		gpc_try(check_log_usage(err));
	return GPC_OK;
}

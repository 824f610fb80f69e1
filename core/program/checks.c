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

static gpc_status not_root(uint64_t capabilities, struct gpc_err *err)
{
	bool has_perfmon = has(capabilities, CAP_PERFMON);
	bool has_ptrace = has(capabilities, CAP_SYS_PTRACE);
	const char *both = !has_perfmon && !has_ptrace ? " and " : "";

	return gpc_err_set(err, GPC_E_PERM,
			   "Not running as root, rerun with --rootless or as root. Missing "
			   "capabilities: %s%s%s (or CAP_SYS_ADMIN).",
			   has_perfmon ? "" : "CAP_PERFMON", both,
			   has_ptrace ? "" : "CAP_SYS_PTRACE");
}

/* What counts are capabilities: a service may have them without being root,
 * and the root of a container may lack them. */
gpc_status gpc_check_privileges(uint64_t capabilities, bool is_root, bool is_rootless,
				struct gpc_err *err)
{
	bool is_enough = has(capabilities, CAP_SYS_ADMIN) ||
			 (has(capabilities, CAP_PERFMON) && has(capabilities, CAP_SYS_PTRACE));

	if (!is_rootless && !is_enough)
		return not_root(capabilities, err);
	if (is_rootless && is_root && is_enough)
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

gpc_status gpc_checks_run(struct gpc_core *core, struct gpc_err *err)
{
	bool is_rootless = gpc_core_get_int(core, "rootless");

	gpc_try(gpc_check_privileges(own_capabilities(), geteuid() == 0, is_rootless, err));
	if (gpc_core_get_int(core, "disable-pidns-check"))
		gpc_try(gpc_check_pid_ns("/proc", err));
	if (gpc_core_get_int(core, "log-usage"))
		gpc_try(check_log_usage(err));
	return GPC_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/needs.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"

#define STATUS_BYTES 8192

/* Numbered by the kernel; the newest three are spelled out because old headers
 * lack them. */
static const char *const cap_names[] = {
	"CAP_CHOWN",
	"CAP_DAC_OVERRIDE",
	"CAP_DAC_READ_SEARCH",
	"CAP_FOWNER",
	"CAP_FSETID",
	"CAP_KILL",
	"CAP_SETGID",
	"CAP_SETUID",
	"CAP_SETPCAP",
	"CAP_LINUX_IMMUTABLE",
	"CAP_NET_BIND_SERVICE",
	"CAP_NET_BROADCAST",
	"CAP_NET_ADMIN",
	"CAP_NET_RAW",
	"CAP_IPC_LOCK",
	"CAP_IPC_OWNER",
	"CAP_SYS_MODULE",
	"CAP_SYS_RAWIO",
	"CAP_SYS_CHROOT",
	"CAP_SYS_PTRACE",
	"CAP_SYS_PACCT",
	"CAP_SYS_ADMIN",
	"CAP_SYS_BOOT",
	"CAP_SYS_NICE",
	"CAP_SYS_RESOURCE",
	"CAP_SYS_TIME",
	"CAP_SYS_TTY_CONFIG",
	"CAP_MKNOD",
	"CAP_LEASE",
	"CAP_AUDIT_WRITE",
	"CAP_AUDIT_CONTROL",
	"CAP_SETFCAP",
	"CAP_MAC_OVERRIDE",
	"CAP_MAC_ADMIN",
	"CAP_SYSLOG",
	"CAP_WAKE_ALARM",
	"CAP_BLOCK_SUSPEND",
	"CAP_AUDIT_READ",
	"CAP_PERFMON",
	"CAP_BPF",
	"CAP_CHECKPOINT_RESTORE",
};

static int cap_number(const char *name)
{
	for (unsigned i = 0; i < sizeof cap_names / sizeof *cap_names; i++)
		if (strcmp(cap_names[i], name) == 0)
			return (int)i;
	return -1;
}

static bool has_cap(const struct gpc_rights *r, const char *name)
{
	return r->caps >> cap_number(name) & 1;
}

/* Older kernels had these three as parts of CAP_SYS_ADMIN, newer ones still take
 * it for them. */
static bool is_split_from_admin(const char *need)
{
	return strcmp(need, "CAP_PERFMON") == 0 || strcmp(need, "CAP_BPF") == 0 ||
	       strcmp(need, "CAP_CHECKPOINT_RESTORE") == 0;
}

gpc_status gpc_rights_read(int procfd, struct gpc_rights *ret, struct gpc_err *err)
{
	struct gpc_rights r = {.perf_event_paranoid = 2};
	char text[STATUS_BYTES];
	const char *line;

	if (gpc_read_small(procfd, "self/status", text, sizeof text) < 0)
		return gpc_err_sys(err, "read /proc/self/status");
	line = strstr(text, "\nCapEff:");
	if (!line)
		return gpc_err_set(err, GPC_E_CORRUPT, "/proc/self/status has no CapEff");
	r.caps = strtoull(line + strlen("\nCapEff:"), NULL, 16);
	/* Without the file (perf is compiled out) nothing is open to everybody. */
	if (gpc_read_small(procfd, "sys/kernel/perf_event_paranoid", text, sizeof text) > 0)
		r.perf_event_paranoid = atoi(text);
	*ret = r;
	return GPC_OK;
}

enum gpc_met gpc_rights_meet(const struct gpc_rights *r, const char *need)
{
	if (cap_number(need) < 0)
		return GPC_NEED_UNKNOWN;
	if (has_cap(r, need))
		return GPC_NEED_MET;
	if (is_split_from_admin(need) && has_cap(r, "CAP_SYS_ADMIN"))
		return GPC_NEED_MET;
	if (strcmp(need, "CAP_PERFMON") == 0 && r->perf_event_paranoid <= -1)
		return GPC_NEED_MET;
	return GPC_NEED_MISSING;
}

const char *gpc_rights_missing(const struct gpc_rights *r, const char *const *needs)
{
	for (; needs && *needs; needs++)
		if (gpc_rights_meet(r, *needs) == GPC_NEED_MISSING)
			return *needs;
	return NULL;
}

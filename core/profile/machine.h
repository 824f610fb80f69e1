/* SPDX-License-Identifier: Apache-2.0 */
/* What machine this is: read once from the host's files and namespaces, with no
 * packet sent and no program run. What cannot be read says "unknown". */
#ifndef GPC_PROFILE_MACHINE_H
#define GPC_PROFILE_MACHINE_H

#include <stdbool.h>

#include "base/err.h"

struct gpc_machine {
	char os_name[64], os_release[64], os_codename[64];
	char libc_type[16], libc_version[32];
	char cpu_model[128], cpu_codename[16], hypervisor[16];
	char cpu_flags[8192];
	char data_provider[16], data_version[64]; /* EMR, Databricks ...; "" none */
};

struct gpc_machine_net {
	char hostname[256], mac[18], ip[16];
};

/* root_fd: the host's root folder; proc_fd: /proc. is_own_root: root_fd is where
 * we run from ourselves. */
void gpc_machine_read(int root_fd, int proc_fd, bool is_own_root, struct gpc_machine *ret);

/* Names of the host's own UTS and network namespaces, when we may enter PID 1's
 * (a short-lived thread does), else of ours. */
void gpc_machine_net_read(int proc_fd, struct gpc_machine_net *ret);

/* True when PID 1 lives in another namespace (kind "mnt", "uts" ...). */
bool gpc_machine_is_foreign(int proc_fd, const char *kind);

/* The hypervisor's own 12 letters, by CPUID; false: this CPU can't say. */
bool gpc_hypervisor_vendor(char ret[13]);

#endif

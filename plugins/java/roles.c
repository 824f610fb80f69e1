/* SPDX-License-Identifier: Apache-2.0 */
#include "roles.h"

#include <stddef.h>
#include <string.h>

/* Some versions shorten longer names than the kernel keeps to seven letters, two dots
 * and the last six (os/posix/os_posix.cpp or os/linux/os_linux.cpp,
 * set_native_thread_name). */
static const struct {
	const char *prefix, *role;
} roles[] = {
	{"GC Thread#", "[GC thread]"},
	{"GC task thread#", "[GC thread]"},
	{"ParGC Thread#", "[GC thread]"},
	{"Gang worker#", "[GC thread]"},
	{"G1 ", "[GC thread]"},
	{"Concurrent Mark", "[GC thread]"},
	{"CMS ", "[GC thread]"},
	{"ZWorker", "[GC thread]"},
	{"ZDriver", "[GC thread]"},
	{"ZDirector", "[GC thread]"},
	{"ZUnmapper", "[GC thread]"},
	{"ZUncommitter", "[GC thread]"},
	{"ZStat", "[GC thread]"},
	{"RuntimeWorker#", "[GC thread]"},
	{"XWorker", "[GC thread]"},
	{"XDriver", "[GC thread]"},
	{"Shenandoah", "[GC thread]"},
	{"ShenanControl", "[GC thread]"},
	{"Surrogate Locke", "[GC thread]"},
	{"StringDedup", "[GC thread]"},
	{"Shenand..", "[GC thread]"},
	{"StringD..", "[GC thread]"},
	{"C1 Comp", "[compiler thread]"},
	{"C2 Comp", "[compiler thread]"},
	{"JVMCI-native", "[compiler thread]"},
	{"Sweeper thread", "[compiler thread]"},
	{"VM Thread", "[VM thread]"},
	{"VM Periodic Tas", "[VM thread]"},
	{"Service Thread", "[VM thread]"},
	{"Monitor Deflati", "[VM thread]"},
	{"Signal Dispatch", "[VM thread]"},
	{"Notification Th", "[VM thread]"},
	{"Attach Listener", "[VM thread]"},
	{"VM Peri..Thread", "[VM thread]"},
	{"Monitor..Thread", "[VM thread]"},
	{"Signal ..atcher", "[VM thread]"},
	{"Notific..Thread", "[VM thread]"},
};

const char *gpc_java_role(const char *name)
{
	for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
		if (strncmp(name, roles[i].prefix, strlen(roles[i].prefix)) == 0)
			return roles[i].role;
	return NULL;
}

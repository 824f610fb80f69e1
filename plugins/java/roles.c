/* SPDX-License-Identifier: Apache-2.0 */
#include "roles.h"

#include <stddef.h>
#include <string.h>

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
	{"C1 CompilerThre", "[compiler thread]"},
	{"C2 CompilerThre", "[compiler thread]"},
	{"JVMCI-native", "[compiler thread]"},
	{"Sweeper thread", "[compiler thread]"},
	{"VM Thread", "[VM thread]"},
	{"VM Periodic Tas", "[VM thread]"},
	{"Service Thread", "[VM thread]"},
	{"Monitor Deflati", "[VM thread]"},
	{"Signal Dispatch", "[VM thread]"},
};

const char *gpc_java_role(const char *name)
{
	for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
		if (strncmp(name, roles[i].prefix, strlen(roles[i].prefix)) == 0)
			return roles[i].role;
	return NULL;
}

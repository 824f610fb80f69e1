/* SPDX-License-Identifier: Apache-2.0 */
/* Why a JVM died: from the report that HotSpot writes when it crashes (OpenJDK
 * utilities/vmError.cpp: hs_err_pidN.log), and from the kernel's log. */
#ifndef GPC_JAVA_DEATH_H
#define GPC_JAVA_DEATH_H

#include "vm.h"

/* ---- what the texts say ---------------------------------------------------------------- */

struct java_crash {
	char what[96];   /* "SIGSEGV", "Internal Error (g1CardSet.cpp:12)" */
	char where[160]; /* "libfoo.so, crash+0x10"; "" not known */
};
/* The begin of a report. False: it is none. */
bool gpc_java_crash_parse(const char *text, struct java_crash *ret);

struct kernel_death {
	int32_t pid;   /* of a process or thread, in the first pid namespace */
	bool is_oom;   /* killed for want of memory; else by a fault that it did not catch */
	bool is_group; /* the memory was that of its control group */
	char what[96]; /* "segfault in libfoo.so", "anon-rss:123kB" */
};
/* A record of /dev/kmsg. False: it tells of no death. */
bool gpc_java_kernel_parse(const char *record, struct kernel_death *ret);

/* ---- where reports are written ---------------------------------------------------------- */

#define GPC_JAVA_REPORTS 3
struct java_report_place {
	int32_t folder; /* open since the attach: when the JVM has gone its root has too */
	char name[128], path[512];
};
struct java_reports {
	uint32_t n;
	int64_t since; /* CLOCK_REALTIME, seconds: older reports are another's */
	struct java_report_place at[GPC_JAVA_REPORTS];
};
/* [worker] */
void gpc_java_reports_open(struct java_reports *r, const struct vm *vm);
void gpc_java_reports_close(struct java_reports *r);
/* The JVM has gone: did it leave a report? *path is its, as the JVM saw it. */
bool gpc_java_reports_find(const struct java_reports *r, const struct gpc_target *t,
			   struct java_crash *ret, const char **path);
/* -XX:ErrorFile: %p is the process's number, %% a percent sign. */
void gpc_java_report_name(const char *pattern, int32_t pid, char *ret, uint32_t room);

#endif

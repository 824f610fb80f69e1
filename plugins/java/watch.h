/* SPDX-License-Identifier: Apache-2.0 */
/* Says in the log that a JVM which was profiled died, and why: of its own report, and
 * of the kernel's log where that may be read. [worker] */
#ifndef GPC_JAVA_WATCH_H
#define GPC_JAVA_WATCH_H

#include "death.h"

#define GPC_JAVA_KNOWN 1024

struct known_jvm {
	int32_t pid;    /* 0 free */
	char name[128]; /* main class or jar; "" not known */
};

struct java_watch {
	const struct gpc_host *host;
	int32_t fd; /* of the kernel's log; -1 */
	uint32_t n; /* entries ever made; the oldest go first */
	struct known_jvm known[GPC_JAVA_KNOWN];
};

/* [control] token: of the log's descriptor. path: /dev/kmsg. */
void gpc_java_watch_start(struct java_watch *w, const struct gpc_host *host, const char *path,
			  uint64_t token);
void gpc_java_watch_stop(struct java_watch *w);
/* The log has something. */
void gpc_java_watch_ready(struct java_watch *w);

void gpc_java_watch_join(struct java_watch *w, int32_t pid);
void gpc_java_watch_name(struct java_watch *w, int32_t pid, const char *name);
/* Before the detach: has it gone, and left a report? */
void gpc_java_watch_leave(struct java_watch *w, const struct gpc_target *t,
			  const struct java_reports *reports);

#endif

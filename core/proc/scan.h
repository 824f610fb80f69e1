/* SPDX-License-Identifier: Apache-2.0 */
/* The process table from /proc alone: for machines where the kernel gives no
 * process events (connector.h), and for sessions without CPU samples, where the
 * use of CPU is seen from /proc/PID/stat. Costs a read per process and scan.
 *
 * One thread, but gpc_scan_expect. The table is the owner's and locked while it is told. */
#ifndef GPC_PROC_SCAN_H
#define GPC_PROC_SCAN_H

#include <stdbool.h>

#include "base/err.h"
#include "proc/table.h"

struct gpc_scan;

struct gpc_scan_setup {
	struct gpc_table_access access;
	bool tells_life; /* tell the table of execs and exits: nobody else does */
	bool tells_use;  /* tell it who used CPU since the last scan */
};

/* procfs: "/proc"; tests pass their own tree. */
gpc_status gpc_scan_new(const char *procfs, const struct gpc_scan_setup *setup,
			struct gpc_scan **ret, struct gpc_err *err);
void gpc_scan_free(struct gpc_scan *s); /* NULL is fine */
void gpc_scan_run(struct gpc_scan *s);

/* [any thread] The process is new, or a new program: whether it uses CPU is to be seen soon,
 * not only at the next scan. Of many at once those beyond a limit are left to that. */
void gpc_scan_expect(struct gpc_scan *s, int32_t pid, uint64_t now_ns);
/* Looks at those that are due. */
void gpc_scan_run_expected(struct gpc_scan *s, uint64_t now_ns);
/* When the next one is; UINT64_MAX: there is none. */
uint64_t gpc_scan_due(struct gpc_scan *s);

#endif

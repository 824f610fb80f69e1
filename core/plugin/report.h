/* SPDX-License-Identifier: Apache-2.0 */
/* Troubles that collectors reported: counted per (process, status, text). */
#ifndef GPC_PLUGIN_REPORT_H
#define GPC_PLUGIN_REPORT_H

#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"

#define GPC_REPORT_DETAIL 160

struct gpc_report {
	uint64_t target; /* 0: the collector itself */
	int32_t pid;
	gpc_status code;
	uint32_t count;
	char detail[GPC_REPORT_DETAIL];
};

struct gpc_reports {
	vec(struct gpc_report) list;
	uint32_t dropped; /* beyond the bound on different reports */
};

#define GPC_REPORTS_MAX 1024

/* The latest report of this process with this status that has a text; NULL: none. */
const struct gpc_report *gpc_reports_find(const struct gpc_reports *r, uint64_t target,
					  gpc_status code);
/* True when it is the first of its kind since the reports were taken. */
bool gpc_reports_add(struct gpc_reports *r, uint64_t target, int32_t pid, gpc_status code,
		     const char *detail);
void gpc_reports_deinit(struct gpc_reports *r);
/* The frame users see: "[Profiling error: detail]", "[Profiling skipped: ...]";
 * false for what is not shown (GPC_E_GONE). */
bool gpc_report_frame(const struct gpc_report *r, char *buf, size_t size);

#endif

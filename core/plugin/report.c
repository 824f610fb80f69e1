/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/report.h"

#include <stdio.h>
#include <string.h>

bool gpc_reports_add(struct gpc_reports *r, uint64_t target, int32_t pid, gpc_status code,
		     const char *detail)
{
	struct gpc_report report = {.target = target, .pid = pid, .code = code, .count = 1};

	snprintf(report.detail, sizeof report.detail, "%s", detail);
	for (size_t i = 0; i < r->list.n; i++) {
		struct gpc_report *known = &r->list.at[i];

		if (known->target != target || known->code != code ||
		    strcmp(known->detail, report.detail) != 0)
			continue;
		known->count++;
		return false;
	}
	if (r->list.n >= GPC_REPORTS_MAX || !vec_push(&r->list, report)) {
		r->dropped++;
		return false;
	}
	return true;
}

const struct gpc_report *gpc_reports_find(const struct gpc_reports *r, uint64_t target,
					  gpc_status code)
{
	for (size_t i = r->list.n; i-- > 0;) {
		const struct gpc_report *known = &r->list.at[i];

		if (known->target == target && known->code == code && known->detail[0])
			return known;
	}
	return NULL;
}

void gpc_reports_deinit(struct gpc_reports *r)
{
	vec_deinit(&r->list);
	r->dropped = 0;
}

bool gpc_report_frame(const struct gpc_report *r, char *buf, size_t size)
{
	const char *what = r->code == GPC_E_SKIPPED ? "skipped" : "error";

	if (r->code == GPC_E_GONE)
		return false;
	snprintf(buf, size, "[Profiling %s: %s]", what,
		 r->detail[0] ? r->detail : gpc_status_name(r->code));
	return true;
}

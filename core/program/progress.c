/* SPDX-License-Identifier: Apache-2.0 */
#include "program/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"

void gpc_progress_init(struct gpc_progress *p, struct gpc_core *core)
{
	const char *mode = gpc_core_get(core, "mode");

	p->is_continuous = gpc_core_get_int(core, "continuous");
	p->is_allocation = mode && strcmp(mode, "allocation") == 0;
}

static void what_text(const struct gpc_progress *p, uint32_t hz, char *buf, size_t size)
{
	if (p->is_allocation)
		snprintf(buf, size, "Sampling allocations");
	else
		snprintf(buf, size, "Sampling CPU at %" PRIu32 " Hz", hz);
}

void gpc_progress_text(const struct gpc_progress *p, const struct gpc_core_state *state,
		       uint64_t now_ns, char *buf, size_t size)
{
	uint64_t left_ns = now_ns < state->end_ns ? state->end_ns - now_ns : 0;
	char what[64], session[32] = "";

	if (!state->is_running) {
		snprintf(buf, size, "Finishing the profile");
		return;
	}
	what_text(p, state->hz, what, sizeof what);
	if (p->is_continuous)
		snprintf(session, sizeof session, "Session %" PRIu32 ": ", state->window + 1);
	snprintf(buf, size, "%s%s, %" PRIu64 " s left, %" PRIu64 " samples, %" PRIu32 " process%s",
		 session, what, (left_ns + GPC_SECOND_NS - 1) / GPC_SECOND_NS, state->samples,
		 state->processes, state->processes == 1 ? "" : "es");
}

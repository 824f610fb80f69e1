/* SPDX-License-Identifier: Apache-2.0 */
#include "events.h"

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct event {
	const char *name;
	uint32_t type;
	uint64_t config;
};

static const struct event events[] = {
	{"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
	{"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
	{"cache-references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES},
	{"cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
	{"branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
	{"branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
	{"ref-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES},
	{"cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK},
	{"task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
	{"page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
	{"major-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ},
	{"minor-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN},
	{"context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES},
	{"cpu-migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS},
};

static bool find_raw(const char *name, uint32_t *type, uint64_t *config)
{
	char *end;
	unsigned long long value;

	if (name[0] != 'r' || !name[1] || !strchr("0123456789abcdefABCDEF", name[1]))
		return false;
	value = strtoull(name + 1, &end, 16);
	if (*end)
		return false;
	*type = PERF_TYPE_RAW;
	*config = value;
	return true;
}

bool gpc_perf_event_find(const char *name, uint32_t *type, uint64_t *config)
{
	for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
		if (strcmp(events[i].name, name) != 0)
			continue;
		*type = events[i].type;
		*config = events[i].config;
		return true;
	}
	return find_raw(name, type, config);
}

const char *gpc_perf_event_names(void)
{
	return "cycles, instructions, cache-misses, branch-misses, cpu-clock, page-faults, "
	       "context-switches";
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The perf collector: which event, how often. Rings, stacks and symbols are the
 * core's (gpc.source/1); this file only says what to measure. */
#include <stdlib.h>

#include <gpc/log.h>
#include <gpc/plugin.h>

#include "events.h"

enum { MODE_FP, MODE_DWARF, MODE_SMART }; /* in the order of GPC_UNWIND_BY_ */
enum { EVENT_CPU = 1, EVENT_CUSTOM };

struct options {
	int32_t mode;
	int32_t use_cgroups;
	int32_t memory_restart;
	int32_t reserved;
	int64_t dwarf_stack_size;
	int64_t max_cgroups, max_docker_containers;
	int64_t event_period;
	const char *event;
	const char *hw_events_file;
};

struct perf {
	const struct gpc_host *host;
	const struct options *options;
	const struct gpc_source_api *api;
	struct gpc_source *source;
};

static gpc_status perf_create(const struct gpc_host *h, const void *options, void **self)
{
	struct perf *p = calloc(1, sizeof *p);

	if (!p)
		return GPC_E_NOMEM;
	p->host = h;
	p->options = options;
	*self = p;
	return GPC_OK;
}

static void perf_destroy(void *self)
{
	free(self);
}

static gpc_status perf_probe(void *self)
{
	struct perf *p = self;
	uint32_t type;
	uint64_t config;

	p->api = p->host->extension(p->host, "gpc.source/1");
	if (!p->api)
		return gpc_host_reportf(p->host, NULL, GPC_E_UNSUPPORTED,
					"this core has no gpc.source/1");
	if (p->options->event && !gpc_perf_event_find(p->options->event, &type, &config))
		return gpc_host_reportf(p->host, NULL, GPC_E_CONFIG,
					"--perf-event=%s is not a known event; known are %s, and "
					"rHEX",
					p->options->event, gpc_perf_event_names());
	return GPC_OK;
}

/* Cycles tell most about where time goes; virtual machines often have none. Where runtimes
 * are read at samples the core takes a clock. */
static uint32_t cpu_candidates(const struct perf *p, const struct gpc_session *s,
			       struct gpc_source_event *ret)
{
	static const char *const names[] = {"cycles", "cpu-clock", "task-clock"};
	uint32_t n = 0;

	for (; n < 3; n++) {
		ret[n] = (struct gpc_source_event){.struct_size = sizeof *ret,
						   .event = EVENT_CPU,
						   .rate = s->hz,
						   .name = names[n],
						   .unwind = (uint32_t)p->options->mode,
						   .stack_bytes =
							   (uint32_t)p->options->dwarf_stack_size};
		gpc_perf_event_find(names[n], &ret[n].type, &ret[n].config);
	}
	return n;
}

static uint32_t custom_candidate(const struct perf *p, const struct gpc_session *s,
				 struct gpc_source_event *ret)
{
	int64_t period = p->options->event_period;

	*ret = (struct gpc_source_event){.struct_size = sizeof *ret,
					 .event = EVENT_CUSTOM,
					 .flags = period ? GPC_SOURCE_PERIOD : 0,
					 .rate = period ? (uint64_t)period : s->hz,
					 .name = p->options->event,
					 .unwind = (uint32_t)p->options->mode,
					 .stack_bytes = (uint32_t)p->options->dwarf_stack_size};
	gpc_perf_event_find(p->options->event, &ret->type, &ret->config);
	return 1;
}

static void explain_options(const struct perf *p)
{
	const struct gpc_host *h = p->host;

	if (p->options->use_cgroups)
		gpc_host_logf(h, GPC_WARN,
			      "--perf-use-cgroups: this version samples the whole machine");
	if (p->options->hw_events_file)
		gpc_host_logf(h, GPC_WARN, "--hw-events-file=%s is not read by this version",
			      p->options->hw_events_file);
}

static gpc_status perf_start(void *self, const struct gpc_session *s)
{
	static const char *const modes[] = {
		[MODE_FP] = "fp", [MODE_DWARF] = "dwarf", [MODE_SMART] = "smart"};
	struct perf *p = self;
	struct gpc_source_event candidates[3];
	struct gpc_source_stats stats = {.struct_size = sizeof stats};
	uint32_t n = p->options->event ? custom_candidate(p, s, candidates)
				       : cpu_candidates(p, s, candidates);
	gpc_status st = p->api->open(p->host, candidates, n, &p->source);

	if (st < 0)
		return st;
	explain_options(p);
	p->api->stats(p->source, &stats);
	gpc_host_logf(p->host, GPC_INFO, "Starting perf (%s mode) with event %s",
		      modes[p->options->mode], candidates[stats.opened].name);
	return GPC_OK;
}

static void perf_stop(void *self)
{
	struct perf *p = self;

	if (p->source)
		p->api->close(p->source);
	p->source = NULL;
}

#define OPT(opt_name, opt_type, member)                                               \
	.struct_size = sizeof(struct gpc_option), .name = opt_name, .type = opt_type, \
	.offset = offsetof(struct options, member)

static const struct gpc_option options[] = {
	{OPT("mode", GPC_OPT_CHOICE, mode), .fallback = "smart", .flags = GPC_OPT_MODE,
	 .choices = "fp|dwarf|smart|disabled|none", .dest = "perf_mode",
	 .help = "How native stacks are unwound; fp: by frame pointers. dwarf: from a copy of the "
		 "stack. smart: the better of both. disabled: no perf at all."},
	{OPT("no-perf", GPC_OPT_CHOICE, mode), .implied = "disabled",
	 .choices = "fp|dwarf|smart|disabled|none", .dest = "perf_mode",
	 .flags = GPC_OPT_ABSOLUTE | GPC_OPT_SWITCH, .help = "The same as --perf-mode=disabled."},
	{OPT("dwarf-stack-size", GPC_OPT_INT, dwarf_stack_size), .fallback = "8192", .min = 8,
	 .max = 65528, .metavar = "BYTES", .dest = "perf_dwarf_stack_size",
	 .help = "Bytes of stack copied with each sample for DWARF unwinding."},
	{OPT("no-memory-restart", GPC_OPT_BOOL, memory_restart), .fallback = "true",
	 .implied = "false", .flags = GPC_OPT_SWITCH, .dest = "perf_memory_restart",
	 .help = "Accepted for compatibility: there is no perf process to restart."},
	{OPT("use-cgroups", GPC_OPT_BOOL, use_cgroups), .fallback = "false", .implied = "true",
	 .flags = GPC_OPT_SWITCH, .dest = "perf_use_cgroups",
	 .help = "Accepted for compatibility: the whole machine is sampled."},
	{OPT("max-cgroups", GPC_OPT_INT, max_cgroups), .fallback = "50", .min = 0, .max = INT32_MAX,
	 .dest = "perf_max_cgroups", .metavar = "N", .help = "Accepted for compatibility."},
	{OPT("max-docker-containers", GPC_OPT_INT, max_docker_containers), .fallback = "0",
	 .min = 0, .max = INT32_MAX, .metavar = "N", .dest = "perf_max_docker_containers",
	 .help = "Accepted for compatibility."},
	{OPT("event", GPC_OPT_STRING, event), .metavar = "NAME", .dest = "perf_event",
	 .help = "Sample on another event than CPU time; only perf runs then."},
	{OPT("event-period", GPC_OPT_INT, event_period), .metavar = "N", .min = 0, .max = INT64_MAX,
	 .fallback = "0", .dest = "perf_event_period",
	 .help = "One sample each N events; needs --perf-event."},
	{OPT("hw-events-file", GPC_OPT_STRING, hw_events_file), .metavar = "FILE",
	 .flags = GPC_OPT_ABSOLUTE, .dest = "hw_events_file",
	 .help = "Accepted for compatibility: not read by this version."},
	{0},
};

static const char *const needs[] = {"CAP_PERFMON", "CAP_SYS_PTRACE", "CAP_SYSLOG", NULL};
static const char *const suffixes[] = {"k", NULL};

static const struct gpc_event events[] = {
	{.struct_size = sizeof(struct gpc_event),
	 .id = EVENT_CPU,
	 .flags = GPC_EVENT_CPU_TIME,
	 .name = "cpu-time",
	 .unit = "samples"},
	{.struct_size = sizeof(struct gpc_event),
	 .id = EVENT_CUSTOM,
	 .name = "perf-event",
	 .unit = "samples"},
	{0},
};

static const struct gpc_collector collector = {
	.struct_size = sizeof collector,
	.scope = GPC_SCOPE_SYSTEM,
	.caps = GPC_CAP_CPU | GPC_CAP_PMC,
	.touch = GPC_TOUCH_NOTHING,
	.name = "perf",
	.summary = "kernel and native stacks of the whole machine, through perf_event_open",
	.needs = needs,
	.suffixes = suffixes,
	.events = events,
	.create = perf_create,
	.destroy = perf_destroy,
	.probe = perf_probe,
	.start = perf_start,
	.stop = perf_stop,
};

static const struct gpc_collector *const collectors[] = {&collector, NULL};

static const struct gpc_module module = {
	.struct_size = sizeof module,
	.abi_major = GPC_ABI_MAJOR,
	.abi_minor = GPC_ABI_MINOR,
	.options_bytes = sizeof(struct options),
	.name = "perf",
	.version = GPC_VERSION,
	.summary = "CPU sampling of everything that runs",
	.options = options,
	.collectors = collectors,
};

GPC_MODULE(perf, 0, module)

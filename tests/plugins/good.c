/* SPDX-License-Identifier: Apache-2.0 */
/* A module with one of everything. Built several times: MODULE_NAME gives the
 * name, ABI_MAJOR, ABI_MINOR and NEEDS another version. */
#include "callbacks.h"
#include "marker.h"

#include <stddef.h>

#ifndef MODULE_NAME
#define MODULE_NAME "good"
#endif
#ifndef NEEDS
#define NEEDS 0
#endif
#ifdef ABI_MAJOR
#undef GPC_ABI_MAJOR
#define GPC_ABI_MAJOR ABI_MAJOR
#endif
#ifdef ABI_MINOR
#undef GPC_ABI_MINOR
#define GPC_ABI_MINOR ABI_MINOR
#endif

struct options {
	int64_t count;
	const char *token;
};

static gpc_status write_profile(void *self, const struct gpc_profile *p)
{
	(void)self;
	(void)p;
	return GPC_OK;
}

static const struct gpc_option options[] = {
	{.struct_size = sizeof(struct gpc_option),
	 .type = GPC_OPT_INT,
	 .name = "count",
	 .fallback = "3",
	 .help = "How many.",
	 .offset = offsetof(struct options, count)},
	{.struct_size = sizeof(struct gpc_option),
	 .type = GPC_OPT_STRING,
	 .name = "token",
	 .help = "Whatever opens the door.",
	 .offset = offsetof(struct options, token),
	 .flags = GPC_OPT_SECRET},
	{.struct_size = 0},
};

static const char *const needs[] = {"CAP_PERFMON", "CAP_SYS_PTRACE", NULL};
static const char *const suffixes[] = {"g", NULL};
static const struct gpc_match match[] = {
	{.struct_size = sizeof(struct gpc_match), .kind = GPC_MATCH_EXE, .glob = "good*"},
	{.struct_size = 0},
};
static const struct gpc_event events[] = {
	{.struct_size = sizeof(struct gpc_event),
	 .id = 1,
	 .flags = GPC_EVENT_CPU_TIME,
	 .name = "cpu-time",
	 .unit = "samples"},
	{.struct_size = 0},
};

static const struct gpc_collector collector = {
	.struct_size = sizeof collector,
	.scope = GPC_SCOPE_SYSTEM,
	.caps = GPC_CAP_CPU | GPC_CAP_WALL,
	.touch = GPC_TOUCH_READS,
	.name = MODULE_NAME "_sampler",
	.summary = "samples nothing",
	.needs = needs,
	.suffixes = suffixes,
	.match = match,
	.events = events,
	.create = create,
	.destroy = destroy,
};

static const struct gpc_sink sink = {
	.struct_size = sizeof sink,
	.name = MODULE_NAME "_drain",
	.summary = "writes nothing",
	.create = create,
	.destroy = destroy,
	.write = write_profile,
};

static const struct gpc_collector *const collectors[] = {&collector, NULL};
static const struct gpc_sink *const sinks[] = {&sink, NULL};

static const struct gpc_module module = {
	.struct_size = sizeof module,
	.abi_major = GPC_ABI_MAJOR,
	.abi_minor = GPC_ABI_MINOR,
	.needs_minor = NEEDS,
	.options_bytes = sizeof(struct options),
	.name = MODULE_NAME,
	.version = "1.2.3",
	.summary = "a module for tests",
	.options = options,
	.collectors = collectors,
	.sinks = sinks,
};
GPC_MODULE(good, NEEDS, module)

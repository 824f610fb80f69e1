/* SPDX-License-Identifier: Apache-2.0 */
/* The options of gProfiler's collectors (agent 1.57.1) as the tables of
 * modules: what an option table must be able to say. */
#ifndef GPC_TEST_CONFIG_AGENT_TABLES_H
#define GPC_TEST_CONFIG_AGENT_TABLES_H

#include "fixture.h"

#define SECOND INT64_C(1000000000)

struct agent {
	/* perf */
	int32_t perf_mode, perf_memory_restart, perf_use_cgroups;
	int64_t perf_dwarf_stack_size, perf_max_cgroups, perf_max_docker_containers;
	int64_t perf_event_period;
	const char *perf_event, *hw_events_file;
	/* java */
	int32_t java_mode, java_version_check, java_async_profiler_mode;
	int32_t java_collect_spark_app_name_as_appid, java_async_profiler_report_meminfo;
	int32_t java_full_hserr, java_include_method_modifiers, java_line_numbers;
	int32_t java_collect_thread_names;
	int64_t java_async_profiler_safemode, java_jattach_timeout, java_async_profiler_mcache;
	struct gpc_list java_async_profiler_features, java_safemode, java_collect_jvm_flags;
	const char *java_async_profiler_args;
	/* python */
	int32_t python_mode, python_add_versions, python_pyperf_verbose;
	int64_t python_pyperf_user_stacks_pages, python_skip_pyperf_profiler_above;
	struct gpc_list python_pyspy_process;
	/* the others */
	int32_t php_mode, ruby_mode, dotnet_mode, nodejs_mode;
	const char *php_process_filter;
	int32_t collect_hw_metrics;
	const char *tool_perfspect_path;
	int64_t tool_perfspect_duration;
	/* not the agent's: a vendor's, with a secret */
	const char *vendor_key;
};

#define ROW(opt_type, opt_name, member)                                                         \
	.struct_size = sizeof(struct gpc_option), .type = GPC_OPT_##opt_type, .name = opt_name, \
	.dest = #member, .offset = offsetof(struct agent, member)
#define ON(opt_name, member) \
	ROW(BOOL, opt_name, member), .fallback = "false", .flags = GPC_OPT_SWITCH
#define OFF(opt_name, member) \
	ROW(BOOL, opt_name, member), .fallback = "true", .implied = "false", .flags = GPC_OPT_SWITCH
#define MODE(member, words, default_word)                                                    \
	{                                                                                    \
		ROW(CHOICE, "mode", member), .choices = words "|disabled|none",              \
					     .fallback = default_word, .flags = GPC_OPT_MODE \
	}
#define NO(opt_name, member)                                                              \
	{                                                                                 \
		ROW(CHOICE, opt_name, member), .implied = "disabled",                     \
					       .flags = GPC_OPT_ABSOLUTE | GPC_OPT_SWITCH \
	}

static const struct gpc_option perf_rows[] = {
	MODE(perf_mode, "fp|dwarf|smart", "fp"),
	NO("no-perf", perf_mode),
	{ROW(INT, "dwarf-stack-size", perf_dwarf_stack_size), .fallback = "8192", .min = 1,
	 .max = 65528},
	{OFF("no-memory-restart", perf_memory_restart)},
	{ON("use-cgroups", perf_use_cgroups)},
	{ROW(INT, "max-cgroups", perf_max_cgroups), .fallback = "50", .max = INT32_MAX},
	{ROW(INT, "max-docker-containers", perf_max_docker_containers), .fallback = "0",
	 .max = INT32_MAX},
	{ROW(STRING, "event", perf_event)},
	{ROW(INT, "event-period", perf_event_period), .min = 1, .max = INT64_MAX},
	{ROW(STRING, "hw-events-file", hw_events_file), .flags = GPC_OPT_ABSOLUTE},
	{0},
};

static const struct gpc_option java_rows[] = {
	MODE(java_mode, "ap", "ap"),
	NO("no-java", java_mode),
	{OFF("no-version-check", java_version_check)},
	{ROW(CHOICE, "async-profiler-mode", java_async_profiler_mode), .fallback = "auto",
	 .choices = "cpu|itimer|alloc|auto"},
	{ROW(INT, "async-profiler-safemode", java_async_profiler_safemode), .fallback = "0",
	 .max = 63},
	{ROW(LIST, "async-profiler-features", java_async_profiler_features),
	 .choices = "probesp|vtable|comptask", .fallback = "probesp,vtable", .flags = GPC_OPT_LAST},
	{ROW(STRING, "async-profiler-args", java_async_profiler_args)},
	{ROW(LIST, "safemode", java_safemode), .implied = "all",
	 .fallback = "profiled-oom,profiled-signaled,hserr",
	 .flags = GPC_OPT_OPTIONAL | GPC_OPT_LAST},
	{ROW(DURATION, "jattach-timeout", java_jattach_timeout), .fallback = "30", .min = SECOND,
	 .max = INT64_MAX},
	{ROW(INT, "async-profiler-mcache", java_async_profiler_mcache), .fallback = "30",
	 .max = 255},
	{ON("collect-spark-app-name-as-appid", java_collect_spark_app_name_as_appid)},
	{OFF("async-profiler-no-report-meminfo", java_async_profiler_report_meminfo)},
	{ROW(LIST, "collect-jvm-flags", java_collect_jvm_flags), .fallback = "default",
	 .implied = "", .flags = GPC_OPT_OPTIONAL | GPC_OPT_LAST},
	{ON("full-hserr", java_full_hserr)},
	{ON("include-method-modifiers", java_include_method_modifiers)},
	{ROW(CHOICE, "line-numbers", java_line_numbers), .choices = "none|line-of-function",
	 .fallback = "none"},
	{ON("collect-thread-names", java_collect_thread_names)},
	{0},
};

static const struct gpc_option python_rows[] = {
	MODE(python_mode, "auto|pyperf|pyspy|py-spy", "auto"),
	NO("no-python", python_mode),
	{ROW(BOOL, "no-python-versions", python_add_versions), .fallback = "true",
	 .implied = "false", .flags = GPC_OPT_ABSOLUTE | GPC_OPT_SWITCH},
	/* Not given, the tool decides; 0 is no native stacks. */
	{ROW(INT, "pyperf-user-stacks-pages", python_pyperf_user_stacks_pages), .max = INT32_MAX,
	 .absent = -1, .flags = GPC_OPT_ABSOLUTE},
	{ON("pyperf-verbose", python_pyperf_verbose)},
	{ROW(LIST, "pyspy-process", python_pyspy_process), .fallback = "", .min = 1,
	 .max = 4194304},
	{ROW(INT, "skip-pyperf-profiler-above", python_skip_pyperf_profiler_above), .fallback = "0",
	 .max = INT32_MAX},
	{0},
};

static const struct gpc_option php_rows[] = {
	MODE(php_mode, "phpspy", "disabled"),
	NO("no-php", php_mode),
	{ROW(STRING, "proc-filter", php_process_filter), .fallback = "php-fpm"},
	{0},
};

static const struct gpc_option ruby_rows[] = {
	MODE(ruby_mode, "rbspy", "rbspy"),
	NO("no-ruby", ruby_mode),
	{0},
};

static const struct gpc_option dotnet_rows[] = {
	MODE(dotnet_mode, "dotnet-trace", "disabled"),
	NO("no-dotnet", dotnet_mode),
	{0},
};

/* The module is called node, its options are not. */
static const struct gpc_option node_rows[] = {
	{ROW(CHOICE, "nodejs-mode", nodejs_mode), .choices = "attach-maps|perf|disabled|none",
	 .fallback = "disabled", .flags = GPC_OPT_MODE | GPC_OPT_ABSOLUTE},
	NO("no-nodejs", nodejs_mode),
	{0},
};

static const struct gpc_option perfspect_rows[] = {
	{ROW(BOOL, "enable-hw-metrics-collection", collect_hw_metrics), .fallback = "false",
	 .flags = GPC_OPT_SWITCH | GPC_OPT_ABSOLUTE},
	{ROW(STRING, "path", tool_perfspect_path)},
	{ROW(DURATION, "duration", tool_perfspect_duration), .fallback = "60", .min = SECOND,
	 .max = INT64_MAX},
	{0},
};

static const struct gpc_option vendor_rows[] = {
	{ROW(STRING, "key", vendor_key), .flags = GPC_OPT_SECRET, .aliases = "vendor-token|vt"},
	{0},
};

static const struct {
	const char *module;
	const struct gpc_option *rows;
} agent_tables[] = {
	{"perf", perf_rows}, {"java", java_rows},           {"python", python_rows},
	{"php", php_rows},   {"ruby", ruby_rows},           {"dotnet", dotnet_rows},
	{"node", node_rows}, {"perfspect", perfspect_rows}, {"vendor", vendor_rows},
};

#define N_AGENT_TABLES (sizeof agent_tables / sizeof *agent_tables)

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#define OPT(opt_name, opt_type, member)                                               \
	.struct_size = sizeof(struct gpc_option), .name = opt_name, .type = opt_type, \
	.offset = offsetof(struct options, member)
#define MODES    "auto|external|ap|disabled|none"
#define NO_AGENT " Accepted for compatibility: no agent is loaded into JVMs."

const struct gpc_option gpc_java_options[] = {
	{OPT("mode", GPC_OPT_CHOICE, mode), .fallback = "auto", .choices = MODES,
	 .flags = GPC_OPT_MODE, .dest = "java_mode",
	 .help = "How JVMs are profiled; auto and external: their memory is read from outside. ap "
		 "means auto."},
	{OPT("no-java", GPC_OPT_CHOICE, mode), .implied = "disabled", .choices = MODES,
	 .flags = GPC_OPT_ABSOLUTE | GPC_OPT_SWITCH, .dest = "java_mode",
	 .help = "The same as --java-mode=disabled."},
	{OPT("include-method-modifiers", GPC_OPT_BOOL, method_modifiers), .fallback = "false",
	 .implied = "true", .flags = GPC_OPT_SWITCH, .dest = "java_include_method_modifiers",
	 .help = "Show public, static ... before the class."},
	{OPT("line-numbers", GPC_OPT_CHOICE, line_numbers), .fallback = "none",
	 .choices = "none|line-of-function", .dest = "java_line_numbers",
	 .help = "line-of-function: show the line that is executed, behind the method's name."},
	{OPT("collect-thread-names", GPC_OPT_BOOL, thread_names), .fallback = "false",
	 .implied = "true", .flags = GPC_OPT_SWITCH, .dest = "java_collect_thread_names",
	 .help = "Put the thread's name at the root of its stacks."},
	{OPT("collect-jvm-flags", GPC_OPT_LIST, jvm_flags), .fallback = "default",
	 .implied = "default", .flags = GPC_OPT_OPTIONAL, .metavar = "LIST",
	 .dest = "java_collect_jvm_flags",
	 .help = "Flags of the JVM in its metadata: all, default, none or names."},
	{OPT("collect-spark-app-name-as-appid", GPC_OPT_BOOL, spark_app_name), .fallback = "false",
	 .implied = "true", .flags = GPC_OPT_SWITCH, .dest = "java_collect_spark_app_name_as_appid",
	 .help = "The name of the Spark application is part of the application id."},
	{OPT("allow-attach", GPC_OPT_BOOL, allow_attach), .fallback = "false", .implied = "true",
	 .flags = GPC_OPT_SWITCH, .dest = "java_allow_attach",
	 .help = "Ask JVMs by their attach mechanism for what their memory does not tell: the text "
		 "of "
		 "java -version."},
	{OPT("no-version-check", GPC_OPT_BOOL, version_check), .fallback = "true",
	 .implied = "false", .flags = GPC_OPT_SWITCH, .dest = "java_version_check",
	 .help = "Accepted for compatibility: a JVM is judged by its own tables."},
	{OPT("safemode", GPC_OPT_LIST, safemode),
	 .fallback = "profiled-oom,profiled-signaled,hserr", .implied = "all",
	 .flags = GPC_OPT_OPTIONAL, .metavar = "LIST", .dest = "java_safemode",
	 .help = "When to stop profiling JVMs." NO_AGENT},
	{OPT("async-profiler-mode", GPC_OPT_CHOICE, async_profiler_mode), .fallback = "auto",
	 .choices = "cpu|itimer|alloc|auto", .dest = "java_async_profiler_mode",
	 .help = "What to sample." NO_AGENT},
	{OPT("async-profiler-safemode", GPC_OPT_INT, async_profiler_safemode), .fallback = "0",
	 .min = 0, .max = 63, .metavar = "N", .dest = "java_async_profiler_safemode",
	 .help = "What not to try." NO_AGENT},
	{OPT("async-profiler-features", GPC_OPT_LIST, async_profiler_features),
	 .fallback = "probesp,vtable", .metavar = "LIST", .dest = "java_async_profiler_features",
	 .help = "How to walk stacks." NO_AGENT},
	{OPT("async-profiler-args", GPC_OPT_STRING, async_profiler_args), .metavar = "ARGS",
	 .dest = "java_async_profiler_args", .help = "Further arguments." NO_AGENT},
	{OPT("async-profiler-mcache", GPC_OPT_INT, async_profiler_mcache), .fallback = "30",
	 .min = 0, .max = 255, .metavar = "N", .dest = "java_async_profiler_mcache",
	 .help = "How long names are kept." NO_AGENT},
	{OPT("async-profiler-no-report-meminfo", GPC_OPT_BOOL, report_meminfo), .fallback = "true",
	 .implied = "false", .flags = GPC_OPT_SWITCH, .dest = "java_async_profiler_report_meminfo",
	 .help = "Do not log its memory." NO_AGENT},
	{OPT("jattach-timeout", GPC_OPT_DURATION, jattach_timeout), .fallback = "30", .min = 1,
	 .max = INT64_MAX, .metavar = "SECONDS", .dest = "java_jattach_timeout",
	 .help = "How long to wait for a JVM that is attached to."},
	{OPT("full-hserr", GPC_OPT_BOOL, full_hserr), .fallback = "false", .implied = "true",
	 .flags = GPC_OPT_SWITCH, .dest = "java_full_hserr",
	 .help = "Accepted for compatibility: of a crash report one line is logged."},
	{0},
};

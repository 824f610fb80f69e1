/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPC_JAVA_OPTIONS_H
#define GPC_JAVA_OPTIONS_H

#include <gpc/plugin.h>

enum java_mode { JAVA_AUTO, JAVA_EXTERNAL, JAVA_AP, JAVA_DISABLED, JAVA_NONE };
enum java_lines { JAVA_LINES_NONE, JAVA_LINES_OF_FUNCTION };

struct options {
	int32_t mode;
	int32_t version_check;
	int32_t async_profiler_mode;
	int32_t report_meminfo;
	int32_t spark_app_name;
	int32_t full_hserr;
	int32_t method_modifiers;
	int32_t line_numbers;
	int32_t thread_names;
	int32_t allow_attach;
	int64_t async_profiler_safemode;
	int64_t async_profiler_mcache;
	int64_t jattach_timeout;
	const char *async_profiler_args;
	struct gpc_list async_profiler_features;
	struct gpc_list safemode;
	struct gpc_list jvm_flags;
};

extern const struct gpc_option gpc_java_options[];

#endif

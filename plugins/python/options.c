/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#define OPT(opt_name, opt_type, member)                                               \
	.struct_size = sizeof(struct gpc_option), .name = opt_name, .type = opt_type, \
	.offset = offsetof(struct py_options, member)

#define MODES "auto|pyspy|pyperf|disabled|none|py-spy"

const struct gpc_option gpc_py_options[] = {
	{OPT("mode", GPC_OPT_CHOICE, mode), .fallback = "auto", .choices = MODES,
	 .flags = GPC_OPT_MODE, .dest = "python_mode",
	 .help = "How Python is profiled: pyspy reads interpreters from outside, which auto does "
		 "too; pyperf is not there yet; disabled: not at all."},
	{OPT("no-python", GPC_OPT_CHOICE, mode), .implied = "disabled", .choices = MODES,
	 .dest = "python_mode", .flags = GPC_OPT_ABSOLUTE | GPC_OPT_SWITCH,
	 .help = "The same as --python-mode=disabled."},
	{OPT("sampling", GPC_OPT_CHOICE, sampling), .fallback = "pull", .choices = "pull|push",
	 .dest = "python_sampling",
	 .help = "pull: at each of perf's samples. push: on a timer of its own, the threads that "
		 "run, scaled to perf's counts."},
	{OPT("no-python-versions", GPC_OPT_BOOL, versions), .fallback = "true", .implied = "false",
	 .flags = GPC_OPT_ABSOLUTE | GPC_OPT_SWITCH, .dest = "python_add_versions",
	 .help = "Leave the versions of packages out of Python frames."},
	{OPT("line-numbers", GPC_OPT_BOOL, has_line_numbers), .fallback = "false",
	 .implied = "true", .flags = GPC_OPT_SWITCH, .dest = "python_line_numbers",
	 .help = "Frames have the line that runs, not the one that its function begins with."},
	{OPT("pyperf-user-stacks-pages", GPC_OPT_INT, user_stacks_pages), .fallback = "0", .min = 0,
	 .max = INT32_MAX, .flags = GPC_OPT_ABSOLUTE, .metavar = "N",
	 .dest = "python_pyperf_user_stacks_pages", .help = "Accepted for compatibility."},
	{OPT("skip-pyperf-profiler-above", GPC_OPT_INT, skip_above), .fallback = "0", .min = 0,
	 .max = INT32_MAX, .metavar = "N", .dest = "python_skip_pyperf_profiler_above",
	 .help = "Accepted for compatibility."},
	{OPT("pyperf-verbose", GPC_OPT_BOOL, is_verbose), .fallback = "false", .implied = "true",
	 .flags = GPC_OPT_SWITCH, .dest = "python_pyperf_verbose",
	 .help = "Accepted for compatibility."},
	{OPT("pyspy-process", GPC_OPT_LIST, pids), .metavar = "PIDS",
	 .dest = "python_pyspy_process",
	 .help = "Accepted for compatibility: all processes are looked at."},
	{0},
};

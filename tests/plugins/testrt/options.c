/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#define OPT(opt_name, opt_type, member)                                               \
	.struct_size = sizeof(struct gpc_option), .name = opt_name, .type = opt_type, \
	.offset = offsetof(struct testrt_options, member)
#define MODES "on|other|disabled"

const struct gpc_option testrt_options[] = {
	{OPT("mode", GPC_OPT_CHOICE, mode), .fallback = "disabled", .choices = MODES,
	 .flags = GPC_OPT_MODE, .help = "Off unless asked for."},
	{OPT("no-testrt", GPC_OPT_CHOICE, mode), .implied = "disabled", .choices = MODES,
	 .flags = GPC_OPT_ABSOLUTE | GPC_OPT_SWITCH, .help = "Off in any case."},
	{OPT("flag", GPC_OPT_BOOL, flag), .fallback = "false", .implied = "true",
	 .flags = GPC_OPT_SWITCH, .help = "A switch."},
	{OPT("count", GPC_OPT_INT, count), .fallback = "3", .min = 1, .max = 100,
	 .aliases = "trt-count|trt-n", .metavar = "N", .help = "A number with bounds."},
	{OPT("bytes", GPC_OPT_BYTES, bytes), .fallback = "64k", .help = "A size."},
	{OPT("wait", GPC_OPT_DURATION, wait_ns), .fallback = "10ms", .flags = GPC_OPT_LIVE,
	 .help = "A duration: how long the start takes."},
	{OPT("level", GPC_OPT_INT, level), .fallback = "0", .implied = "7",
	 .flags = GPC_OPT_OPTIONAL, .help = "A number that may be left out."},
	{OPT("label", GPC_OPT_STRING, label), .help = "A text."},
	{OPT("words", GPC_OPT_LIST, words), .help = "Texts."},
	{OPT("patterns", GPC_OPT_LIST, patterns), .flags = GPC_OPT_REGEX,
	 .help = "Texts with commas in them."},
	{OPT("token", GPC_OPT_STRING, token), .flags = GPC_OPT_SECRET, .help = "Not to be seen."},
	{OPT("trace", GPC_OPT_STRING, trace), .flags = GPC_OPT_HIDDEN, .metavar = "FILE",
	 .help = "Where each callback leaves a line."},
	{.struct_size = 0},
};

/* SPDX-License-Identifier: Apache-2.0 */
#include "testpull.h"

#define OPT(opt_name, opt_type, member)                                               \
	.struct_size = sizeof(struct gpc_option), .name = opt_name, .type = opt_type, \
	.offset = offsetof(struct testpull_options, member)

static const struct gpc_option options[] = {
	{OPT("mode", GPC_OPT_CHOICE, mode), .fallback = "on", .choices = "on|disabled",
	 .flags = GPC_OPT_MODE, .help = "Whether it is asked."},
	{OPT("trouble", GPC_OPT_CHOICE, trouble), .fallback = "none",
	 .choices = "none|slow|room|overlap|order|beyond|fail|sleep|read|empty|still",
	 .help = "How it misbehaves."},
	{OPT("join", GPC_OPT_CHOICE, joins_always), .fallback = "proven",
	 .choices = "proven|always", .help = "Whether it joins what is not proven."},
	{OPT("stack", GPC_OPT_BYTES, stack_bytes), .fallback = "512", .max = 65528,
	 .help = "Bytes of the stack that it wants with each sample."},
	{.struct_size = 0},
};

static const struct gpc_collector *const collectors[] = {&testpull_walk, &testpull_step, NULL};

static const struct gpc_module module = {
	.struct_size = sizeof module,
	.abi_major = GPC_ABI_MAJOR,
	.abi_minor = GPC_ABI_MINOR,
	.options_bytes = sizeof(struct testpull_options),
	.name = "testpull",
	.version = "1.0",
	.summary = "collectors that are asked at samples, for tests",
	.options = options,
	.collectors = collectors,
};
GPC_MODULE(testpull, 0, module)

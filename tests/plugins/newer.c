/* SPDX-License-Identifier: Apache-2.0 */
/* As if built against a later header whose structs have more members. */
#include "callbacks.h"

#include <stddef.h>

static const struct {
	struct gpc_collector ours;
	uint64_t later[4];
} collector = {
	.ours =
		{
			.struct_size = sizeof collector,
			.scope = GPC_SCOPE_SYSTEM,
			.name = "newer",
			.create = create,
			.destroy = destroy,
		},
	.later = {1, 2, 3, 4},
};
static const struct gpc_collector *const collectors[] = {&collector.ours, NULL};

static const struct {
	struct gpc_module ours;
	uint64_t later[4];
} module = {
	.ours =
		{
			.struct_size = sizeof module,
			.abi_major = GPC_ABI_MAJOR,
			.abi_minor = GPC_ABI_MINOR,
			.name = "newer",
			.version = "9",
			.collectors = collectors,
		},
	.later = {5, 6, 7, 8},
};
GPC_MODULE(newer, 0, module.ours)

/* SPDX-License-Identifier: Apache-2.0 */
/* As if built against an older header that ended sooner: what lies behind its
 * tables is not theirs and must not be read. */
#include "callbacks.h"

#include <stddef.h>

static const struct gpc_collector collector = {
	.struct_size = offsetof(struct gpc_collector, probe),
	.scope = GPC_SCOPE_SYSTEM,
	.name = "older",
	.create = create,
	.destroy = destroy,
	.probe = (gpc_status(*)(void *))1,
	.window = (gpc_status(*)(void *, void *, const struct gpc_window *, struct gpc_writer *))1,
};
static const struct gpc_collector *const collectors[] = {&collector, NULL};

static const struct gpc_module module = {
	.struct_size = offsetof(struct gpc_module, sinks),
	.abi_major = GPC_ABI_MAJOR,
	.abi_minor = GPC_ABI_MINOR,
	.name = "older",
	.version = "0.9",
	.collectors = collectors,
	.sinks = (const struct gpc_sink *const *)1,
};
GPC_MODULE(older, 0, module)

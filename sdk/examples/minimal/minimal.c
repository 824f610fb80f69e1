/* SPDX-License-Identifier: Apache-2.0 */
/* The smallest collector: in every window, one sample for each process whose
 * program is called sleep. */
#include <gpc/plugin.h>

static gpc_status create(const struct gpc_host *h, const void *options, void **self)
{
	(void)options;
	*self = (void *)h; /* all the state it has */
	return GPC_OK;
}

static void destroy(void *self)
{
	(void)self;
}

static gpc_status attach(void *self, const struct gpc_target *t, void **tctx)
{
	(void)self;
	*tctx = (void *)t; /* lives until detach returns */
	return GPC_OK;
}

static void detach(void *self, void *tctx)
{
	(void)self;
	(void)tctx;
}

static gpc_status window(void *self, void *tctx, const struct gpc_window *win, struct gpc_writer *w)
{
	const struct gpc_target *t = tctx;
	struct gpc_frame_desc asleep = {.struct_size = sizeof asleep, .suffix = 1};
	struct gpc_sample s = {.target = t->id, .value = 1, .cpu = -1, .event = 1};
	gpc_frame frame;

	(void)self;
	(void)win;
	asleep.function = w->str(w, "asleep", 6);
	frame = w->frame(w, &asleep);
	return frame ? gpc_write(w, &s, &frame, 1) : GPC_E_NOMEM;
}

/* clang-format off */
static const char *const suffixes[] = {"nap", NULL};
static const struct gpc_match match[] = {{sizeof *match, GPC_MATCH_EXE, "sleep"}, {0, 0, NULL}};
static const struct gpc_event events[] = {
	{sizeof *events, 1, 0, "naps", "count"}, {0, 0, 0, NULL, NULL}};
static const struct gpc_collector naps = {
	.struct_size = sizeof naps, .scope = GPC_SCOPE_PROCESS, .name = "naps",
	.suffixes = suffixes, .match = match, .events = events, .create = create,
	.destroy = destroy, .attach = attach, .detach = detach, .window = window};
static const struct gpc_collector *const collectors[] = {&naps, NULL};
static const struct gpc_module module = {
	.struct_size = sizeof module, .abi_major = GPC_ABI_MAJOR, .abi_minor = GPC_ABI_MINOR,
	.name = "minimal", .version = "1", .collectors = collectors};
GPC_MODULE(minimal, 0, module)

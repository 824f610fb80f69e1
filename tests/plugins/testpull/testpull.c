/* SPDX-License-Identifier: Apache-2.0 */
#include "testpull.h"

#include <stdlib.h>
#include <time.h>

#define OPT(opt_name, opt_type, member)                                               \
	.struct_size = sizeof(struct gpc_option), .name = opt_name, .type = opt_type, \
	.offset = offsetof(struct testpull_options, member)
#define MS_NS UINT64_C(1000000)

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

gpc_status testpull_create(const struct gpc_host *h, const void *opts, void **self)
{
	struct testpull *p = calloc(1, sizeof *p);

	if (!p)
		return GPC_E_NOMEM;
	p->host = h;
	p->options = opts;
	*self = p;
	return GPC_OK;
}

void testpull_destroy(void *self)
{
	free(self);
}

gpc_status testpull_window(void *self, void *tctx, const struct gpc_window *win,
			   struct gpc_writer *w)
{
	(void)self;
	(void)tctx;
	(void)win;
	(void)w;
	return GPC_OK;
}

void testpull_detach(void *self, void *tctx)
{
	(void)self;
	free(tctx);
}

gpc_frame testpull_frame(struct gpc_pull_out *out, const char *name, uint32_t len)
{
	struct gpc_frame_desc d = {.struct_size = sizeof d, .suffix = 1};

	d.function = out->writer->str(out->writer, name, len);
	return out->writer->frame(out->writer, &d);
}

gpc_status testpull_trouble_before(struct testpull *p)
{
	struct timespec long_time = {.tv_sec = 3};
	uint64_t until = p->host->now_ns(p->host) + 5 * MS_NS;
	uint32_t call = __atomic_fetch_add(&p->calls, 1, __ATOMIC_RELAXED);

	switch (p->options->trouble) {
	case TROUBLE_SLOW:
		while (p->host->now_ns(p->host) < until)
			;
		return GPC_OK;
	case TROUBLE_SLEEP:
		nanosleep(&long_time, NULL);
		return GPC_OK;
	case TROUBLE_FAIL:
		return call % 2 ? GPC_E_CORRUPT : GPC_OK;
	default:
		return GPC_OK;
	}
}

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

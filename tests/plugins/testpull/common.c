/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "testpull.h"

#define MS_NS UINT64_C(1000000)

const struct gpc_event testpull_events[] = {
	{.struct_size = sizeof(struct gpc_event),
	 .id = 1,
	 .flags = GPC_EVENT_CPU_TIME,
	 .name = "cpu-time",
	 .unit = "samples"},
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

gpc_status testpull_attach(struct testpull *p, const struct gpc_target *target, size_t bytes,
			   gpc_status (*find)(struct testpull *p, const struct gpc_target *target,
					      void *tctx),
			   void **tctx)
{
	void *t = calloc(1, bytes);
	gpc_status st;

	if (!t)
		return GPC_E_NOMEM;
	st = find(p, target, t);
	if (st < 0)
		free(t);
	else
		*tctx = t;
	return st;
}

void testpull_detach(void *self, void *tctx)
{
	(void)self;
	free(tctx);
}

gpc_frame testpull_frame(struct gpc_pull_out *out, const char *name)
{
	struct gpc_frame_desc d = {.struct_size = sizeof d, .suffix = 1};

	d.function = out->writer->str(out->writer, name, (uint32_t)strlen(name));
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

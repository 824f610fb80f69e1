/* SPDX-License-Identifier: Apache-2.0 */
/* Collectors in both forms of pull, for the runtimes tests/workloads/interp.c
 * (testwalk) and anon.c (teststep). On demand they misbehave. */
#ifndef GPC_TESTPULL_H
#define GPC_TESTPULL_H

#include <stddef.h>

#include <gpc/plugin.h>

enum testpull_trouble { /* as the option's choices */
			TROUBLE_NONE,
			TROUBLE_SLOW,    /* answers after five milliseconds */
			TROUBLE_ROOM,    /* says that it wrote more frames than there is room for */
			TROUBLE_OVERLAP, /* runs that overlap */
			TROUBLE_ORDER,   /* runs from the root on */
			TROUBLE_BEYOND,  /* a run behind the native frames */
			TROUBLE_FAIL,    /* each second call fails */
			TROUBLE_SLEEP,   /* never comes back in time: three seconds */
			TROUBLE_READ,    /* reads the page behind interp_hang first */
			TROUBLE_EMPTY,   /* no frames */
			TROUBLE_STILL    /* step: never goes up */
};

struct testpull_options {
	int32_t mode, trouble;
	int32_t joins_always; /* proven or not, to see how often that goes wrong */
	int64_t stack_bytes;
};

struct testpull {
	const struct gpc_host *host;
	const struct testpull_options *options;
	struct gpc_walk_api walk;
	struct gpc_step_api step;
	uint32_t calls; /* atomic */
};

extern const struct gpc_collector testpull_walk, testpull_step;

/* ---- common.c: what both forms share --------------------------------------------- */

extern const struct gpc_event testpull_events[];
gpc_status testpull_create(const struct gpc_host *h, const void *options, void **self);
void testpull_destroy(void *self);
gpc_status testpull_window(void *self, void *tctx, const struct gpc_window *win,
			   struct gpc_writer *w);
/* A new tctx of so many bytes, zeroed, which find fills; freed when it cannot. */
gpc_status testpull_attach(struct testpull *p, const struct gpc_target *target, size_t bytes,
			   gpc_status (*find)(struct testpull *p, const struct gpc_target *target,
					      void *tctx),
			   void **tctx);
void testpull_detach(void *self, void *tctx);
/* A frame of this name, with the collector's first suffix. */
gpc_frame testpull_frame(struct gpc_pull_out *out, const char *name);
/* Some troubles are the same in both forms; GPC_OK: go on with the answer. */
gpc_status testpull_trouble_before(struct testpull *p);

/* The members that are the same for both collectors. */
#define TESTPULL_COLLECTOR                                                                 \
	.struct_size = sizeof(struct gpc_collector), .scope = GPC_SCOPE_PROCESS,           \
	.caps = GPC_CAP_CPU, .touch = GPC_TOUCH_READS, .events = testpull_events,          \
	.create = testpull_create, .destroy = testpull_destroy, .detach = testpull_detach, \
	.window = testpull_window

#endif

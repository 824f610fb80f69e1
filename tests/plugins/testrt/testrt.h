/* SPDX-License-Identifier: Apache-2.0 */
/* What both test collectors share: an instance, a target, and playing a script. */
#ifndef GPC_TESTRT_H
#define GPC_TESTRT_H

#include <stdio.h>

#include "options.h"
#include "script.h"

#define SEEN_MAX 4096

enum { EVENT_CPU = 1, EVENT_ALLOC };

struct testrt {
	const struct gpc_host *host;
	const struct testrt_options *options;
	const char *name; /* of the collector: prefix of its scripts */
	FILE *trace;
	/* The socket collector: processes it has asked for, (pid, start time). */
	const struct gpc_processes_api *processes;
	uint64_t seen[SEEN_MAX];
	uint32_t n_seen;
};

struct testrt_target {
	const struct gpc_target *target;
	struct script script;
	int32_t fifo, child_out; /* -1: none */
	uint32_t ticks;
	char line[256];
};

extern const struct gpc_event testrt_events[];
extern const struct gpc_collector testrt_collector, testsock_collector;

void testrt_trace(struct testrt *rt, const char *fmt, ...) GPC_PRINTF(2, 3);

/* Callbacks that both have. */
gpc_status testrt_create(const struct gpc_host *h, const void *options, const char *name,
			 void **self);
void testrt_destroy(void *self);
gpc_status testrt_attach(void *self, const struct gpc_target *t, void **tctx);
void testrt_detach(void *self, void *tctx);
gpc_status testrt_ready(void *self, void *tctx, const struct gpc_ready *r, struct gpc_writer *w);
gpc_status testrt_window(void *self, void *tctx, const struct gpc_window *win,
			 struct gpc_writer *w);

/* play.c: writes the stacks whose first word is kind ("": those without one). */
gpc_status testrt_play(struct testrt *rt, struct testrt_target *c, const char *name, uint16_t event,
		       struct gpc_writer *w);
/* One stack as text, root first. */
gpc_status testrt_write(struct testrt *rt, struct testrt_target *c, const struct script_line *line,
			uint16_t event, struct gpc_writer *w);
/* The directives of the window: reports, delays, misdeeds. */
gpc_status testrt_act(struct testrt *rt, struct testrt_target *c, struct gpc_writer *w);

#endif

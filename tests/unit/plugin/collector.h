/* SPDX-License-Identifier: Apache-2.0 */
/* A collector inside the test: it answers what the test wants and counts what
 * it is asked. Its options are itself. Counters are atomic. */
#ifndef GPC_TESTS_COLLECTOR_H
#define GPC_TESTS_COLLECTOR_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "plugin/instance.h"

struct fake {
	struct gpc_collector collector;
	struct gpc_match match[2];
	struct gpc_event events[2];
	const struct gpc_host *host;
	struct gpc_instance *instance;
	struct gpc_log *log; /* NULL: none */
	/* What it is to do; set before it is asked. */
	gpc_status create_status, probe_status, attach_status, window_status;
	const char *why; /* reported by probe */
	int32_t score;
	bool is_stuck; /* window() and claim() wait until it is false; atomic */
	gpc_status (*write)(struct fake *f, uint64_t target, struct gpc_writer *w);
	/* What it was asked. */
	unsigned created, destroyed, started, stopped, claims, attaches, detaches, windows,
		events_seen;
	uint64_t attached_to, detached_from; /* the latest ids */
	char last_path[64];
};

#define fake_get(f, member)    __atomic_load_n(&(f)->member, __ATOMIC_ACQUIRE)
#define fake_add(f, member)    __atomic_add_fetch(&(f)->member, 1, __ATOMIC_ACQ_REL)
#define fake_set(f, member, v) __atomic_store_n(&(f)->member, v, __ATOMIC_RELEASE)

static inline gpc_status fake_create(const struct gpc_host *h, const void *options, void **self)
{
	struct fake *f = (struct fake *)(uintptr_t)options;

	f->host = h;
	fake_add(f, created);
	if (f->create_status == GPC_OK)
		*self = f;
	return f->create_status;
}

static inline void fake_destroy(void *self)
{
	fake_add((struct fake *)self, destroyed);
}

static inline gpc_status fake_probe(void *self)
{
	struct fake *f = self;

	if (f->why)
		f->host->report(f->host, NULL, f->probe_status, f->why);
	return f->probe_status;
}

static inline gpc_status fake_start(void *self, const struct gpc_session *s)
{
	(void)s;
	fake_add((struct fake *)self, started);
	return GPC_OK;
}

static inline void fake_stop(void *self)
{
	fake_add((struct fake *)self, stopped);
}

static inline void fake_wait(struct fake *f)
{
	while (fake_get(f, is_stuck))
		usleep(1000);
}

static inline int32_t fake_claim(void *self, const struct gpc_target *t)
{
	struct fake *f = self;

	(void)t;
	fake_add(f, claims);
	fake_wait(f);
	return fake_get(f, score);
}

static inline gpc_status fake_attach(void *self, const struct gpc_target *t, void **tctx)
{
	struct fake *f = self;

	*tctx = (void *)(uintptr_t)t->id;
	fake_set(f, attached_to, t->id);
	fake_add(f, attaches);
	return fake_get(f, attach_status);
}

static inline void fake_detach(void *self, void *tctx)
{
	struct fake *f = self;

	fake_set(f, detached_from, (uintptr_t)tctx);
	fake_add(f, detaches);
}

static inline gpc_status fake_window(void *self, void *tctx, const struct gpc_window *win,
				     struct gpc_writer *w)
{
	struct fake *f = self;
	gpc_status st = GPC_OK;

	(void)win;
	fake_add(f, windows);
	fake_wait(f);
	if (f->write)
		st = f->write(f, (uintptr_t)tctx, w);
	return st < 0 ? st : f->window_status;
}

/* runtime as in gpc_collector; glob: of the executables that are its own. */
static inline void fake_init(struct fake *f, const char *name, const char *runtime,
			     const char *glob)
{
	memset(f, 0, sizeof *f);
	f->match[0] = (struct gpc_match){sizeof f->match[0], GPC_MATCH_EXE, glob};
	f->events[0] =
		(struct gpc_event){sizeof f->events[0], 1, GPC_EVENT_CPU_TIME, "cpu", "samples"};
	f->score = 60;
	f->collector = (struct gpc_collector){.struct_size = sizeof f->collector,
					      .scope = GPC_SCOPE_PROCESS,
					      .caps = GPC_CAP_CPU,
					      .touch = GPC_TOUCH_READS,
					      .name = name,
					      .runtime = runtime,
					      .summary = "",
					      .match = f->match,
					      .events = f->events,
					      .create = fake_create,
					      .destroy = fake_destroy,
					      .probe = fake_probe,
					      .start = fake_start,
					      .stop = fake_stop,
					      .claim = fake_claim,
					      .attach = fake_attach,
					      .detach = fake_detach,
					      .window = fake_window};
}

static inline gpc_status fake_run(struct fake *f, const struct gpc_services *services,
				  struct gpc_names *names, struct gpc_err *err)
{
	struct gpc_instance_setup setup = {.collector = &f->collector,
					   .options = f,
					   .services = services,
					   .names = names,
					   .log = f->log};
	struct gpc_session session = {.struct_size = sizeof session};
	gpc_status st = gpc_instance_new(&setup, &f->instance, err);

	return st < 0 ? st : gpc_instance_start(f->instance, &session, err);
}

/* Waits up to ten seconds for a counter. */
#define fake_wait_for(f, member, n)                     \
	({                                              \
		for (int w_ = 0; w_ < 1000; w_++) {     \
			if (fake_get(f, member) >= (n)) \
				break;                  \
			usleep(10000);                  \
		}                                       \
		fake_get(f, member);                    \
	})

#endif

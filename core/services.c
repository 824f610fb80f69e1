/* SPDX-License-Identifier: Apache-2.0 */
/* What collectors may ask the core for: gpc.source/1 and gpc.processes/1. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "core_impl.h"
#include "plugin/worker.h"
#include "proc/target.h"

static struct gpc_core *core_of(const struct gpc_host *h)
{
	return gpc_instance_services(gpc_instance_of_host(h))->ctx;
}

/* ---- gpc.source/1 ------------------------------------------------------------------- */

static void fill_request(const struct gpc_source_event *e, struct gpc_perf_request *ret)
{
	*ret = (struct gpc_perf_request){.name = e->name ? e->name : "event",
					 .type = e->type,
					 .precise = e->precise,
					 .config = e->config,
					 .config1 = e->config1,
					 .config2 = e->config2,
					 .rate = e->rate,
					 .unwind = e->unwind,
					 .stack_bytes = e->stack_bytes,
					 .is_period = e->flags & GPC_SOURCE_PERIOD,
					 .no_kernel = e->flags & GPC_SOURCE_NO_KERNEL};
}

/* The collector's own row for the event. */
static const struct gpc_event *event_row(const struct gpc_collector *c, uint16_t id)
{
	const struct gpc_event *e = c->events;

	for (; e && e->struct_size;
	     e = (const struct gpc_event *)(const void *)((const char *)e + e->struct_size))
		if (e->id == id)
			return e;
	return NULL;
}

static struct gpc_source *new_source(struct gpc_core *core, const struct gpc_collector *c,
				     const struct gpc_source_event *e)
{
	const struct gpc_event *row = event_row(c, e->event);
	struct gpc_source *s = calloc(1, sizeof *s);

	if (!s)
		return NULL;
	s->core = core;
	s->event = e->event;
	s->rate = e->rate;
	s->is_period = e->flags & GPC_SOURCE_PERIOD;
	s->is_cpu_time = row && row->flags & GPC_EVENT_CPU_TIME;
	s->is_open = true;
	snprintf(s->name, sizeof s->name, "%s", e->name ? e->name : "event");
	/* CPU time has one name, whatever clock measures it. */
	snprintf(s->event_name, sizeof s->event_name, "%s",
		 s->is_cpu_time && row->name ? row->name : s->name);
	snprintf(s->unit, sizeof s->unit, "%s", row && row->unit ? row->unit : "samples");
	return s;
}

#define CANDIDATES_MAX 16

static gpc_status source_open(const struct gpc_host *h, const struct gpc_source_event *candidates,
			      uint32_t n, struct gpc_source **ret)
{
	struct gpc_core *core = core_of(h);
	struct gpc_instance *i = gpc_instance_of_host(h);
	struct gpc_perf_request requests[CANDIDATES_MAX];
	uint32_t stream = 0, index = 0;
	struct gpc_source *s;
	struct gpc_err err;
	gpc_status st;

	if (n > CANDIDATES_MAX)
		n = CANDIDATES_MAX;
	for (uint32_t k = 0; k < n; k++)
		fill_request(&candidates[k], &requests[k]);
	st = gpc_sampler_open(core->sampler, requests, n, &stream, &index, &err);
	if (st < 0) {
		char why[256] = "";

		if (st == GPC_E_PERM)
			gpc_perf_explain(why, sizeof why);
		h->report(h, NULL, st, *why ? why : err.text);
		return st;
	}
	s = new_source(core, gpc_instance_collector(i), &candidates[index]);
	if (!s)
		return GPC_E_NOMEM;
	s->owner = i;
	s->stream = stream;
	s->candidate = index;
	s->next = core->sources;
	core->sources = s;
	*ret = s;
	return GPC_OK;
}

static void source_stats(struct gpc_source *s, struct gpc_source_stats *ret)
{
	struct gpc_stream_stats stats;
	struct gpc_source_stats all = {.struct_size = sizeof all, .opened = (int32_t)s->candidate};
	uint32_t size = ret->struct_size < sizeof all ? ret->struct_size : sizeof all;

	gpc_sampler_stats(s->core->sampler, s->stream, &stats);
	all.samples = stats.samples;
	all.lost = stats.lost;
	all.throttled = stats.throttled;
	all.cpus = stats.cpus;
	all.no_kernel = stats.no_kernel;
	memcpy(ret, &all, size);
	ret->struct_size = size;
}

/* The stream ends; what it counted until now is still of this window. */
static void source_close(struct gpc_source *s)
{
	if (s->is_open)
		gpc_sampler_close(s->core->sampler, s->stream);
	s->is_open = false;
}

void gpc_core_free_sources(struct gpc_core *core)
{
	while (core->sources) {
		struct gpc_source *s = core->sources;

		core->sources = s->next;
		free(s);
	}
}

/* ---- gpc.processes/1 ---------------------------------------------------------------- */

static int32_t call_with(struct gpc_core *core, int32_t pid,
			 int32_t (*fn)(void *arg, const struct gpc_target *t), void *arg)
{
	struct gpc_target_id id = {.pid = pid};
	struct gpc_target_view *view;
	struct gpc_process *p;
	int32_t answer;

	gpc_sampler_lock(core->sampler);
	p = gpc_table_find(gpc_sampler_table(core->sampler), pid);
	if (p) {
		id.id = p->id;
		id.exec_count = p->exec_count;
	}
	gpc_sampler_unlock(core->sampler);
	if (gpc_target_read(&id, &view, NULL) < 0)
		return 0;
	gpc_core_complete(core, view);
	/* Kernel threads have no memory of their own. */
	answer = view->target.n_maps ? fn(arg, &view->target) : 0;
	gpc_target_put(view);
	return answer;
}

static int32_t processes_each(const struct gpc_host *h,
			      int32_t (*fn)(void *arg, const struct gpc_target *t), void *arg)
{
	struct gpc_core *core = core_of(h);
	autodir DIR *dir = opendir("/proc");
	struct dirent *e;
	int32_t answer = 0;

	while (dir && !answer && (e = readdir(dir))) {
		int32_t pid = (int32_t)strtol(e->d_name, NULL, 10);

		if (pid > 0)
			answer = call_with(core, pid, fn, arg);
	}
	return answer;
}

static gpc_status processes_subscribe(const struct gpc_host *h, uint32_t kinds,
				      void (*fn)(void *self, const struct gpc_process_event *ev))
{
	return gpc_instance_subscribe(gpc_instance_of_host(h), kinds, fn);
}

static gpc_status processes_attach(const struct gpc_host *h, int32_t pid)
{
	struct gpc_core *core = core_of(h);
	gpc_status st;

	gpc_sampler_lock(core->sampler);
	/* Before discovery runs (from start()) there is nothing to ask. */
	st = core->discovery ? gpc_discovery_attach(core->discovery, gpc_instance_of_host(h), pid)
			     : GPC_E_RETRY;
	gpc_sampler_unlock(core->sampler);
	return st;
}

/* Events of the table, to those who asked for them. Under the table's lock. */
void gpc_core_tell(struct gpc_core *core, const struct gpc_process_event *ev)
{
	for (size_t k = 0; k < core->instances.n; k++)
		gpc_instance_tell(core->instances.at[k], ev);
}

/* ---- the tables ------------------------------------------------------------------------ */

static const void *extension(void *ctx, const char *id)
{
	static const struct gpc_source_api source = {.struct_size = sizeof source,
						     .open = source_open,
						     .stats = source_stats,
						     .close = source_close};
	static const struct gpc_processes_api processes = {.struct_size = sizeof processes,
							   .each = processes_each,
							   .subscribe = processes_subscribe,
							   .attach = processes_attach};
	if (strcmp(id, "gpc.source/1") == 0)
		return &source;
	if (strcmp(id, "gpc.processes/1") == 0)
		return &processes;
	if (strcmp(id, "gpc.elf/1") == 0)
		return gpc_core_elf_extension();
	if (strcmp(id, "gpc.about/1") == 0)
		return gpc_core_about_extension();
	if (strcmp(id, "gpc.inject/1") == 0)
		return gpc_core_inject_extension(ctx);
	return gpc_core_pull_extension(id);
}

static bool should_stop(void *ctx)
{
	struct gpc_core *core = ctx;

	return __atomic_load_n(&core->is_stopping, __ATOMIC_RELAXED);
}

void gpc_core_init_services(struct gpc_core *core)
{
	core->services.ctx = core;
	core->services.extension = extension;
	core->services.should_stop = should_stop;
}

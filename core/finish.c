/* SPDX-License-Identifier: Apache-2.0 */
/* A window becomes a profile: collect, symbolize, merge. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "core_impl.h"
#include "profile/about.h"
#include "profile/merge.h"

#define TABLE_BYTES (64u << 20)       /* cap of a symbolized table */
#define NAMES_BYTES (4u << 20)        /* then a new epoch of names begins */
#define NAMES_MAX   (32u << 20)       /* within a window */
#define SETTLE_NS   (500 * GPC_MS_NS) /* for files that are being opened */
#define LOCATE_NS   GPC_SECOND_NS     /* for runtimes to tell names of containers */

static void cleanup_stacks(struct gpc_stacks **s)
{
	gpc_stacks_free(*s);
}
#define auto_stacks autocall(cleanup_stacks) struct gpc_stacks *

/* What a window's profile is made of, as it comes together. */
struct build {
	struct gpc_core *core;
	const struct gpc_window *win;
	struct gpc_names *next_names;
	struct gpc_symbolizer symbolizer;
	struct gpc_profile *profile;
	vec(struct gpc_stacks *) runtimes; /* CPU time of runtime collectors */
	struct gpc_stacks *perf;           /* CPU time of perf; NULL: perf is off */
	const struct gpc_source *cpu;      /* whose it is */
	struct gpc_reports reports;        /* of all collectors */
	struct gpc_u64map processes;       /* those the profile has */
	struct gpc_u64map threads;         /* the same, by key */
	uint64_t locate_until_ns;
};

static void build_deinit(struct build *b)
{
	for (size_t i = 0; i < b->runtimes.n; i++)
		gpc_stacks_free(b->runtimes.at[i]);
	vec_deinit(&b->runtimes);
	gpc_stacks_free(b->perf);
	gpc_reports_deinit(&b->reports);
	gpc_u64map_deinit(&b->processes);
	gpc_u64map_deinit(&b->threads);
	gpc_profile_put(b->profile);
}

/* ---- symbols ------------------------------------------------------------------------- */

static gpc_status named(struct build *b, const struct gpc_stacks *raw, bool is_foreign,
			struct gpc_stacks **ret, struct gpc_err *err)
{
	auto_stacks out = NULL;

	b->symbolizer.is_foreign = is_foreign;
	gpc_try(gpc_stacks_new(TABLE_BYTES, &out, err));
	gpc_try(gpc_symbolize(&b->symbolizer, raw, out, err));
	*ret = take(out);
	return GPC_OK;
}

/* ---- processes ------------------------------------------------------------------------- */

/* New; locked. */
static char *container_group(const struct build *b, const struct gpc_process *p)
{
	const char *cgroup = gpc_table_container(gpc_sampler_table(b->core->sampler), p);

	return cgroup ? strdup(cgroup) : NULL;
}

static gpc_status add_process(struct build *b, uint64_t id, struct gpc_err *err)
{
	struct gpc_profile_process proc = {.id = id, .comm = ":gone", .container = "", .appid = ""};
	autocall(gpc_container_deinit) struct gpc_container container = {0};
	autofree char *cgroup = NULL, *appid = NULL;
	json_t *metadata;
	char comm[16];
	struct gpc_process *p;
	uint64_t known;

	if (gpc_u64map_get(&b->processes, id, &known))
		return GPC_OK;
	if (!gpc_u64map_set(&b->processes, id, 0))
		return gpc_err_nomem(err);
	gpc_sampler_lock(b->core->sampler);
	p = gpc_table_by_id(gpc_sampler_table(b->core->sampler), id);
	if (p) {
		proc.pid = p->pid;
		memcpy(comm, p->comm, sizeof comm);
		proc.comm = comm;
		cgroup = container_group(b, p);
	}
	gpc_sampler_unlock(b->core->sampler);
	if (gpc_core_container(b->core, cgroup, b->locate_until_ns, &container)) {
		proc.container = container.name ? container.name : "";
		proc.pod = container.pod;
		proc.pod_namespace = container.pod_namespace;
		proc.container_id = container.id.hex;
	}
	gpc_abouts_find(b->core->abouts, id, &appid, &metadata);
	if (appid && b->core->opts.collect_appids)
		proc.appid = appid;
	proc.metadata = gpc_core_app_metadata(b->core, proc.pid, metadata);
	json_decref(metadata);
	return gpc_profile_add_process(b->profile, &proc, err);
}

static gpc_status add_thread(struct build *b, uint64_t key, struct gpc_err *err)
{
	int32_t tid = gpc_key_tid(key);
	uint64_t known;
	char name[16];

	if (!tid || gpc_u64map_get(&b->threads, key, &known))
		return GPC_OK;
	if (!gpc_u64map_set(&b->threads, key, 0))
		return gpc_err_nomem(err);
	gpc_sampler_thread(b->core->sampler, gpc_key_process(key), tid, name);
	return gpc_profile_add_thread(b->profile, key, name, err);
}

/* Takes stacks. */
static gpc_status add_event(struct build *b, const char *name, const char *unit,
			    struct gpc_stacks *stacks, struct gpc_err *err)
{
	for (size_t i = 0; i < gpc_stacks_rows(stacks); i++) {
		uint64_t key = gpc_stacks_row(stacks, i).process;
		gpc_status st = add_process(b, gpc_key_process(key), err);

		if (st == GPC_OK)
			st = add_thread(b, key, err);
		if (st < 0) {
			gpc_stacks_free(stacks);
			return st;
		}
	}
	return gpc_profile_add_event(b->profile, name, unit, stacks, err);
}

/* ---- perf's streams ---------------------------------------------------------------------- */

/* The first stream of CPU time is what runtimes are scaled to; others are
 * events of their own. The one opened last stands first. */
static gpc_status take_cpu_stream(struct build *b, struct gpc_err *err)
{
	const struct gpc_stacks *raw = NULL;

	for (const struct gpc_source *s = b->core->sources; s; s = s->next) {
		const struct gpc_stacks *of = gpc_sampler_take(b->core->sampler, s->stream);

		if (!s->is_cpu_time || !of)
			continue;
		raw = of;
		b->cpu = s;
	}
	return raw ? named(b, raw, false, &b->perf, err) : GPC_OK;
}

/* Two of one name could not be told apart. */
static const char *name_of_other(const struct build *b, const struct gpc_source *s)
{
	return b->cpu && strcmp(s->event_name, "cpu-time") == 0 ? s->name : s->event_name;
}

static gpc_status add_other_streams(struct build *b, struct gpc_err *err)
{
	for (struct gpc_source *s = b->core->sources; s; s = s->next) {
		const struct gpc_stacks *raw = gpc_sampler_take(b->core->sampler, s->stream);
		struct gpc_stacks *stacks;

		if (s == b->cpu || !raw)
			continue;
		gpc_try(named(b, raw, false, &stacks, err));
		gpc_try(add_event(b, name_of_other(b, s), s->unit, stacks, err));
	}
	return GPC_OK;
}

static void give_streams_back(struct gpc_core *core)
{
	for (struct gpc_source *s = core->sources; s; s = s->next)
		gpc_sampler_give_back(core->sampler, s->stream);
}

/* ---- runtime collectors -------------------------------------------------------------------- */

static bool has_process(const struct gpc_stacks *stacks, uint64_t process)
{
	for (size_t i = 0; i < gpc_stacks_rows(stacks); i++)
		if (gpc_key_process(gpc_stacks_row(stacks, i).process) == process)
			return true;
	return false;
}

/* A trouble with a process becomes a stack of one frame, unless the collector
 * saw something of it after all. */
static gpc_status add_error_frames(struct build *b, struct gpc_stacks *stacks,
				   const struct gpc_stacks *raw, const struct gpc_reports *reports)
{
	char text[192];

	for (size_t i = 0; i < reports->list.n; i++) {
		const struct gpc_report *r = &reports->list.at[i];
		struct gpc_frame_entry e = {.flags = GPC_FRAME_ERROR};
		gpc_frame frame;

		if (!r->target || (raw && has_process(raw, r->target)) ||
		    !gpc_report_frame(r, text, sizeof text))
			continue;
		e.function = gpc_names_str(b->core->names, text, strlen(text));
		frame = gpc_names_frame(b->core->names, &e);
		gpc_try(gpc_stacks_add(stacks, r->target, &frame, 1, 1));
	}
	return GPC_OK;
}

static void keep_reports(struct build *b, const struct gpc_reports *reports)
{
	for (size_t i = 0; i < reports->list.n; i++)
		if (!vec_push(&b->reports.list, reports->list.at[i]))
			b->reports.dropped++;
	b->reports.dropped += reports->dropped;
}

static const struct gpc_event *next_event(const struct gpc_event *e)
{
	return (const struct gpc_event *)(const void *)((const char *)e + e->struct_size);
}

static gpc_status take_cpu_event(struct build *b, struct gpc_instance *i, const struct gpc_event *e,
				 const struct gpc_reports *reports, struct gpc_err *err)
{
	const struct gpc_stacks *raw =
		gpc_instance_stacks(i, e->id, gpc_names_epoch(b->core->names));
	auto_stacks stacks = NULL;

	if (raw)
		gpc_try(named(b, raw, true, &stacks, err));
	else
		gpc_try(gpc_stacks_new(TABLE_BYTES, &stacks, err));
	gpc_try(add_error_frames(b, stacks, raw, reports));
	if (!vec_push(&b->runtimes, stacks))
		return gpc_err_nomem(err);
	take(stacks);
	return GPC_OK;
}

static gpc_status take_runtime(struct build *b, struct gpc_instance *i, struct gpc_err *err)
{
	struct gpc_reports reports;
	const struct gpc_event *e = gpc_instance_collector(i)->events;
	gpc_status st = gpc_instance_end_window(i, b->win, err);
	bool is_late;

	if (st >= 0 && !gpc_instance_is_done(i, gpc_names_epoch(b->core->names)))
		st = gpc_err_set(err, GPC_E_NOMEM,
				 "collector %s: what it measured is lost, there was no memory to "
				 "tell it of new names",
				 gpc_instance_name(i));
	is_late = st < 0;
	if (is_late)
		gpc_warn(&b->core->log, "core", "%s", err->text);
	gpc_instance_take_reports(i, &reports);
	if (is_late)
		gpc_reports_add(&reports, 0, 0, st, err->text);
	st = GPC_OK;
	for (; e && e->struct_size && st == GPC_OK && !is_late; e = next_event(e))
		if (e->flags & GPC_EVENT_CPU_TIME &&
		    gpc_instance_collector(i)->scope == GPC_SCOPE_PROCESS)
			st = take_cpu_event(b, i, e, &reports, err);
	keep_reports(b, &reports);
	gpc_reports_deinit(&reports);
	return st;
}

static gpc_status add_other_events(struct build *b, struct gpc_instance *i, struct gpc_err *err)
{
	const struct gpc_event *e = gpc_instance_collector(i)->events;

	for (; e && e->struct_size; e = next_event(e)) {
		const struct gpc_stacks *raw =
			gpc_instance_stacks(i, e->id, gpc_names_epoch(b->core->names));
		struct gpc_stacks *stacks;

		if (e->flags & GPC_EVENT_CPU_TIME || !raw || !gpc_stacks_rows(raw))
			continue;
		gpc_try(named(b, raw, true, &stacks, err));
		gpc_try(add_event(b, e->name, e->unit, stacks, err));
	}
	return GPC_OK;
}

/* ---- together ----------------------------------------------------------------------------------
 */

static bool has_cpu_time(const struct build *b)
{
	return b->perf || b->runtimes.n;
}

static gpc_status add_cpu_time(struct build *b, struct gpc_err *err)
{
	struct gpc_stacks *merged;

	if (!has_cpu_time(b))
		return GPC_OK;
	gpc_try(gpc_merge(b->core->names, b->perf, (const struct gpc_stacks *const *)b->runtimes.at,
			  b->runtimes.n, TABLE_BYTES, &merged, err));
	return add_event(b, "cpu-time", "samples", merged, err);
}

/* Stacks of the old protocol begin with the process. */
static bool is_v1(const struct gpc_core *core)
{
	const char *version = core->opts.profile_api_version;

	return version && strcmp(version, "v1") == 0;
}

static gpc_status assemble(struct build *b, struct gpc_err *err)
{
	struct gpc_core *core = b->core;
	autofree char *head = NULL;

	for (size_t i = 0; i < core->instances.n; i++)
		gpc_try(gpc_instance_begin_window(core->instances.at[i], b->win, b->next_names,
						  err));
	gpc_sampler_settle(core->sampler, SETTLE_NS);
	gpc_try(take_cpu_stream(b, err));
	for (size_t i = 0; i < core->instances.n; i++)
		gpc_try(take_runtime(b, core->instances.at[i], err));
	gpc_core_begin_app_metadata(core);
	gpc_core_begin_containers(core);
	b->locate_until_ns = gpc_now_ns() + LOCATE_NS;
	gpc_try(add_cpu_time(b, err));
	gpc_try(add_other_streams(b, err));
	for (size_t i = 0; i < core->runtimes.n; i++)
		gpc_try(add_other_events(b, core->runtimes.at[i], err));
	core->kernel_hidden = b->symbolizer.kernel_hidden;
	if (b->symbolizer.jit_spent.is_short)
		gpc_warn(&core->log, "core",
			 "perf maps and jitdump files are too large together: some generated code "
			 "has no names");
	gpc_try(gpc_core_head(core, b->win, &b->reports, &head, err));
	gpc_profile_set_wants(b->profile, core->wants);
	gpc_profile_set_prefix(b->profile, !is_v1(core) && core->opts.application_metadata,
			       !is_v1(core));
	return gpc_profile_set_header(b->profile, head, err);
}

struct gpc_names *gpc_core_new_names(uint32_t epoch)
{
	struct gpc_names *names = gpc_names_new(epoch);

	if (names && gpc_names_limit(names, NAMES_MAX) < 0) {
		gpc_names_put(names);
		return NULL;
	}
	return names;
}

static void tell_refused(struct gpc_core *core)
{
	uint64_t n = gpc_names_refused(core->names);

	if (n)
		gpc_warn(&core->log, "core",
			 "names over the memory limit of %u MB: %" PRIu64
			 " frames are called " GPC_NAMES_OVER,
			 NAMES_MAX >> 20, n);
}

/* Names are kept across windows for the caches of runtime collectors, until they
 * have grown too much. Nobody else gains by it, and machines bring new names all
 * the time. */
struct gpc_names *gpc_core_next_names(struct gpc_core *core)
{
	struct gpc_names *fresh = NULL;

	if (!core->runtimes.n || gpc_names_bytes(core->names) >= NAMES_BYTES)
		fresh = gpc_core_new_names(gpc_names_epoch(core->names) + 1);
	return fresh ? fresh : gpc_names_get(core->names);
}

void gpc_core_adopt_names(struct gpc_core *core, struct gpc_names *taken)
{
	gpc_names_put(core->names);
	core->names = taken;
}

gpc_status gpc_core_finish(struct gpc_core *core, const struct gpc_window *win,
			   struct gpc_names *next_names, int64_t end_unix_ns,
			   struct gpc_profile **ret, struct gpc_err *err)
{
	struct build b = {.core = core, .win = win, .next_names = next_names};
	struct gpc_profile_span span = {.seq = win->seq,
					.duration_ns = win->end_ns - win->begin_ns,
					.end_unix_ns = end_unix_ns};
	gpc_status st;

	span.begin_unix_ns = end_unix_ns - (int64_t)span.duration_ns;
	b.symbolizer = (struct gpc_symbolizer){.sampler = core->sampler,
					       .names = core->names,
					       .log = &core->log,
					       .vdso = core->vdso,
					       .insert_dso = core->opts.insert_dso_name,
					       .addresses = core->wants & GPC_WANT_ADDRESSES,
					       .kernel_hidden = core->kernel_hidden,
					       .demangle = core->opts.demangle,
					       .inlines = core->opts.inlines};
	st = gpc_profile_new(core->names, &span, &b.profile, err);
	if (st == GPC_OK)
		st = assemble(&b, err);
	if (st == GPC_OK)
		*ret = take(b.profile);
	tell_refused(core);
	build_deinit(&b);
	give_streams_back(core);
	return st;
}

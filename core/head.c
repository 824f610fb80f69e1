/* SPDX-License-Identifier: Apache-2.0 */
/* The header of a profile: the machine, the session, what went wrong. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "core_impl.h"
#include "profile/header.h"
#include "profile/meta.h"

#define EXTERNAL_MAX   (16u << 20)
#define EXTERNAL_STALE 300 /* seconds */

/* ---- metadata given by a file ------------------------------------------------------- */

/* *ret is new. */
static gpc_status read_fresh(const char *path, char **ret, size_t *n, struct gpc_err *err)
{
	struct stat st;
	/* Non-blocking: a pipe without a writer must not hold us up. */
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	if (fd < 0 || fstat(fd, &st) < 0)
		return gpc_err_sys(err, "--external-metadata: %s", path);
	if (time(NULL) - st.st_mtime > EXTERNAL_STALE)
		return gpc_err_set(err, GPC_E_CONFIG,
				   "--external-metadata: %s is older than %d seconds: stale", path,
				   EXTERNAL_STALE);
	if (gpc_read_fd(fd, EXTERNAL_MAX, ret, n, err) < 0)
		return gpc_err_prefix(err, "--external-metadata: %s", path);
	return GPC_OK;
}

/* {"static": {...}, "application": {"PID": {...}}}; older than five minutes it is
 * stale. *ret is new. */
static gpc_status read_external(const char *path, json_t **ret, struct gpc_err *err)
{
	autofree char *text = NULL;
	json_error_t why;
	size_t n;

	gpc_try(read_fresh(path, &text, &n, err));
	*ret = json_loadb(text, n, JSON_REJECT_DUPLICATES, &why);
	if (!json_is_object(*ret)) {
		json_decref(*ret);
		*ret = NULL;
		return gpc_err_set(err, GPC_E_CORRUPT,
				   "--external-metadata: %s, line %d: no JSON object", path,
				   why.line);
	}
	return GPC_OK;
}

/* The part about processes is read again for each profile. */
void gpc_core_begin_app_metadata(struct gpc_core *core)
{
	struct gpc_err err;
	json_t *fresh = NULL;

	json_decref(core->app_metadata);
	core->app_metadata = json_array();
	json_array_append_new(core->app_metadata, json_null());
	if (!core->opts.external_metadata)
		return;
	/* What it said before goes too: pids are used again. */
	if (read_external(core->opts.external_metadata, &fresh, &err) < 0)
		gpc_warn(&core->log, "core", "%s: ignored", err.text);
	json_decref(core->external);
	core->external = fresh;
}

/* What the file of external metadata says of a process goes before what was
 * collected. NULL: nothing is known. New. */
static json_t *metadata_of_process(struct gpc_core *core, int32_t pid, const json_t *collected)
{
	json_t *applications = json_object_get(core->external, "application"), *external, *mine;
	char key[16];

	snprintf(key, sizeof key, "%d", pid);
	external = json_object_get(applications, key);
	if (!json_is_object(external) && !json_is_object(collected))
		return NULL;
	mine = json_object();
	if (collected)
		json_object_update(mine, (json_t *)(uintptr_t)collected);
	if (json_is_object(external))
		json_object_update(mine, external);
	return mine;
}

/* The index in application_metadata; equal objects share one. */
uint32_t gpc_core_app_metadata(struct gpc_core *core, int32_t pid, const json_t *collected)
{
	json_t *mine, *known;
	size_t i;

	if (!core->opts.application_metadata)
		return 0;
	mine = metadata_of_process(core, pid, collected);
	if (!mine)
		return 0;
	json_array_foreach(core->app_metadata, i, known)
	{
		if (!json_equal(known, mine))
			continue;
		json_decref(mine);
		return (uint32_t)i;
	}
	if (json_array_append_new(core->app_metadata, mine) < 0)
		return 0;
	return (uint32_t)json_array_size(core->app_metadata) - 1;
}

/* ---- once ------------------------------------------------------------------------------ */

gpc_status gpc_core_init_head(struct gpc_core *core, struct gpc_err *err)
{
	json_t *arguments = gpc_options_json(core->options);
	struct gpc_meta_input in = {.agent_version = GPC_VERSION,
				    .spawn_unix_ns = gpc_unix_ns(),
				    .in_k8s = getenv("GPROFILER_IN_K8S") != NULL,
				    .in_container = getenv("GPROFILER_IN_CONTAINER") != NULL,
				    .run_arguments = arguments,
				    .root_fd = -1,
				    .proc_fd = -1};
	gpc_status st = GPC_OK;

	if (core->opts.external_metadata) {
		struct gpc_err why;

		st = read_external(core->opts.external_metadata, &core->external, &why);
		/* A file that cannot be read is empty, one that is missing or stale an error. */
		if (st == GPC_E_CORRUPT) {
			gpc_error(&core->log, "core", "%s", why.text);
			st = GPC_OK;
		} else if (st < 0 && err) {
			*err = why;
		}
		in.external = json_object_get(core->external, "static");
	}
	if (st == GPC_OK)
		st = gpc_meta_new(&in, &core->meta, err);
	json_decref(arguments);
	return st;
}

/* ---- for each profile ------------------------------------------------------------------ */

static const struct gpc_source *first_source(const struct gpc_core *core)
{
	const struct gpc_source *found = core->sources;

	for (const struct gpc_source *s = core->sources; s; s = s->next)
		if (s->is_cpu_time)
			found = s;
	return found;
}

static struct gpc_sampling sampling_of(const struct gpc_core *core)
{
	const struct gpc_source *s = first_source(core);

	if (!s || s->is_cpu_time)
		return (struct gpc_sampling){.event = "cpu-time", .rate = core->session.hz};
	return (struct gpc_sampling){.event = s->name,
				     .is_period = s->is_period,
				     .rate = s->rate,
				     .precise = ""};
}

static json_t *reports_json(const struct gpc_reports *reports)
{
	json_t *list = json_array();

	for (size_t i = 0; i < reports->list.n; i++) {
		const struct gpc_report *r = &reports->list.at[i];

		json_array_append_new(list, json_pack("{s:i, s:s, s:s, s:i}", "pid", r->pid,
						      "status", gpc_status_name(r->code), "detail",
						      r->detail, "count", (int)r->count));
	}
	return list;
}

static json_t *troubles_json(const struct gpc_core *core)
{
	json_t *list = json_array();

	for (size_t i = 0; i < core->troubles.n; i++)
		json_array_append_new(list, json_string(core->troubles.at[i]));
	return list;
}

/* What was lost in this window, per stream. */
static json_t *sources_json(struct gpc_core *core)
{
	json_t *list = json_array();

	for (struct gpc_source *s = core->sources; s; s = s->next) {
		struct gpc_stream_stats now;
		json_int_t lost, throttled;

		gpc_sampler_stats(core->sampler, s->stream, &now);
		lost = (json_int_t)(now.lost - s->lost_before);
		throttled = (json_int_t)(now.throttled - s->throttled_before);
		s->lost_before = now.lost;
		s->throttled_before = now.throttled;
		json_array_append_new(list, json_pack("{s:s, s:I, s:I, s:b, s:i, s:I}", "event",
						      s->name, "lost", lost, "throttled", throttled,
						      "kernel_stacks", !now.no_kernel, "cpus",
						      (int)now.cpus, "ring_bytes",
						      (json_int_t)now.ring_bytes));
		pthread_mutex_lock(&core->lock);
		core->state.lost += (uint64_t)lost;
		pthread_mutex_unlock(&core->lock);
	}
	return list;
}

/* How reading runtimes at samples went since the start; NULL: it was not done. */
static json_t *readers_json(struct gpc_core *core)
{
	struct gpc_reader_facts facts;
	struct gpc_pull_stats s;
	json_int_t mean, took;

	gpc_sampler_reader_facts(core->sampler, &facts);
	gpc_pulls_stats(gpc_sampler_pulls(core->sampler), &s);
	if (!facts.is_running && !s.asked)
		return NULL;
	mean = s.read ? (json_int_t)(s.age_ns / s.read / 1000) : 0;
	took = s.read ? (json_int_t)(s.pull_ns / s.read) : 0;
	return json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}",
			 "priority", gpc_priority_name(facts.priority), "asked",
			 (json_int_t)s.asked, "answered", (json_int_t)s.answered, "checked",
			 (json_int_t)s.checked, "exact", (json_int_t)s.exact, "joined",
			 (json_int_t)s.joined, "alone", (json_int_t)s.alone, "failed",
			 (json_int_t)s.failed, "slow", (json_int_t)s.slow, "skipped",
			 (json_int_t)s.skipped, "age_mean_us", mean, "age_max_us",
			 (json_int_t)(s.age_max_ns / 1000), "answer_mean_ns", took);
}

/* How sampling on timers went since the start, by collector; NULL: none does. */
static json_t *tickers_json(struct gpc_core *core)
{
	json_t *all = NULL;

	for (size_t k = 0; k < core->runtimes.n; k++) {
		const struct gpc_instance *i = core->runtimes.at[k];
		struct gpc_ticks_stats s;

		if (!gpc_instance_ticks_stats(i, &s))
			continue;
		if (!all)
			all = json_object();
		json_object_set_new(all, gpc_instance_collector(i)->name,
				    json_pack("{s:I, s:I, s:I, s:I}", "asked", (json_int_t)s.asked,
					      "exact", (json_int_t)s.exact, "failed",
					      (json_int_t)s.failed, "late", (json_int_t)s.late));
	}
	return all;
}

/* How stacks were unwound by call frame information since the start; NULL: none was. */
static json_t *unwinding_json(struct gpc_core *core)
{
	struct gpc_native_stats s;
	struct gpc_unwind_tables_stats t;

	gpc_sampler_unwinding(core->sampler, &s, &t);
	if (!s.samples)
		return NULL;
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "samples",
			 (json_int_t)s.samples, "complete", (json_int_t)s.complete, "without_table",
			 (json_int_t)s.blind, "copy_too_short", (json_int_t)s.cut_short,
			 "by_frame_pointers", (json_int_t)s.chains, "frame_ns",
			 (json_int_t)(s.frames ? s.unwind_ns / s.frames : 0), "tables",
			 (json_int_t)t.tables, "table_bytes", (json_int_t)t.bytes);
}

static json_t *our_part(struct gpc_core *core, const struct gpc_window *win,
			const struct gpc_reports *reports)
{
	return json_pack("{s:s, s:i, s:f, s:o, s:b, s:o, s:i, s:I, s:o, s:o*, s:o*, s:o*}",
			 "version", GPC_VERSION, "window", (int)win->seq, "seconds",
			 (double)(win->end_ns - win->begin_ns) / 1e9, "sources", sources_json(core),
			 "kernel_names", !core->kernel_hidden, "reports", reports_json(reports),
			 "reports_dropped", (int)reports->dropped, "names_refused",
			 (json_int_t)gpc_names_refused(core->names), "plugins_not_running",
			 troubles_json(core), "readers", readers_json(core), "tickers",
			 tickers_json(core), "unwinding", unwinding_json(core));
}

/* Without metadata collection only the host's name is told. */
static json_t *metadata_of(struct gpc_core *core, const struct gpc_sampling *sampling)
{
	json_t *all = NULL, *some;

	if (gpc_meta_session(core->meta, gpc_unix_ns(), "cpu", sampling, &all, NULL) < 0)
		return json_object();
	if (core->opts.collect_metadata)
		return all;
	some = json_object();
	json_object_set(some, "hostname", json_object_get(all, "hostname"));
	json_object_set_new(some, "profiling_mode", json_string("cpu"));
	gpc_meta_put_sampling(some, sampling);
	json_decref(all);
	return some;
}

gpc_status gpc_core_head(struct gpc_core *core, const struct gpc_window *win,
			 const struct gpc_reports *reports, char **ret, struct gpc_err *err)
{
	struct gpc_sampling sampling = sampling_of(core);
	struct gpc_metrics_values load = gpc_metrics_read(&core->metrics);
	json_t *ours = our_part(core, win, reports);
	json_t *metadata = metadata_of(core, &sampling);
	struct gpc_header_input in = {.containers = (const char *const *)core->container_names.at,
				      .n_containers = core->container_names.n,
				      .container_names_enabled = core->opts.container_names,
				      .application_metadata_enabled =
					      core->opts.application_metadata,
				      .metadata = metadata,
				      .cpu_avg = core->opts.collect_metrics ? load.cpu : NAN,
				      .mem_avg = core->opts.collect_metrics ? load.memory : NAN,
				      .application_metadata = core->app_metadata,
				      .profiling_mode = "cpu",
				      .sampling = sampling,
				      .gprofiler_core = ours};
	gpc_status st;

	/* Readers need it, and metadata may be off. */
	if (core->opts.profile_api_version)
		json_object_set_new(ours, "profile_api_version",
				    json_string(core->opts.profile_api_version));
	st = gpc_header_build(&in, ret, err);
	json_decref(ours);
	json_decref(metadata);
	return st;
}

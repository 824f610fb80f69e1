/* SPDX-License-Identifier: Apache-2.0 */
/* From options to running collectors. */
#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "core_impl.h"
#include "profile/about.h"
#include "proc/elfid.h"
#include "plugin/needs.h"

#define STACK_BYTES (16u << 20) /* the most that one event's stacks take in a window */
/* Of a collector's records in a window: enough for a sample of 30 frames in each
 * millisecond on 16 CPUs for a minute. */
#define RECORD_BYTES (UINT64_C(256) << 20)
#define ATTACH_NS    (10 * GPC_SECOND_NS)

/* A plugin that does not come along: said once, and told in the profile. */
void gpc_core_trouble(struct gpc_core *core, const char *fmt, ...)
{
	char *text = NULL;
	va_list args;

	va_start(args, fmt);
	if (vasprintf(&text, fmt, args) < 0)
		text = NULL;
	va_end(args);
	if (!text)
		return;
	gpc_warn(&core->log, "core", "%s", text);
	if (!vec_push(&core->troubles, text))
		free(text);
}

/* ---- which modules ------------------------------------------------------------------ */

static const struct gpc_option *mode_of(const struct gpc_module *m)
{
	const struct gpc_option *o = m->options;

	for (; o && o->struct_size;
	     o = (const struct gpc_option *)(const void *)((const char *)o + o->struct_size))
		if (o->flags & GPC_OPT_MODE)
			return o;
	return NULL;
}

static bool is_off_word(const char *mode)
{
	return mode && (strcmp(mode, "disabled") == 0 || strcmp(mode, "none") == 0);
}

static bool is_named(const struct gpc_core *core, const char *name)
{
	for (uint32_t i = 0; i < core->opts.plugins.n; i++)
		if (strcmp(core->opts.plugins.at[i], name) == 0)
			return true;
	return false;
}

/* The first choice that is no word for off. */
static void first_mode(const struct gpc_option *mode, char *ret, size_t size)
{
	const char *at = mode->choices;

	ret[0] = '\0';
	while (at && *at) {
		size_t n = strcspn(at, "|");

		snprintf(ret, size, "%.*s", (int)n, at);
		if (!is_off_word(ret))
			return;
		at += n + (at[n] == '|');
	}
}

/* Naming a plugin switches it on, unless its own option says otherwise. */
static gpc_status decide_mode(struct gpc_core *core, struct gpc_module_state *s,
			      struct gpc_err *err)
{
	const struct gpc_option *mode = mode_of(&s->module->module);
	char name[128], word[64];

	if (!mode)
		return GPC_OK;
	snprintf(name, sizeof name, "%s-%s", s->module->module.name, mode->name);
	if (is_named(core, s->module->module.name) && is_off_word(mode->fallback) &&
	    gpc_options_origin(core->options, name) == GPC_FROM_DEFAULT) {
		first_mode(mode, word, sizeof word);
		return gpc_options_set(core->options, name, word, GPC_FROM_SYSTEM_FILE, err);
	}
	if (is_off_word(gpc_options_text(core->options, name)))
		s->is_enabled = false;
	return GPC_OK;
}

static bool is_refused_file(const struct gpc_core *core, const char *name)
{
	for (unsigned i = 0; i < core->modules.n_refused; i++) {
		const char *path = core->modules.refused[i].path;
		const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
		size_t n = strlen(name);

		if (strncmp(base, name, n) == 0 && strcmp(base + n, ".so") == 0)
			return true;
	}
	return false;
}

static gpc_status unknown_plugin(const struct gpc_core *core, const char *name, struct gpc_err *err)
{
	char list[160] = "";

	for (unsigned i = 0; i < core->modules.n; i++) {
		const struct gpc_loaded_module *m = core->modules.at[i];
		size_t n = strlen(list);

		if (m->n_collectors)
			snprintf(list + n, sizeof list - n, "%s%s", n ? ", " : "", m->module.name);
	}
	return gpc_err_set(err, GPC_E_CONFIG, "--plugins: there is no plugin %.40s; there are: %s",
			   name, list);
}

static gpc_status select_modules(struct gpc_core *core, struct gpc_err *err)
{
	for (uint32_t i = 0; i < core->opts.plugins.n; i++) {
		const char *name = core->opts.plugins.at[i];

		if (!gpc_modules_find(&core->modules, name) && !is_refused_file(core, name))
			return unknown_plugin(core, name, err);
	}
	for (size_t i = 0; i < core->states.n; i++) {
		struct gpc_module_state *s = &core->states.at[i];
		const char *name = s->module->module.name;

		if (core->opts.plugins.n && s->module->n_collectors && !is_named(core, name) &&
		    strcmp(name, "perf") != 0)
			s->is_enabled = false;
		if (s->is_enabled)
			gpc_try(decide_mode(core, s, err));
	}
	return gpc_options_apply(core->options, err);
}

/* ---- options of a session ------------------------------------------------------------- */

/* The embedder's callback, a folder, or a sink of a plugin. */
static bool has_output(const struct gpc_core *core)
{
	const char *dir = gpc_options_text(core->options, "output-dir");

	if (core->is_looking)
		return true;
	if (core->setup.on_profile || (dir && *dir))
		return true;
	for (size_t i = 0; i < core->states.n; i++)
		if (core->states.at[i].module->n_sinks &&
		    strcmp(core->states.at[i].module->module.name, "file") != 0)
			return true;
	return false;
}

static bool is_only_perf(const struct gpc_core *core)
{
	return gpc_options_text(core->options, "perf-event") != NULL;
}

static gpc_status check_options(struct gpc_core *core, struct gpc_err *err)
{
	struct gpc_perf_facts perf = {
		.dwarf_stack_size = gpc_options_number(core->options, "perf-dwarf-stack-size"),
		.event_period = gpc_options_number(core->options, "perf-event-period"),
		.has_event = is_only_perf(core)};

	gpc_try(gpc_options_check_known(core->options, err));
	return gpc_options_check_cross(core->options, &core->opts, &perf, has_output(core), err);
}

/* Options of a fleet that switches are taken, but what they ask for is not done. */
static void warn_missing(struct gpc_core *core)
{
	if (core->opts.upload_results)
		gpc_warn(
			&core->log, "core",
			"--upload-results: this version sends nothing to a server yet, profiles go "
			"to the other outputs only");
	if (core->opts.enable_heartbeat_server)
		gpc_warn(&core->log, "core",
			 "--enable-heartbeat-server: this version does not ask a server yet, it "
			 "profiles as the command line says");
}

static void warn_deprecated(void *ctx, const char *text)
{
	struct gpc_core *core = ctx;

	gpc_warn(&core->log, "core", "%s", text);
}

static gpc_status fill_session(struct gpc_core *core, struct gpc_err *err)
{
	gpc_try(gpc_core_options_pids(&core->opts, &core->pids, &core->n_pids, err));
	core->session =
		(struct gpc_session){.struct_size = sizeof core->session,
				     .hz = core->opts.profiling_mode == GPC_MODE_CPU
						   ? (uint32_t)core->opts.frequency
						   : 0,
				     .interval = (uint64_t)core->opts.alloc_interval,
				     .caps = core->opts.profiling_mode == GPC_MODE_ALLOCATION
						     ? GPC_CAP_ALLOC
						     : GPC_CAP_CPU,
				     .window_ns = (uint64_t)core->opts.duration,
				     .max_targets = (uint32_t)core->opts.max_processes_per_profiler,
				     .max_bytes = RECORD_BYTES,
				     .attach_ns = ATTACH_NS,
				     .pids = core->pids,
				     .n_pids = core->n_pids,
				     .insert_dso_name = core->opts.insert_dso_name};
	return GPC_OK;
}

/* ---- collectors ------------------------------------------------------------------------- */

/* --skip-system-profilers-above: on such a machine perf may cost too much. */
static bool has_too_many_processes(const struct gpc_core *core)
{
	int64_t max = core->opts.max_system_processes_for_system_profilers, n = 0;
	autodir DIR *dir = max ? opendir("/proc") : NULL;
	struct dirent *e;

	while (dir && (e = readdir(dir)))
		n += e->d_name[0] >= '1' && e->d_name[0] <= '9';
	return max && n > max;
}

/* Why a collector is left out; NULL: it is not. */
static const char *reason_against(const struct gpc_core *core, const struct gpc_collector *c)
{
	if (core->opts.profiling_mode == GPC_MODE_NONE)
		return "--mode=none";
	if (!(c->caps & core->session.caps))
		return "it does not measure what --mode asks for";
	if ((int32_t)c->touch > core->opts.max_touch)
		return "--max-touch forbids what it does to processes";
	if (c->scope == GPC_SCOPE_SYSTEM && has_too_many_processes(core))
		return "there are more processes than --skip-system-profilers-above";
	if (core->is_looking && c->scope != GPC_SCOPE_PROCESS)
		return "nothing is measured";
	if (is_only_perf(core) && c->scope == GPC_SCOPE_PROCESS)
		return "--perf-event switches runtime collectors off";
	return NULL;
}

static void warn_needs(struct gpc_core *core, const struct gpc_collector *c)
{
	struct gpc_rights rights;
	const char *missing;

	if (gpc_rights_read(core->proc_fd, &rights, NULL) < 0)
		return;
	missing = gpc_rights_missing(&rights, c->needs);
	if (missing)
		gpc_warn(&core->log, c->name, "%s is missing: %s will see less than it could",
			 missing, c->name);
}

/* Created, not started: what it can do decides how perf's events are opened. */
static gpc_status create_one(struct gpc_core *core, const struct gpc_module_state *s,
			     const struct gpc_collector *c, struct gpc_err *err)
{
	struct gpc_instance_setup setup = {.module = s->module,
					   .collector = c,
					   .options = s->options,
					   .services = &core->services,
					   .names = core->names,
					   .log = &core->log};
	struct gpc_instance *i;

	warn_needs(core, c);
	gpc_try(gpc_instance_new(&setup, &i, err));
	if (!vec_push(&core->instances, i)) {
		gpc_instance_free(i);
		return gpc_err_nomem(err);
	}
	return GPC_OK;
}

/* A collector that does not come along costs only itself, unless all must. */
static gpc_status tolerate(struct gpc_core *core, const struct gpc_err *why, struct gpc_err *err)
{
	gpc_core_trouble(core, "%s", why->text);
	if (!core->opts.strict_plugins)
		return GPC_OK;
	*err = *why;
	return why->code;
}

static gpc_status create_module(struct gpc_core *core, const struct gpc_module_state *s,
				struct gpc_err *err)
{
	for (unsigned k = 0; k < s->module->n_collectors; k++) {
		const struct gpc_collector *c = &s->module->collectors[k];
		const char *against = reason_against(core, c);
		struct gpc_err why;

		if (against)
			gpc_info(&core->log, "core", "collector %s is off: %s", c->name, against);
		else if (create_one(core, s, c, &why) < 0)
			gpc_try(tolerate(core, &why, err));
	}
	return GPC_OK;
}

static gpc_status start_instances(struct gpc_core *core, struct gpc_err *err)
{
	size_t kept = 0, n = core->instances.n;
	gpc_status st = GPC_OK;

	for (size_t k = 0; k < n; k++) {
		struct gpc_instance *i = core->instances.at[k];
		struct gpc_err why;

		if (st == GPC_OK && gpc_instance_start(i, &core->session, &why) < 0) {
			gpc_instance_free(i);
			st = tolerate(core, &why, err);
			continue;
		}
		core->instances.at[kept++] = i;
		if (gpc_instance_collector(i)->scope == GPC_SCOPE_PROCESS &&
		    !vec_push(&core->runtimes, i))
			st = gpc_err_nomem(err);
	}
	core->instances.n = kept;
	return st;
}

static bool has_collectors(const struct gpc_core *core)
{
	for (unsigned i = 0; i < core->modules.n; i++)
		if (core->modules.at[i]->n_collectors)
			return true;
	return false;
}

static gpc_status start_collectors(struct gpc_core *core, struct gpc_err *err)
{
	if (core->opts.strict_plugins && core->modules.n_refused)
		return gpc_err_set(err, GPC_E_CONFIG, "--strict-plugins: %.200s",
				   core->modules.refused[0].reason);
	for (size_t i = 0; i < core->states.n; i++)
		if (core->states.at[i].is_enabled)
			gpc_try(create_module(core, &core->states.at[i], err));
	gpc_core_prepare_pull(core);
	gpc_try(start_instances(core, err));
	if (core->instances.n)
		return GPC_OK;
	if (core->troubles.n)
		return gpc_err_set(err, GPC_E_UNSUPPORTED, "no collector could be started: %.200s",
				   core->troubles.at[core->troubles.n - 1]);
	if (!has_collectors(core))
		return gpc_err_set(
			err, GPC_E_CONFIG,
			"no plugin with a collector was found: see gprofiler-core plugins "
			"list, and --plugin-dir");
	return gpc_err_set(err, GPC_E_UNSUPPORTED,
			   "all profilers are disabled: nothing would be measured");
}

/* ---- the parts -------------------------------------------------------------------------- */

static bool identify(void *ctx, int32_t pid, struct gpc_target_id *ret)
{
	struct gpc_core *core = ctx;
	struct gpc_process *p;

	gpc_sampler_lock(core->sampler);
	p = gpc_table_enter(gpc_sampler_table(core->sampler), pid);
	if (p)
		*ret = (struct gpc_target_id){.pid = pid, .id = p->id, .exec_count = p->exec_count};
	gpc_sampler_unlock(core->sampler);
	return p != NULL;
}

static gpc_status start_discovery(struct gpc_core *core, struct gpc_err *err)
{
	struct gpc_discovery_setup setup = {.instances = core->runtimes.at,
					    .n_instances = (unsigned)core->runtimes.n,
					    .pids = core->pids,
					    .n_pids = core->n_pids,
					    .min_age_ns = (uint64_t)core->opts.min_duration,
					    .identify = identify,
					    .complete = gpc_core_complete,
					    .ctx = core,
					    .log = &core->log};
	struct gpc_discovery *d = NULL;

	if (core->runtimes.n)
		gpc_try(gpc_discovery_new(&setup, &d, err));
	gpc_sampler_lock(core->sampler);
	core->discovery = d;
	core->is_telling = true;
	/* perf counts since it was started, which may be a while ago. */
	gpc_table_tell_sampled(gpc_sampler_table(core->sampler));
	gpc_sampler_unlock(core->sampler);
	return GPC_OK;
}

static void lock_sampler(void *ctx)
{
	gpc_sampler_lock(ctx);
}

static void unlock_sampler(void *ctx)
{
	gpc_sampler_unlock(ctx);
}

static bool has_cpu_samples(const struct gpc_core *core)
{
	for (const struct gpc_source *s = core->sources; s; s = s->next)
		if (s->is_cpu_time)
			return true;
	return false;
}

/* Forks, execs and exits without perf: the kernel's proc connector, else a scan. */
static bool start_connector(struct gpc_core *core, const struct gpc_table_access *access)
{
	struct gpc_err err = {0};

	if (gpc_connector_new("/proc", access, &core->connector, &err) == GPC_OK)
		return true;
	gpc_info(&core->log, "core",
		 "processes are looked up in /proc now and then, so short-lived "
		 "ones may be missed: %s",
		 err.text);
	return false;
}

/* What perf does not tell. With --pids the events of those processes come with their
 * samples. */
static gpc_status start_scan(struct gpc_core *core, struct gpc_err *err)
{
	bool has_samples = has_cpu_samples(core);
	bool has_events =
		gpc_sampler_has_sideband(core->sampler) || (core->n_pids && core->sources);
	struct gpc_scan_setup setup = {.access = {.table = gpc_sampler_table(core->sampler),
						  .lock = lock_sampler,
						  .unlock = unlock_sampler,
						  .ctx = core->sampler},
				       .tells_use = !has_samples};

	if (!core->runtimes.n || (has_samples && has_events))
		return GPC_OK;
	if (!has_events) {
		lock_sampler(core->sampler);
		gpc_table_without_mmaps(setup.access.table);
		unlock_sampler(core->sampler);
		setup.tells_life = !start_connector(core, &setup.access);
	}
	if (!setup.tells_life && !setup.tells_use)
		return GPC_OK;
	return gpc_scan_new("/proc", &setup, &core->scan, err);
}

static void on_changed(void *ctx, const struct gpc_process *p, const struct gpc_process_event *ev)
{
	struct gpc_core *core = ctx;

	if (!core->is_telling)
		return;
	if (core->discovery)
		gpc_discovery_changed(core->discovery, p, ev);
	if (core->scan && (ev->kind == GPC_PROC_FORK || ev->kind == GPC_PROC_EXEC))
		gpc_scan_expect(core->scan, ev->pid, gpc_now_ns());
	if (ev->kind != GPC_PROC_SAMPLED)
		gpc_core_tell(core, ev);
}

static gpc_status make_sampler(struct gpc_core *core, struct gpc_err *err)
{
	struct gpc_sampler_config config = {.pids = core->pids,
					    .n_pids = core->n_pids,
					    .stack_bytes = STACK_BYTES,
					    .threads = core->wants & GPC_WANT_THREADS,
					    .reader_priority =
						    (enum gpc_priority)core->opts.reader_priority,
					    .raw_path = core->opts.debug_raw_records,
					    .changed = on_changed,
					    .placed = core->containers ? gpc_core_placed : NULL,
					    .ctx = core};
	struct gpc_sampler *sampler;

	gpc_try(gpc_sampler_new(&config, &core->log, &sampler, err));
	pthread_mutex_lock(&core->lock); /* gpc_core_state may look for it */
	core->sampler = sampler;
	pthread_mutex_unlock(&core->lock);
	return GPC_OK;
}

/* Where profiles go, which decides what has to be known of samples, and who knows
 * the names of containers. */
static gpc_status start_outputs(struct gpc_core *core, struct gpc_err *err)
{
	gpc_try(gpc_core_init_head(core, err));
	gpc_try(gpc_deliver_new(core, &core->deliver, err));
	return gpc_core_start_containers(core, err);
}

/* What collectors stand on. */
static gpc_status make_ground(struct gpc_core *core, struct gpc_err *err)
{
	core->names = gpc_core_new_names(1);
	core->abouts = gpc_abouts_new();
	core->elfids = gpc_elfids_new();
	if (!core->names || !core->abouts || !core->elfids)
		return gpc_err_nomem(err);
	gpc_core_init_services(core);
	core->services.max_targets = core->session.max_targets;
	core->services.stack_bytes = STACK_BYTES;
	core->services.record_bytes = core->session.max_bytes;
	core->services.wants_threads = core->wants & GPC_WANT_THREADS;
	core->services.no_realtime = core->opts.reader_priority != GPC_PRIORITY_REALTIME;
	gpc_try(make_sampler(core, err));
	gpc_core_init_pull_services(core);
	return GPC_OK;
}

static gpc_status start_parts(struct gpc_core *core, struct gpc_err *err)
{
	gpc_vdso_new(&core->vdso, NULL); /* without one its functions have no names */
	gpc_metrics_init(&core->metrics, core->proc_fd);
	gpc_try(gpc_sampler_start(core->sampler, UINT64_MAX, err));
	gpc_try(start_collectors(core, err));
	gpc_try(start_scan(core, err));
	return start_discovery(core, err);
}

static gpc_status settle_options(struct gpc_core *core, struct gpc_err *err)
{
	if (core->is_started)
		return gpc_err_set(err, GPC_E_BUSY, "the core was started already");
	gpc_try(gpc_core_load(core, err));
	gpc_try(gpc_options_apply(core->options, err));
	core->log.level = gpc_core_options_level(&core->opts, "core");
	gpc_try(select_modules(core, err));
	gpc_try(check_options(core, err));
	gpc_try(fill_session(core, err));
	gpc_options_deprecated(core->options, warn_deprecated, core);
	if (!core->is_looking)
		warn_missing(core);
	return GPC_OK;
}

gpc_status gpc_core_start_runtimes(struct gpc_core *core, struct gpc_err *err)
{
	core->is_looking = true;
	gpc_try(settle_options(core, err));
	gpc_try(make_ground(core, err));
	for (size_t i = 0; i < core->states.n; i++)
		if (core->states.at[i].is_enabled)
			gpc_try(create_module(core, &core->states.at[i], err));
	return start_instances(core, err);
}

GPC_EXPORT gpc_status gpc_core_start(struct gpc_core *core, struct gpc_err *err)
{
	struct gpc_err own;

	if (!err)
		err = &own;
	gpc_try(settle_options(core, err));
	gpc_try(start_outputs(core, err));
	gpc_try(make_ground(core, err));
	gpc_try(start_parts(core, err));
	return gpc_core_start_control(core, err);
}

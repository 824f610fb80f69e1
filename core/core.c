/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/thread.h"
#include "core_impl.h"
#include "proc/elfid.h"
#include "profile/about.h"
#include "plugin/describe.h"

#define SYSTEM_CONFIG "/etc/gprofiler/config.ini"

GPC_EXPORT const char *gpc_version(void)
{
	return GPC_VERSION;
}

/* ---- life ------------------------------------------------------------------------ */

static void on_line(void *ctx, const struct gpc_log_line *line)
{
	struct gpc_core *core = ctx;

	/* What the callback itself causes to be logged is dropped: it would never end. */
	if (pthread_mutex_lock(&core->log_lock) == EDEADLK)
		return;
	core->setup.on_log(core->setup.ctx, line);
	pthread_mutex_unlock(&core->log_lock);
}

/* What a newer program sets beyond our struct must be zero. */
static gpc_status check_setup(const struct gpc_core_setup *setup, struct gpc_err *err)
{
	const unsigned char *at = (const unsigned char *)setup;

	for (size_t i = sizeof *setup; i < setup->size; i++)
		if (at[i])
			return gpc_err_set(
				err, GPC_E_UNSUPPORTED,
				"gpc_core_setup has members that this libgpc (" GPC_VERSION
				") does not know: use a newer library");
	return GPC_OK;
}

static gpc_status build(struct gpc_core *core, struct gpc_err *err)
{
	core->end_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	core->ready_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	core->proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (core->end_fd < 0 || core->ready_fd < 0 || core->proc_fd < 0)
		return gpc_err_sys(err, "set up the core");
	gpc_try(gpc_options_new(&core->options, err));
	return gpc_core_options_add(core->options, &core->opts, err);
}

GPC_EXPORT gpc_status gpc_core_new(const struct gpc_core_setup *setup, struct gpc_core **ret,
				   struct gpc_err *err)
{
	struct gpc_core *core;
	gpc_status st;

	gpc_try(check_setup(setup, err));
	core = calloc(1, sizeof *core);
	if (!core)
		return gpc_err_nomem(err);
	memcpy(&core->setup, setup,
	       setup->size < sizeof core->setup ? setup->size : sizeof core->setup);
	gpc_log_init(&core->log, core->setup.log_level ? core->setup.log_level : GPC_INFO,
		     core->setup.on_log ? on_line : NULL, core);
	pthread_mutex_init(&core->lock, NULL);
	gpc_mutex_init_checked(&core->log_lock);
	core->end_fd = core->ready_fd = core->proc_fd = -1;
	st = build(core, err);
	if (st < 0) {
		gpc_core_free(core);
		return st;
	}
	*ret = core;
	return GPC_OK;
}

static void free_lists(struct gpc_core *core)
{
	for (size_t i = 0; i < core->instances.n; i++)
		gpc_instance_free(core->instances.at[i]);
	vec_deinit(&core->instances);
	vec_deinit(&core->runtimes);
	for (size_t i = 0; i < core->states.n; i++)
		free(core->states.at[i].options);
	vec_deinit(&core->states);
	for (size_t i = 0; i < core->troubles.n; i++)
		free(core->troubles.at[i]);
	vec_deinit(&core->troubles);
	for (size_t i = 0; i < core->finished.n; i++)
		gpc_profile_put(core->finished.at[i]);
	vec_deinit(&core->finished);
	vec_deinit(&core->injected);
}

static void close_fds(struct gpc_core *core)
{
	gpc_cleanup_close(&core->end_fd);
	gpc_cleanup_close(&core->ready_fd);
	gpc_cleanup_close(&core->proc_fd);
}

static void no_line(void *ctx, const struct gpc_log_line *line)
{
	(void)ctx;
	(void)line;
}

/* A reader that hangs in a collector may come back at any time: whatever it can
 * reach from there stays. Threads and descriptors go. */
static void abandon(struct gpc_core *core)
{
	pthread_mutex_lock(&core->log_lock);
	core->setup.on_log = no_line;
	pthread_mutex_unlock(&core->log_lock);
	gpc_scan_free(core->scan);
	gpc_connector_free(core->connector);
	gpc_sampler_free(core->sampler);
	gpc_core_free_containers(core);
	close_fds(core);
}

GPC_EXPORT void gpc_core_free(struct gpc_core *core)
{
	if (!core)
		return;
	gpc_core_stop(core, NULL);
	gpc_core_quiet(core);
	gpc_deliver_free(core->deliver);
	if (core->sampler && gpc_pulls_has_stuck(gpc_sampler_pulls(core->sampler))) {
		abandon(core);
		return;
	}
	free_lists(core);
	gpc_core_free_sources(core);
	gpc_scan_free(core->scan);
	gpc_connector_free(core->connector);
	gpc_sampler_free(core->sampler);
	gpc_core_free_containers(core);
	gpc_vdso_free(core->vdso);
	gpc_names_put(core->names);
	gpc_options_free(core->options);
	gpc_modules_deinit(&core->modules);
	json_decref(core->meta);
	json_decref(core->external);
	json_decref(core->app_metadata);
	gpc_abouts_free(core->abouts);
	gpc_elfids_free(core->elfids);
	free(core->pids);
	close_fds(core);
	pthread_mutex_destroy(&core->lock);
	gpc_log_deinit(&core->log);
	pthread_mutex_destroy(&core->log_lock);
	free(core);
}

/* ---- options ---------------------------------------------------------------------- */

GPC_EXPORT gpc_status gpc_core_add_options(struct gpc_core *core, const char *title,
					   const struct gpc_option *table, void *dest,
					   struct gpc_err *err)
{
	return gpc_options_add(core->options, "", title, table, dest, err);
}

GPC_EXPORT gpc_status gpc_core_set(struct gpc_core *core, const char *name, const char *value,
				   struct gpc_err *err)
{
	return gpc_options_set(core->options, name, value, GPC_FROM_ARGS, err);
}

/* The plugin folders and the config file can be named anywhere, and plugins
 * bring options: a first, lenient pass looks for those names only. */
static gpc_status first_pass(struct gpc_core *core, int argc, char *const *argv, char *const *envp,
			     struct gpc_err *err)
{
	/* Whatever is wrong is said by the second pass. */
	gpc_options_args(core->options, argc, argv, true, NULL, NULL);
	gpc_options_file(core->options, SYSTEM_CONFIG, GPC_FROM_SYSTEM_FILE, true, true, NULL);
	if (gpc_options_text(core->options, "config"))
		gpc_options_file(core->options, gpc_options_text(core->options, "config"),
				 GPC_FROM_FILE, true, true, NULL);
	gpc_options_env(core->options, envp, NULL);
	return gpc_core_load(core, err);
}

static gpc_status read_files(struct gpc_core *core, struct gpc_err *err)
{
	autofree char *path = NULL;
	const char *config = gpc_options_text(core->options, "config");

	gpc_try(gpc_options_file(core->options, SYSTEM_CONFIG, GPC_FROM_SYSTEM_FILE, true, false,
				 err));
	if (!config)
		return GPC_OK;
	path = strdup(config);
	if (!path)
		return gpc_err_nomem(err);
	return gpc_options_file(core->options, path, GPC_FROM_FILE, false, false, err);
}

GPC_EXPORT gpc_status gpc_core_args(struct gpc_core *core, int argc, char *const *argv,
				    char *const *envp, struct gpc_rest *rest, struct gpc_err *err)
{
	gpc_try(first_pass(core, argc, argv, envp, err));
	gpc_options_reset(core->options);
	gpc_try(gpc_options_args(core->options, argc, argv, false, rest, err));
	gpc_try(gpc_options_env(core->options, envp, err));
	gpc_try(read_files(core, err));
	return gpc_options_apply(core->options, err);
}

GPC_EXPORT const char *gpc_core_get(struct gpc_core *core, const char *name)
{
	return gpc_options_text(core->options, name);
}

GPC_EXPORT int64_t gpc_core_get_int(struct gpc_core *core, const char *name)
{
	return gpc_options_number(core->options, name);
}

GPC_EXPORT int gpc_core_is_given(struct gpc_core *core, const char *name)
{
	return gpc_options_origin(core->options, name) == GPC_FROM_ARGS;
}

GPC_EXPORT void gpc_core_help(struct gpc_core *core, const char *usage, FILE *out, int width)
{
	gpc_options_help(core->options, usage, out, width);
}

/* ---- plugins ------------------------------------------------------------------------ */

/* The options of a module become known; bad tables cost the module. */
static void add_module(struct gpc_core *core, const struct gpc_loaded_module *m)
{
	struct gpc_module_state state = {.module = m};
	const struct gpc_option *table = m->module.options;
	size_t bytes = table ? gpc_options_bytes(table) : 0;
	struct gpc_err err;

	if (bytes < m->module.options_bytes)
		bytes = m->module.options_bytes;
	state.options = calloc(1, bytes ? bytes : 1);
	if (!state.options)
		return;
	state.is_enabled = true;
	if (table && gpc_options_add(core->options, m->module.name, m->module.summary, table,
				     state.options, &err) < 0) {
		gpc_core_trouble(core, "plugin %s: its options are not usable: %s", m->module.name,
				 err.text);
		state.is_enabled = false;
	}
	if (!vec_push(&core->states, state))
		free(state.options);
}

static gpc_status scan_folders(struct gpc_core *core, struct gpc_err *err)
{
	const struct gpc_list *dirs = &core->opts.plugin_dirs;
	autofree char *own = NULL;

	for (uint32_t i = 0; i < dirs->n; i++)
		gpc_try(gpc_modules_scan(&core->modules, dirs->at[i], true, &core->log, err));
	if (gpc_modules_default_dir(&own, NULL) < 0)
		return GPC_OK;
	return gpc_modules_scan(&core->modules, own, false, &core->log, err);
}

/* The scan has logged them; the profile's header tells them too. */
static gpc_status note_refused(struct gpc_core *core, struct gpc_err *err)
{
	for (unsigned i = 0; i < core->modules.n_refused; i++) {
		const struct gpc_refusal *r = &core->modules.refused[i];
		char *text = NULL;

		if (asprintf(&text, "plugin refused: %s: %s", r->path, r->reason) < 0)
			return gpc_err_nomem(err);
		if (!vec_push(&core->troubles, text)) {
			free(text);
			return gpc_err_nomem(err);
		}
	}
	return GPC_OK;
}

const struct gpc_module *gpc_module_entry_file(void);

GPC_EXPORT gpc_status gpc_core_load(struct gpc_core *core, struct gpc_err *err)
{
	struct gpc_loaded_module *file;

	if (core->is_loaded)
		return GPC_OK;
	core->is_loaded = true;
	gpc_try(gpc_options_apply(core->options, err));
	gpc_try(gpc_module_builtin(gpc_module_entry_file, &file, err));
	gpc_try(gpc_modules_add(&core->modules, file, err));
	gpc_try(scan_folders(core, err));
	for (unsigned i = 0; i < core->modules.n; i++)
		add_module(core, core->modules.at[i]);
	return note_refused(core, err);
}

static gpc_status describe_json(struct gpc_core *core, const char *name, FILE *out,
				const struct gpc_rights *rights, struct gpc_err *err)
{
	json_t *all = json_array();
	gpc_status st = GPC_OK;

	for (unsigned i = 0; i < core->modules.n && st == GPC_OK; i++) {
		json_t *one = NULL;

		if (name && strcmp(core->modules.at[i]->module.name, name) != 0)
			continue;
		st = gpc_describe_json(core->modules.at[i], rights, &one, err);
		if (st == GPC_OK)
			json_array_append_new(all, one);
	}
	if (st == GPC_OK) {
		json_dumpf(name ? json_array_get(all, 0) : all, out, JSON_INDENT(2));
		fputc('\n', out);
	}
	json_decref(all);
	return st;
}

GPC_EXPORT gpc_status gpc_core_describe(struct gpc_core *core, const char *name, int as_json,
					FILE *out, struct gpc_err *err)
{
	struct gpc_rights rights;
	const struct gpc_loaded_module *m;

	gpc_try(gpc_core_load(core, err));
	gpc_try(gpc_rights_read(core->proc_fd, &rights, err));
	m = name ? gpc_modules_find(&core->modules, name) : NULL;
	if (name && !m)
		return gpc_err_set(err, GPC_E_CONFIG,
				   "there is no plugin %s; see gprofiler-core plugins list", name);
	if (as_json)
		return describe_json(core, name, out, &rights, err);
	return m ? gpc_describe_show(m, &rights, out, err)
		 : gpc_describe_list(&core->modules, &rights, out, err);
}

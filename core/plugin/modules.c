/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/module.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "plugin/tables.h"

#define NAME_BYTES 512 /* of a path in a log line */

static int by_file_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_candidate(const struct dirent *e)
{
	size_t n = strlen(e->d_name);

	return e->d_name[0] != '.' && n > 3 && strcmp(e->d_name + n - 3, ".so") == 0;
}

static bool is_known_path(const struct gpc_modules *ms, const char *path)
{
	autofree char *real = realpath(path, NULL);

	for (unsigned i = 0; real && i < ms->n; i++)
		if (strcmp(ms->at[i]->path, real) == 0)
			return true;
	for (unsigned i = 0; i < ms->n_refused; i++)
		if (strcmp(ms->refused[i].path, path) == 0)
			return true;
	return false;
}

static gpc_status refuse(struct gpc_modules *ms, const char *path, const char *reason,
			 struct gpc_err *err)
{
	struct gpc_refusal *grown = realloc(ms->refused, (ms->n_refused + 1) * sizeof *grown);
	struct gpc_refusal one;

	if (!grown)
		return gpc_err_nomem(err);
	ms->refused = grown;
	one = (struct gpc_refusal){.path = strdup(path), .reason = strdup(reason)};
	if (!one.path || !one.reason) {
		free(one.path);
		free(one.reason);
		return gpc_err_nomem(err);
	}
	ms->refused[ms->n_refused++] = one;
	return GPC_OK;
}

static gpc_status scan_one(struct gpc_modules *ms, const char *path, struct gpc_log *log,
			   struct gpc_err *err)
{
	struct gpc_loaded_module *m = NULL;
	struct gpc_err why = {0};

	if (is_known_path(ms, path)) /* the same folder given twice */
		return GPC_OK;
	if (gpc_module_try(path, &m, &why) == GPC_OK && gpc_modules_add(ms, m, &why) == GPC_OK) {
		gpc_debug(log, "core", "plugin loaded: %.*s", NAME_BYTES, path);
		return GPC_OK;
	}
	if (why.code == GPC_E_NOMEM)
		return gpc_err_nomem(err);
	gpc_warn(log, "core", "plugin refused: %.*s: %s", NAME_BYTES, path, why.text);
	return refuse(ms, path, why.text, err);
}

static gpc_status no_folder(const char *dir, bool is_explicit, struct gpc_log *log,
			    struct gpc_err *err)
{
	struct gpc_err why = {0};
	int sys = errno;
	gpc_status code = gpc_err_sys(&why, "plugin folder %.150s", dir);

	if (is_explicit) {
		if (err)
			*err = why;
		return code;
	}
	if (sys != ENOENT)
		gpc_warn(log, "core", "%s", why.text);
	return GPC_OK;
}

gpc_status gpc_modules_scan(struct gpc_modules *ms, const char *dir, bool is_explicit,
			    struct gpc_log *log, struct gpc_err *err)
{
	struct dirent **names = NULL;
	gpc_status st = GPC_OK;
	int n = scandir(dir, &names, is_candidate, by_file_name);

	if (n < 0)
		return no_folder(dir, is_explicit, log, err);
	for (int i = 0; i < n; i++) {
		autofree char *path = NULL;

		if (st == GPC_OK && asprintf(&path, "%s/%s", dir, names[i]->d_name) < 0) {
			path = NULL;
			st = gpc_err_nomem(err);
		}
		if (st == GPC_OK)
			st = scan_one(ms, path, log, err);
		free(names[i]);
	}
	free(names);
	return st;
}

/* The loaded module that has a collector (or sink) of such a name; or NULL. */
static const struct gpc_loaded_module *owner_of(const struct gpc_modules *ms, const char *name,
						bool is_sink)
{
	for (unsigned i = 0; i < ms->n; i++) {
		const struct gpc_loaded_module *m = ms->at[i];

		for (unsigned k = 0; !is_sink && k < m->n_collectors; k++)
			if (strcmp(m->collectors[k].name, name) == 0)
				return m;
		for (unsigned k = 0; is_sink && k < m->n_sinks; k++)
			if (strcmp(m->sinks[k].name, name) == 0)
				return m;
	}
	return NULL;
}

static gpc_status is_taken(const char *kind, const char *name, const struct gpc_loaded_module *by,
			   struct gpc_err *err)
{
	return gpc_err_set(err, GPC_E_CONFIG,
			   "its %s name \"%s\" is taken by %.100s: remove one of the two", kind,
			   name, by->path);
}

static gpc_status check_unique(const struct gpc_modules *ms, const struct gpc_loaded_module *m,
			       struct gpc_err *err)
{
	const struct gpc_loaded_module *by = gpc_modules_find(ms, m->module.name);

	if (by)
		return is_taken("module", m->module.name, by, err);
	for (unsigned i = 0; i < m->n_collectors; i++) {
		by = owner_of(ms, m->collectors[i].name, false);
		if (by)
			return is_taken("collector", m->collectors[i].name, by, err);
	}
	for (unsigned i = 0; i < m->n_sinks; i++) {
		by = owner_of(ms, m->sinks[i].name, true);
		if (by)
			return is_taken("sink", m->sinks[i].name, by, err);
	}
	return GPC_OK;
}

gpc_status gpc_modules_add(struct gpc_modules *ms, struct gpc_loaded_module *taken,
			   struct gpc_err *err)
{
	gpc_status st = check_unique(ms, taken, err);
	struct gpc_loaded_module **grown = NULL;
	unsigned at = ms->n;

	if (st == GPC_OK) {
		grown = realloc(ms->at, (ms->n + 1) * sizeof *grown);
		st = grown ? GPC_OK : gpc_err_nomem(err);
	}
	if (st < 0) {
		gpc_module_free(taken);
		return st;
	}
	ms->at = grown;
	for (; at > 0 && strcmp(grown[at - 1]->module.name, taken->module.name) > 0; at--)
		grown[at] = grown[at - 1];
	grown[at] = taken;
	ms->n++;
	return GPC_OK;
}

const struct gpc_loaded_module *gpc_modules_find(const struct gpc_modules *ms, const char *name)
{
	for (unsigned i = 0; i < ms->n; i++)
		if (strcmp(ms->at[i]->module.name, name) == 0)
			return ms->at[i];
	return NULL;
}

void gpc_modules_deinit(struct gpc_modules *ms)
{
	for (unsigned i = 0; i < ms->n; i++)
		gpc_module_free(ms->at[i]);
	for (unsigned i = 0; i < ms->n_refused; i++) {
		free(ms->refused[i].path);
		free(ms->refused[i].reason);
	}
	free(ms->at);
	free(ms->refused);
	*ms = (struct gpc_modules){0};
}

gpc_status gpc_modules_dir_of(const char *path, char **ret, struct gpc_err *err)
{
	autofree char *real = realpath(path, NULL);
	char *dir, *slash;
	int n;

	if (!real)
		return gpc_err_sys(err, "the core's own file %.150s", path);
	slash = strrchr(real, '/');
	*slash = '\0';
	slash = strrchr(real, '/');
	/* A build tree has the library in core/, the plugins in plugins/. */
	if (slash && strcmp(slash, "/core") == 0)
		n = asprintf(&dir, "%.*s/plugins", (int)(slash - real), real);
	else
		n = asprintf(&dir, "%s/gpc/plugins", real);
	if (n < 0)
		return gpc_err_nomem(err);
	*ret = dir;
	return GPC_OK;
}

gpc_status gpc_modules_default_dir(char **ret, struct gpc_err *err)
{
	Dl_info self;

	if (!dladdr((const void *)gpc_modules_default_dir, &self) || !self.dli_fname)
		return gpc_err_set(err, GPC_E_SYSTEM,
				   "the core cannot find its own file: give --plugin-dir");
	return gpc_modules_dir_of(self.dli_fname, ret, err);
}

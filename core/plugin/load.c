/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/module.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "plugin/tables.h"

#define SHOWN_BYTES 100 /* of the path, so that reason and remedy still fit */

static void free_module(struct gpc_loaded_module **m)
{
	gpc_module_free(*m);
}

static bool ends_in_so(const char *path)
{
	size_t n = strlen(path);

	return n > 3 && strcmp(path + n - 3, ".so") == 0;
}

static gpc_status check_type(const char *path, struct gpc_err *err)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return gpc_err_sys(err, "it cannot be read");
	if (S_ISDIR(st.st_mode))
		return gpc_err_set(err, GPC_E_CORRUPT, "it is a folder: rename it");
	if (!S_ISREG(st.st_mode))
		return gpc_err_set(err, GPC_E_CORRUPT,
				   "it is no regular file: remove it from the plugin folder");
	return GPC_OK;
}

/* All that can be known without running any code of the file. */
static gpc_status check_file(const char *path, struct gpc_err *err)
{
	autoclose int fd = -1;
	struct gpc_note note;

	gpc_try(gpc_trust_check(path, err));
	gpc_try(check_type(path, err));
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return gpc_err_sys(err, "it cannot be opened");
	gpc_try(gpc_note_read(fd, &note, err));
	return gpc_note_check(&note, err);
}

/* dlerror() begins with the path, which the reader has seen by then. */
static const char *why_not_loaded(const char *path)
{
	const char *why = dlerror();
	size_t n = strlen(path);

	if (!why)
		return "unknown error";
	if (strncmp(why, path, n) == 0 && strncmp(why + n, ": ", 2) == 0)
		return why + n + 2;
	return why;
}

static gpc_status load_checked(const char *path, struct gpc_loaded_module *m, struct gpc_err *err)
{
	gpc_module_entry_fn entry;

	m->path = strdup(path);
	if (!m->path)
		return gpc_err_nomem(err);
	m->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!m->handle)
		return gpc_err_set(err, GPC_E_SYSTEM,
				   "it cannot be loaded (%.120s): install what it needs, or "
				   "rebuild it",
				   why_not_loaded(path));
	entry = (gpc_module_entry_fn)dlsym(m->handle, "gpc_module_entry");
	if (!entry)
		return gpc_err_set(err, GPC_E_CORRUPT,
				   "it does not export gpc_module_entry: declare it with "
				   "GPC_MODULE(), in C++ inside extern \"C\", and rebuild it");
	return gpc_tables_copy(entry(), m, err);
}

gpc_status gpc_module_try(const char *path, struct gpc_loaded_module **ret, struct gpc_err *err)
{
	__attribute__((cleanup(free_module))) struct gpc_loaded_module *m = NULL;
	autofree char *real = NULL;

	if (!ends_in_so(path))
		return gpc_err_set(err, GPC_E_CONFIG, "its name does not end in .so: rename it");
	real = realpath(path, NULL);
	if (!real)
		return gpc_err_sys(err, "it cannot be found");
	gpc_try(check_file(real, err));
	m = calloc(1, sizeof *m);
	if (!m)
		return gpc_err_nomem(err);
	gpc_try(load_checked(real, m, err));
	*ret = take(m);
	return GPC_OK;
}

gpc_status gpc_module_load(const char *path, struct gpc_loaded_module **ret, struct gpc_err *err)
{
	size_t n = strlen(path);
	bool is_long = n > SHOWN_BYTES;

	if (gpc_module_try(path, ret, err) == GPC_OK)
		return GPC_OK;
	return gpc_err_prefix(err, "%s%s", is_long ? "..." : "",
			      is_long ? path + n - SHOWN_BYTES : path);
}

gpc_status gpc_module_builtin(gpc_module_entry_fn entry, struct gpc_loaded_module **ret,
			      struct gpc_err *err)
{
	__attribute__((cleanup(free_module))) struct gpc_loaded_module *m = calloc(1, sizeof *m);

	if (m)
		m->path = strdup("(built in)");
	if (!m || !m->path)
		return gpc_err_nomem(err);
	if (gpc_tables_copy(entry(), m, err) < 0)
		return gpc_err_prefix(err, "built-in module");
	*ret = take(m);
	return GPC_OK;
}

/* No dlclose: code that has run may have left threads, exit handlers or
 * thread-local destructors behind. Another core in this process that loads the
 * same file gets the same copy of it. */
void gpc_module_free(struct gpc_loaded_module *m)
{
	if (!m)
		return;
	free(m->path);
	free(m->collectors);
	free(m->sinks);
	free(m);
}

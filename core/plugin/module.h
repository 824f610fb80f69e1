/* SPDX-License-Identifier: Apache-2.0 */
/* Modules: found in folders, checked, loaded, their tables copied. A module is
 * never unloaded while its core lives. One thread.
 *
 * Order of checks for a file: name ends in .so; it and every parent folder
 * belong to root, the effective user, or the owner of the running executable
 * and nobody else may write to them (a sticky folder is no excuse); it is an
 * ELF shared object of our class and machine; its note fits (note.h). Only then
 * dlopen(RTLD_NOW | RTLD_LOCAL), the entry, and struct_size checks. A refusal
 * is one sentence: file, reason, remedy. Code that has run stays mapped until
 * the process ends. */
#ifndef GPC_PLUGIN_MODULE_H
#define GPC_PLUGIN_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/log.h"

struct gpc_loaded_module {
	char *path;               /* "(built in)" for a built-in one */
	void *handle;             /* dlopen's; NULL for a built-in one */
	struct gpc_module module; /* copied by struct_size; name etc. point into the plugin */
	struct gpc_collector *collectors; /* copied by struct_size */
	struct gpc_sink *sinks;
	unsigned n_collectors, n_sinks;
};

struct gpc_refusal {         /* a file that was found and refused */
	char *path, *reason; /* the reason names the remedy and does not repeat the path */
};

struct gpc_modules {
	struct gpc_loaded_module **at; /* sorted by name */
	unsigned n;
	struct gpc_refusal *refused;
	unsigned n_refused;
};

/* Reads the note of an ELF file without running any of its code. */
gpc_status gpc_note_read(int fd, struct gpc_note *ret, struct gpc_err *err);
/* Does this core accept such a note? The text names both versions. */
gpc_status gpc_note_check(const struct gpc_note *note, struct gpc_err *err);
/* The same for a core with another version: tests play future cores. */
gpc_status gpc_note_check_against(const struct gpc_note *note, unsigned major, unsigned minor,
				  struct gpc_err *err);
/* Are the file and its parents in safe hands? path is made absolute and free of
 * symlinks first. */
gpc_status gpc_trust_check(const char *path, struct gpc_err *err);

/* Loads one file. The error begins with the path. */
gpc_status gpc_module_load(const char *path, struct gpc_loaded_module **ret, struct gpc_err *err);
/* Takes a built-in module's entry (GPC_BUILTIN) through the same checks. */
gpc_status gpc_module_builtin(gpc_module_entry_fn entry, struct gpc_loaded_module **ret,
			      struct gpc_err *err);
void gpc_module_free(struct gpc_loaded_module *m);

/* Every *.so of the folders, in order; the first of a name wins. A folder that
 * is not there is an error only when given by the user (explicit). */
gpc_status gpc_modules_scan(struct gpc_modules *ms, const char *dir, bool is_explicit,
			    struct gpc_log *log, struct gpc_err *err);
/* Takes it, on failure too: a module, collector or sink of such a name is there
 * already. */
gpc_status gpc_modules_add(struct gpc_modules *ms, struct gpc_loaded_module *taken,
			   struct gpc_err *err);
const struct gpc_loaded_module *gpc_modules_find(const struct gpc_modules *ms, const char *name);
void gpc_modules_deinit(struct gpc_modules *ms);

/* The plugin folder beside libgpc.so (.../lib/gpc/plugins for
 * .../lib/libgpc.so; <build>/plugins for an uninstalled build), found with
 * dladdr. *ret is new. */
gpc_status gpc_modules_default_dir(char **ret, struct gpc_err *err);

#endif

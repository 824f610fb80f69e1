/* SPDX-License-Identifier: Apache-2.0 */
/* Options: tables (struct gpc_option) of the core, the program and every
 * module, filled from the command line, the environment and config files into
 * plain structs. Precedence, high to low: command line, environment, the file
 * given with --config, the system's config file, the table's fallback. The
 * text syntax is that of gProfiler (docs/compatibility.md).
 *
 * Values given earlier than their table is known (a module loaded later) are
 * kept and applied when it is added. One thread.
 *
 * Beyond plugin.h: a row whose dest is "" has no key in the run arguments. */
#ifndef GPC_CONFIG_OPTION_H
#define GPC_CONFIG_OPTION_H

#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"

struct gpc_options;

enum gpc_origin {
	GPC_FROM_DEFAULT,
	GPC_FROM_SYSTEM_FILE,
	GPC_FROM_FILE,
	GPC_FROM_ENV,
	GPC_FROM_ARGS
};

gpc_status gpc_options_new(struct gpc_options **ret, struct gpc_err *err);
void gpc_options_free(struct gpc_options *o);

/* Adds a table (borrowed as long as o lives). module: prefix of its names ("" for none). title:
 * heading in help. dest: zeroed struct of at least the size the offsets need, lives as long as o;
 * texts stored there belong to o. Checks the table itself: bad types, defaults that do not parse, a
 * long or short name that is already taken are GPC_E_CONFIG and name the row; nothing is added
 * then. */
gpc_status gpc_options_add(struct gpc_options *o, const char *module, const char *title,
			   const struct gpc_option *table, void *dest, struct gpc_err *err);

/* The bytes of dest that a table needs. */
size_t gpc_options_bytes(const struct gpc_option *table);

/* The command line without argv[0]. Long names, unambiguous prefixes of them,
 * --opt=value, --opt value, bundled short options, "--". Positional arguments
 * go to rest (NULL: none are allowed). An unknown option is GPC_E_CONFIG and
 * names the nearest known one. lenient: unknown options and too many arguments
 * are left alone (the first pass, before plugins are loaded); without lenient
 * all values are checked. */
gpc_status gpc_options_args(struct gpc_options *o, int argc, char *const *argv, bool lenient,
			    struct gpc_rest *rest, struct gpc_err *err);
/* GPROFILER_<LONG_NAME>; envp as environ. Unknown variables are no error. */
gpc_status gpc_options_env(struct gpc_options *o, char *const *envp, struct gpc_err *err);
/* An INI-like file. missing_ok: a file that is not there is fine. Unknown keys
 * are errors unless lenient. */
gpc_status gpc_options_file(struct gpc_options *o, const char *path, enum gpc_origin origin,
			    bool missing_ok, bool lenient, struct gpc_err *err);
gpc_status gpc_options_file_text(struct gpc_options *o, const char *text, size_t n,
				 const char *path, enum gpc_origin origin, bool lenient,
				 struct gpc_err *err);
/* One value, as if on the command line; name is the long name without "--". A
 * switch takes NULL or a boolean word. A name that is not known is kept. */
gpc_status gpc_options_set(struct gpc_options *o, const char *name, const char *value,
			   enum gpc_origin origin, struct gpc_err *err);

/* GPC_E_CONFIG if a value given by set or a lenient file still has no option
 * once all tables are there. Variables are not looked at. */
gpc_status gpc_options_check_known(const struct gpc_options *o, struct gpc_err *err);

/* Drops everything given so far (not the tables): before a second full pass. */
void gpc_options_reset(struct gpc_options *o);
/* Stores the winning values into all dests. */
gpc_status gpc_options_apply(struct gpc_options *o, struct gpc_err *err);

/* Where the value of a member comes from. name: long name of any row that
 * stores there. */
enum gpc_origin gpc_options_origin(const struct gpc_options *o, const char *name);
/* The text of the winning value (or the default) of a member, by the long name
 * of a row that stores there; NULL: none. Borrowed until the next change. */
const char *gpc_options_text(const struct gpc_options *o, const char *name);
/* The same as a number (a switch is 0 or 1, a duration ns); 0: none. */
int64_t gpc_options_number(const struct gpc_options *o, const char *name);
/* For each row given explicitly: warn(ctx, text) for deprecated ones. */
void gpc_options_deprecated(const struct gpc_options *o, void (*warn)(void *ctx, const char *text),
			    void *ctx);

/* --help: usage, then groups by table, wrapped at width columns. */
void gpc_options_help(const struct gpc_options *o, const char *usage, FILE *out, int width);
/* {"dest": value, ...} of all tables, secrets left out: run_arguments. */
struct json_t;
struct json_t *gpc_options_json(const struct gpc_options *o);
/* Array describing the rows of one module: for plugins show --json. */
struct json_t *gpc_options_schema(const struct gpc_option *table, const char *module);

#endif

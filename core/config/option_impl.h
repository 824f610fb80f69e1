/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this folder share: rows of tables with their whole names,
 * and values as they were given. A given value stays text until it is applied,
 * so that a table added later can still read it. Everything here belongs to
 * struct gpc_options, save what the tables point to. */
#ifndef GPC_CONFIG_OPTION_IMPL_H
#define GPC_CONFIG_OPTION_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "config/option.h"

#define GPC_OPTION_NO_ROW SIZE_MAX

struct option_row {
	struct gpc_option opt; /* a copy; its texts stay the table's */
	char *name;            /* the whole long name, without "--" */
	char *env;             /* its variable; NULL: on the command line only */
	char *slot;            /* rows with the same slot fill one member */
	size_t table;
};

struct option_table {
	char *module, *title;
};

struct option_given {
	size_t row;  /* GPC_OPTION_NO_ROW: nobody knows it yet */
	char *name;  /* as given: a long name, or for GPC_FROM_ENV a variable */
	char *value; /* NULL: given without a value */
	char *place; /* "file:line"; NULL: follows from the origin */
	enum gpc_origin origin;
};

struct option_texts {
	char **at;
	size_t n, room;
};

struct gpc_options {
	vec(struct option_row) rows;
	vec(struct option_table) tables;
	vec(struct option_given) given; /* in the order given */
	vec(void *) owned;              /* what was stored into dests */
};

/* ---- value.c: text to values. Errors say what is wrong with the value; the
 * option's name and the place are put before by the caller. */

/* GPC_OPT_BOOL, INT, BYTES, DURATION and CHOICE. */
gpc_status gpc_option_number(const struct gpc_option *opt, const char *text, int64_t *ret,
			     struct gpc_err *err);
/* Appends the elements of one occurrence of a list; the caller frees them.
 * listed: "[a, b]" is a list for GPC_OPT_REGEX too (environment and files). */
gpc_status gpc_option_items(const struct gpc_option *opt, const char *text, bool listed,
			    struct option_texts *ret, struct gpc_err *err);
void gpc_option_texts_deinit(struct option_texts *t);
gpc_status gpc_option_check(const struct gpc_option *opt, const char *text, bool listed,
			    struct gpc_err *err);
/* 1 for true, yes, 1; 0 for false, no, 0; -1 for anything else. */
int gpc_option_bool_word(const char *text);
/* The value as an error may show it: short, printable, never a secret. */
const char *gpc_option_show(const struct gpc_option *opt, const char *text, char *buf, size_t size);

/* ---- units.c */

/* A decimal number with an optional fraction and unit; false: not one. */
bool gpc_option_bytes(const char *text, int64_t *ret);
bool gpc_option_duration(const char *text, int64_t *ret);
/* The shortest text with an exact unit. */
void gpc_option_format(uint32_t type, int64_t value, char *buf, size_t size);

/* ---- find.c: names. They are given with their length, without "--". */

/* The names of a row: its long name, then its aliases, for i = 0, 1 ... NULL:
 * no more. They end at *len, not at a NUL. */
const char *gpc_option_name_at(const struct option_row *row, size_t i, size_t *len);
bool gpc_option_is_named(const struct option_row *row, const char *name, size_t len);
/* NULL: unknown. */
const struct option_row *gpc_option_find(const struct gpc_options *o, const char *name, size_t len);
const struct option_row *gpc_option_find_short(const struct gpc_options *o, char name);
/* As find, or by a prefix that fits one row only. Ambiguity is an error;
 * unknown is GPC_OK with *ret NULL. */
gpc_status gpc_option_find_prefix(const struct gpc_options *o, const char *name, size_t len,
				  const struct option_row **ret, struct gpc_err *err);
/* GPC_E_CONFIG with the nearest known name; place may be NULL. */
gpc_status gpc_option_unknown(const struct gpc_options *o, const char *name, size_t len,
			      const char *place, struct gpc_err *err);

/* ---- given.c: values as given */

/* Adds a value; all texts are copied. row NULL: kept until a table has name.
 * check: the value must be good now. */
gpc_status gpc_option_give(struct gpc_options *o, const struct option_row *row,
			   const struct option_given *given, bool check, struct gpc_err *err);
/* Gives the values that waited for rows [first, end) to them. */
void gpc_option_adopt(struct gpc_options *o, size_t first);
gpc_status gpc_option_check_given(const struct gpc_options *o, const struct option_given *g,
				  struct gpc_err *err);
/* The value that wins for a slot, or NULL. */
const struct option_given *gpc_option_winner(const struct gpc_options *o, const char *slot);
/* The text of a value, the one that is implied if it was given without. */
const char *gpc_option_text(const struct gpc_options *o, const struct option_given *g);
/* "command line", "environment variable X", "file:12". */
void gpc_option_place(const struct option_given *g, char *buf, size_t size);
void gpc_option_given_deinit(struct option_given *g);

/* The default of the member a row stores in, or NULL. */
const char *gpc_option_fallback(const struct gpc_options *o, const struct option_row *row);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "config/option_impl.h"

#define PLACE_MAX 100 /* bytes of a place in an error; of a long path the end */

/* Its mere presence, whatever it says, has always kept logs on the host: a
 * deployment that relies on this must not start to send them. */
static bool is_set_enough(const struct option_row *row, enum gpc_origin origin)
{
	return origin == GPC_FROM_ENV && strcmp(row->name, "dont-send-logs") == 0;
}

/* Brings a switch that was given with a word ("true", "no") into the form it
 * has on the command line. False: it is as if it was not given at all. */
static bool settle(const struct option_row *row, struct option_given *g)
{
	int word;

	if (!(row->opt.flags & GPC_OPT_SWITCH) || !g->value)
		return true;
	word = gpc_option_bool_word(g->value);
	if (word < 0)
		return true; /* an error, told when values are checked */
	if (word == 0 && !is_set_enough(row, g->origin))
		return row->opt.type == GPC_OPT_BOOL && g->origin == GPC_FROM_ARGS;
	free(g->value);
	g->value = NULL;
	return true;
}

static gpc_status copy_given(const struct option_given *from, struct option_given *ret,
			     struct gpc_err *err)
{
	ret->row = from->row;
	ret->origin = from->origin;
	ret->name = strdup(from->name);
	ret->value = from->value ? strdup(from->value) : NULL;
	ret->place = from->place ? strdup(from->place) : NULL;
	if (!ret->name || (from->value && !ret->value) || (from->place && !ret->place))
		return gpc_err_nomem(err);
	return GPC_OK;
}

/* In the order of the environment nothing can be meant: there, the later row
 * of a table wins. */
static bool is_stronger(const struct option_given *a, const struct option_given *b)
{
	if (a->origin != b->origin)
		return a->origin > b->origin;
	return a->origin != GPC_FROM_ENV || a->row >= b->row;
}

static bool waits_for(const struct option_given *g, const struct option_row *row)
{
	if (g->row != GPC_OPTION_NO_ROW || (g->origin != GPC_FROM_ARGS && !row->env))
		return false;
	if (g->origin == GPC_FROM_ENV)
		return strcmp(row->env, g->name) == 0;
	return gpc_option_is_named(row, g->name, strlen(g->name));
}

static void adopt_row(struct gpc_options *o, size_t r)
{
	for (size_t i = 0; i < o->given.n;) {
		struct option_given *g = &o->given.at[i];

		if (!waits_for(g, &o->rows.at[r])) {
			i++;
			continue;
		}
		g->row = r;
		if (settle(&o->rows.at[r], g)) {
			i++;
			continue;
		}
		gpc_option_given_deinit(g);
		memmove(g, g + 1, (--o->given.n - i) * sizeof *g);
	}
}

static gpc_status check_text(const struct gpc_options *o, const struct option_given *g,
			     struct gpc_err *err)
{
	const struct gpc_option *opt = &o->rows.at[g->row].opt;
	const struct gpc_option word = {.type = GPC_OPT_BOOL, .flags = opt->flags};
	const char *text = gpc_option_text(o, g);

	if (!text)
		return gpc_err_set(err, GPC_E_CONFIG, "a value is needed");
	if (opt->flags & GPC_OPT_SWITCH && g->value)
		return gpc_option_check(&word, g->value, false, err);
	return gpc_option_check(opt, text, g->origin != GPC_FROM_ARGS, err);
}

void gpc_option_given_deinit(struct option_given *g)
{
	free(g->name);
	free(g->value);
	free(g->place);
}

void gpc_option_place(const struct option_given *g, char *buf, size_t size)
{
	size_t n = g->place ? strlen(g->place) : 0;

	if (g->origin == GPC_FROM_ENV)
		snprintf(buf, size, "environment variable %.*s", PLACE_MAX, g->name);
	else if (g->place)
		snprintf(buf, size, "%s%s", n > PLACE_MAX ? "..." : "",
			 g->place + (n > PLACE_MAX ? n - PLACE_MAX : 0));
	else
		snprintf(buf, size, "%s",
			 g->origin == GPC_FROM_ARGS ? "command line" : "configuration");
}

const char *gpc_option_text(const struct gpc_options *o, const struct option_given *g)
{
	const struct gpc_option *opt = &o->rows.at[g->row].opt;

	if (!g->value)
		return opt->implied ? opt->implied : opt->type == GPC_OPT_BOOL ? "true" : NULL;
	if (opt->flags & GPC_OPT_SWITCH && opt->type == GPC_OPT_BOOL)
		return gpc_option_bool_word(opt->implied ? opt->implied : "true") ? "false"
										  : "true";
	return g->value;
}

gpc_status gpc_option_check_given(const struct gpc_options *o, const struct option_given *g,
				  struct gpc_err *err)
{
	char place[PLACE_MAX + 32];

	gpc_status st = check_text(o, g, err);

	if (st >= 0)
		return GPC_OK;
	gpc_option_place(g, place, sizeof place);
	gpc_err_prefix(err, "--%s (%s)", o->rows.at[g->row].name, place);
	return st;
}

gpc_status gpc_option_give(struct gpc_options *o, const struct option_row *row,
			   const struct option_given *given, bool check, struct gpc_err *err)
{
	autocall(gpc_option_given_deinit) struct option_given g = {0};

	gpc_try(copy_given(given, &g, err));
	g.row = row ? (size_t)(row - o->rows.at) : GPC_OPTION_NO_ROW;
	if (row && !settle(row, &g))
		return GPC_OK;
	if (row && check)
		gpc_try(gpc_option_check_given(o, &g, err));
	if (!vec_push(&o->given, g))
		return gpc_err_nomem(err);
	g = (struct option_given){0};
	return GPC_OK;
}

void gpc_option_adopt(struct gpc_options *o, size_t first)
{
	for (size_t r = first; r < o->rows.n; r++)
		adopt_row(o, r);
}

const struct option_given *gpc_option_winner(const struct gpc_options *o, const char *slot)
{
	const struct option_given *best = NULL;

	for (size_t i = 0; i < o->given.n; i++) {
		const struct option_given *g = &o->given.at[i];

		if (g->row == GPC_OPTION_NO_ROW || o->rows.at[g->row].slot != slot)
			continue;
		if (!best || is_stronger(g, best))
			best = g;
	}
	return best;
}

const char *gpc_option_fallback(const struct gpc_options *o, const struct option_row *row)
{
	for (size_t r = 0; r < o->rows.n; r++)
		if (o->rows.at[r].slot == row->slot && o->rows.at[r].opt.fallback)
			return o->rows.at[r].opt.fallback;
	return NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "config/option_impl.h"

static void json_drop(json_t **j)
{
	json_decref(*j);
}

static void options_drop(struct gpc_options **o)
{
	gpc_options_free(*o);
}

/* Texts of users need not be UTF-8, JSON must be: what is not becomes '?'. */
static json_t *text_value(const char *text)
{
	autofree char *copy = NULL;
	json_t *ret = json_string(text);

	if (ret)
		return ret;
	copy = strdup(text);
	for (char *at = copy; at && *at; at++)
		if (*at & 0x80)
			*at = '?';
	return copy ? json_string(copy) : NULL;
}

static json_t *choice_value(const char *choices, int32_t index)
{
	for (; index > 0 && choices; index--) {
		choices = strchr(choices, '|');
		choices = choices ? choices + 1 : NULL;
	}
	return choices ? json_stringn(choices, strcspn(choices, "|")) : json_null();
}

static json_t *list_value(const struct gpc_option *opt, const struct gpc_list *list)
{
	bool is_numbers = (opt->min || opt->max) && !opt->choices;
	json_t *ret = json_array();

	for (uint32_t i = 0; i < list->n; i++)
		json_array_append_new(ret, is_numbers ? json_integer(strtoll(list->at[i], NULL, 10))
						      : text_value(list->at[i]));
	return ret;
}

static json_t *number_value(uint32_t type, int64_t number)
{
	if (type != GPC_OPT_DURATION)
		return json_integer(number);
	if (number % (int64_t)GPC_SECOND_NS == 0)
		return json_integer(number / (int64_t)GPC_SECOND_NS);
	return json_real((double)number / (double)GPC_SECOND_NS);
}

/* has_value: false when neither the user nor the table gave one. A number that
 * the program filled in later is shown all the same. */
static json_t *slot_value(const struct option_row *row, bool has_value)
{
	struct gpc_list list;
	const char *text;
	int64_t number;
	int32_t small;

	switch (row->opt.type) {
	case GPC_OPT_BOOL:
		memcpy(&small, row->slot, sizeof small);
		return json_boolean(small);
	case GPC_OPT_CHOICE:
		memcpy(&small, row->slot, sizeof small);
		return has_value || small ? choice_value(row->opt.choices, small) : json_null();
	case GPC_OPT_STRING:
		memcpy(&text, row->slot, sizeof text);
		return text ? text_value(text) : json_null();
	case GPC_OPT_LIST:
		memcpy(&list, row->slot, sizeof list);
		return has_value || list.n ? list_value(&row->opt, &list) : json_null();
	default:
		memcpy(&number, row->slot, sizeof number);
		return has_value || number != row->opt.absent ? number_value(row->opt.type, number)
							      : json_null();
	}
}

/* The key of a row: its dest, or its long name in the way of identifiers. */
static char *key_of(const struct option_row *row)
{
	char *key = strdup(row->opt.dest ? row->opt.dest : row->name);

	for (char *at = key; key && *at; at++)
		if (*at == '-')
			*at = '_';
	return key;
}

static bool is_secret_slot(const struct gpc_options *o, const char *slot)
{
	for (size_t r = 0; r < o->rows.n; r++)
		if (o->rows.at[r].slot == slot && o->rows.at[r].opt.flags & GPC_OPT_SECRET)
			return true;
	return false;
}

/* "--no-java" needs no key beside that of "--java-mode". */
static bool is_said_already(const struct gpc_options *o, const struct option_row *row)
{
	for (const struct option_row *r = o->rows.at; r < row; r++)
		if (r->slot == row->slot && !row->opt.dest)
			return true;
	return false;
}

static bool add_value(const struct gpc_options *o, const struct option_row *row, json_t *to)
{
	bool has_value =
		gpc_option_winner(o, row->slot) != NULL || gpc_option_fallback(o, row) != NULL;
	autofree char *key = key_of(row);

	if (!key)
		return false;
	if (!*key || json_object_get(to, key) || is_said_already(o, row) ||
	    is_secret_slot(o, row->slot))
		return true;
	return json_object_set_new(to, key, slot_value(row, has_value)) == 0;
}

static json_t *names_of(const char *text)
{
	json_t *ret = json_array();

	while (text && *text) {
		size_t n = strcspn(text, "|");

		json_array_append_new(ret, json_stringn(text, n));
		text += n + (text[n] == '|');
	}
	return ret;
}

static void set_text(json_t *to, const char *key, const char *text)
{
	if (text)
		json_object_set_new(to, key, text_value(text));
}

static void set_flags(json_t *to, uint32_t flags)
{
	static const char *const names[] = {"secret",   "live", "hidden",     "absolute", "switch",
					    "optional", "mode", "deprecated", "whole",    "last"};
	json_t *list = json_array();

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (flags & 1u << i)
			json_array_append_new(list, json_string(names[i]));
	json_object_set_new(to, "flags", list);
}

static json_t *describe(const struct option_row *row)
{
	static const char *const types[] = {
		[GPC_OPT_BOOL] = "bool",     [GPC_OPT_INT] = "int",
		[GPC_OPT_BYTES] = "bytes",   [GPC_OPT_DURATION] = "duration",
		[GPC_OPT_STRING] = "string", [GPC_OPT_CHOICE] = "choice",
		[GPC_OPT_LIST] = "list",
	};
	const struct gpc_option *opt = &row->opt;
	json_t *ret = json_object();

	set_text(ret, "name", row->name);
	set_text(ret, "type", types[opt->type]);
	set_text(ret, "env", row->env);
	set_text(ret, "help", opt->help);
	set_text(ret, "metavar", opt->metavar);
	if (opt->short_name)
		json_object_set_new(ret, "short", json_stringn(&opt->short_name, 1));
	if (!(opt->flags & GPC_OPT_SECRET)) {
		set_text(ret, "default", opt->fallback);
		set_text(ret, "implied", opt->implied);
	}
	if (opt->aliases)
		json_object_set_new(ret, "aliases", names_of(opt->aliases));
	if (opt->choices)
		json_object_set_new(ret, "choices", names_of(opt->choices));
	if (opt->min || opt->max) {
		json_object_set_new(ret, "min", number_value(opt->type, opt->min));
		json_object_set_new(ret, "max", number_value(opt->type, opt->max));
	}
	set_flags(ret, opt->flags);
	return ret;
}

json_t *gpc_options_json(const struct gpc_options *o)
{
	autocall(json_drop) json_t *ret = json_object();

	for (size_t r = 0; ret && r < o->rows.n; r++)
		if (!add_value(o, &o->rows.at[r], ret))
			return NULL;
	return take(ret);
}

json_t *gpc_options_schema(const struct gpc_option *table, const char *module)
{
	autocall(options_drop) struct gpc_options *o = NULL;
	autofree char *dest = calloc(1, gpc_options_bytes(table) + 1);
	autocall(json_drop) json_t *ret = json_array();

	if (!ret || !dest || gpc_options_new(&o, NULL) < 0 ||
	    gpc_options_add(o, module, "", table, dest, NULL) < 0)
		return NULL;
	for (size_t r = 0; r < o->rows.n; r++)
		json_array_append_new(ret, describe(&o->rows.at[r]));
	return take(ret);
}

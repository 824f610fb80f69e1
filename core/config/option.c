/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "config/option_impl.h"

static gpc_status store_string(struct gpc_options *o, char *slot, const char *text,
			       struct gpc_err *err)
{
	char *copy = NULL;

	if (text) {
		if (!vec_reserve(&o->owned, 1))
			return gpc_err_nomem(err);
		copy = strdup(text);
		if (!copy)
			return gpc_err_nomem(err);
		vec_push(&o->owned, (void *)copy);
	}
	memcpy(slot, &copy, sizeof copy);
	return GPC_OK;
}

/* All occurrences at the level that wins count, in the order given. */
static gpc_status collect(const struct gpc_options *o, const struct option_row *row,
			  struct option_texts *items, struct gpc_err *err)
{
	const struct option_given *winner = gpc_option_winner(o, row->slot);
	const char *fallback = gpc_option_fallback(o, row);

	if (!winner)
		return fallback ? gpc_option_items(&row->opt, fallback, true, items, err) : GPC_OK;
	for (size_t i = 0; i < o->given.n; i++) {
		const struct option_given *g = &o->given.at[i];

		if (g->row == GPC_OPTION_NO_ROW || g->origin != winner->origin ||
		    o->rows.at[g->row].slot != row->slot)
			continue;
		if (o->rows.at[g->row].opt.flags & GPC_OPT_LAST && g != winner)
			continue;
		gpc_try(gpc_option_items(&o->rows.at[g->row].opt, gpc_option_text(o, g),
					 g->origin != GPC_FROM_ARGS, items, err));
	}
	return GPC_OK;
}

static gpc_status store_list(struct gpc_options *o, const struct option_row *row,
			     struct gpc_err *err)
{
	autocall(gpc_option_texts_deinit) struct option_texts items = {0};
	struct gpc_list list = {0};

	gpc_try(collect(o, row, &items, err));
	if (!vec_reserve(&o->owned, items.n + 1))
		return gpc_err_nomem(err);
	for (size_t i = 0; i < items.n; i++)
		vec_push(&o->owned, items.at[i]);
	if (items.at)
		vec_push(&o->owned, (void *)items.at);
	list.at = (const char *const *)items.at;
	list.n = (uint32_t)items.n;
	items = (struct option_texts){0};
	memcpy(row->slot, &list, sizeof list);
	return GPC_OK;
}

static gpc_status store_number(const struct option_row *row, const char *text, struct gpc_err *err)
{
	int64_t number = row->opt.absent;
	int32_t small;

	if (text)
		gpc_try(gpc_option_number(&row->opt, text, &number, err));
	small = (int32_t)number;
	if (row->opt.type == GPC_OPT_BOOL || row->opt.type == GPC_OPT_CHOICE)
		memcpy(row->slot, &small, sizeof small);
	else
		memcpy(row->slot, &number, sizeof number);
	return GPC_OK;
}

static gpc_status store(struct gpc_options *o, const struct option_row *row, struct gpc_err *err)
{
	const struct option_given *winner = gpc_option_winner(o, row->slot);
	const struct option_row *by = winner ? &o->rows.at[winner->row] : row;
	const char *text = winner ? gpc_option_text(o, winner) : gpc_option_fallback(o, row);

	if (row->opt.type == GPC_OPT_LIST)
		return store_list(o, row, err);
	if (row->opt.type == GPC_OPT_STRING)
		return store_string(o, row->slot, text, err);
	return store_number(by, text, err);
}

static bool is_first_of_slot(const struct gpc_options *o, size_t r)
{
	for (size_t i = 0; i < r; i++)
		if (o->rows.at[i].slot == o->rows.at[r].slot)
			return false;
	return true;
}

static bool is_told(const struct gpc_options *o, size_t i)
{
	for (size_t before = 0; before < i; before++)
		if (o->given.at[before].row == o->given.at[i].row)
			return true;
	return false;
}

void gpc_options_reset(struct gpc_options *o)
{
	for (size_t i = 0; i < o->given.n; i++)
		gpc_option_given_deinit(&o->given.at[i]);
	o->given.n = 0;
}

gpc_status gpc_options_apply(struct gpc_options *o, struct gpc_err *err)
{
	for (size_t i = 0; i < o->given.n; i++)
		if (o->given.at[i].row != GPC_OPTION_NO_ROW)
			gpc_try(gpc_option_check_given(o, &o->given.at[i], err));
	for (size_t r = 0; r < o->rows.n; r++)
		if (is_first_of_slot(o, r))
			gpc_try(store(o, &o->rows.at[r], err));
	return GPC_OK;
}

gpc_status gpc_options_set(struct gpc_options *o, const char *name, const char *value,
			   enum gpc_origin origin, struct gpc_err *err)
{
	const struct option_row *row = gpc_option_find(o, name, strlen(name));
	const struct option_given g = {.name = (char *)name,
				       .value = (char *)value,
				       .origin = origin};

	return gpc_option_give(o, row, &g, true, err);
}

gpc_status gpc_options_check_known(const struct gpc_options *o, struct gpc_err *err)
{
	char place[160];

	for (size_t i = 0; i < o->given.n; i++) {
		const struct option_given *g = &o->given.at[i];

		if (g->row != GPC_OPTION_NO_ROW || g->origin == GPC_FROM_ENV)
			continue;
		gpc_option_place(g, place, sizeof place);
		return gpc_option_unknown(o, g->name, strlen(g->name), place, err);
	}
	return GPC_OK;
}

enum gpc_origin gpc_options_origin(const struct gpc_options *o, const char *name)
{
	const struct option_row *row = gpc_option_find(o, name, strlen(name));
	const struct option_given *winner = row ? gpc_option_winner(o, row->slot) : NULL;

	return winner ? winner->origin : GPC_FROM_DEFAULT;
}

void gpc_options_deprecated(const struct gpc_options *o, void (*warn)(void *ctx, const char *text),
			    void *ctx)
{
	char place[160], text[512];

	for (size_t i = 0; i < o->given.n; i++) {
		const struct option_given *g = &o->given.at[i];
		const struct option_row *row;

		if (g->row == GPC_OPTION_NO_ROW || is_told(o, i))
			continue;
		row = &o->rows.at[g->row];
		if (!(row->opt.flags & GPC_OPT_DEPRECATED))
			continue;
		gpc_option_place(g, place, sizeof place);
		snprintf(text, sizeof text, "--%s (%s) is deprecated: %s", row->name, place,
			 row->opt.help ? row->opt.help : "it will go");
		warn(ctx, text);
	}
}

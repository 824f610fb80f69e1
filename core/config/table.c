/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <stdalign.h>
#include <string.h>

#include "base/cleanup.h"
#include "config/option_impl.h"

#define ENV_PREFIX "GPROFILER_"

/* size and alignment (the same) of a member; 0: no such type */
static size_t member_size(uint32_t type, size_t *align)
{
	static const size_t sizes[][2] = {
		[GPC_OPT_BOOL] = {sizeof(int32_t), alignof(int32_t)},
		[GPC_OPT_INT] = {sizeof(int64_t), alignof(int64_t)},
		[GPC_OPT_BYTES] = {sizeof(int64_t), alignof(int64_t)},
		[GPC_OPT_DURATION] = {sizeof(int64_t), alignof(int64_t)},
		[GPC_OPT_STRING] = {sizeof(char *), alignof(char *)},
		[GPC_OPT_CHOICE] = {sizeof(int32_t), alignof(int32_t)},
		[GPC_OPT_LIST] = {sizeof(struct gpc_list), alignof(struct gpc_list)},
	};

	if (type == 0 || type >= sizeof sizes / sizeof *sizes)
		return 0;
	*align = sizes[type][1];
	return sizes[type][0];
}

static gpc_status bad_row(const char *why, struct gpc_err *err)
{
	return gpc_err_set(err, GPC_E_CONFIG, "%s", why);
}

static bool is_long_name(const char *name, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!islower((unsigned char)name[i]) && !isdigit((unsigned char)name[i]) &&
		    (name[i] != '-' || i == 0))
			return false;
	return len > 0;
}

static gpc_status check_flags(const struct gpc_option *opt, struct gpc_err *err)
{
	uint32_t flags = opt->flags;

	if (flags & GPC_OPT_SWITCH && flags & GPC_OPT_OPTIONAL)
		return bad_row("it can't be both SWITCH and OPTIONAL", err);
	if (flags & (GPC_OPT_SWITCH | GPC_OPT_OPTIONAL) && !opt->implied &&
	    opt->type != GPC_OPT_BOOL)
		return bad_row("a row that works without a value needs .implied", err);
	if (flags & GPC_OPT_MODE && opt->type != GPC_OPT_CHOICE)
		return bad_row("MODE is for GPC_OPT_CHOICE", err);
	if (flags & (GPC_OPT_REGEX | GPC_OPT_LAST) && opt->type != GPC_OPT_LIST)
		return bad_row("REGEX and LAST are for GPC_OPT_LIST", err);
	return GPC_OK;
}

static gpc_status check_absent(const struct gpc_option *opt, struct gpc_err *err)
{
	if (opt->absent && opt->type != GPC_OPT_INT && opt->type != GPC_OPT_BYTES &&
	    opt->type != GPC_OPT_DURATION)
		return bad_row("absent is for numbers", err);
	if (opt->absent && opt->fallback)
		return bad_row("with a fallback it is never absent", err);
	return GPC_OK;
}

static gpc_status check_texts(const struct gpc_option *opt, struct gpc_err *err)
{
	if (opt->fallback && gpc_option_check(opt, opt->fallback, true, err) < 0)
		return gpc_err_prefix(err, "fallback");
	if (opt->implied && gpc_option_check(opt, opt->implied, true, err) < 0)
		return gpc_err_prefix(err, "implied");
	return GPC_OK;
}

static gpc_status check_row(const struct gpc_option *opt, struct gpc_err *err)
{
	size_t align;

	if (!member_size(opt->type, &align))
		return bad_row("its type is unknown", err);
	if (opt->offset % align)
		return bad_row("its offset is not aligned for its type", err);
	if (opt->type == GPC_OPT_CHOICE && (!opt->choices || !*opt->choices))
		return bad_row("it has no choices", err);
	if (opt->min > opt->max)
		return bad_row("min is above max", err);
	if (opt->short_name && !isalnum((unsigned char)opt->short_name))
		return bad_row("its short name is neither a letter nor a digit", err);
	gpc_try(check_flags(opt, err));
	gpc_try(check_absent(opt, err));
	return check_texts(opt, err);
}

static gpc_status check_taken(const struct gpc_options *o, const struct option_row *row,
			      struct gpc_err *err)
{
	const char *name;
	size_t len;

	for (size_t i = 0; (name = gpc_option_name_at(row, i, &len)); i++) {
		if (!is_long_name(name, len))
			return gpc_err_set(err, GPC_E_CONFIG, "'%.*s' is no option name", (int)len,
					   name);
		if (gpc_option_find(o, name, len))
			return gpc_err_set(err, GPC_E_CONFIG, "--%.*s is already taken", (int)len,
					   name);
	}
	if (gpc_option_find_short(o, row->opt.short_name))
		return gpc_err_set(err, GPC_E_CONFIG, "-%c is already taken", row->opt.short_name);
	return GPC_OK;
}

/* Rows may share a member, but only whole ones and of one type. */
static gpc_status check_slot(const struct gpc_options *o, const struct option_row *row,
			     struct gpc_err *err)
{
	uintptr_t at = (uintptr_t)row->slot, end;
	size_t align;

	end = at + member_size(row->opt.type, &align);
	for (size_t r = 0; r < o->rows.n; r++) {
		const struct option_row *other = &o->rows.at[r];
		uintptr_t from = (uintptr_t)other->slot;
		uintptr_t to = from + member_size(other->opt.type, &align);

		if (at >= to || from >= end)
			continue;
		if (at != from || row->opt.type != other->opt.type)
			return gpc_err_set(err, GPC_E_CONFIG, "its member overlaps that of --%s",
					   other->name);
		/* What is stored is an index: it must mean the same for both. */
		if (row->opt.type == GPC_OPT_CHOICE &&
		    strcmp(row->opt.choices, other->opt.choices) != 0)
			return gpc_err_set(err, GPC_E_CONFIG,
					   "its choices differ from those of --%s", other->name);
	}
	return GPC_OK;
}

/* "--no-java" need not repeat the choices of "--java-mode". */
static void inherit_choices(const struct gpc_options *o, struct option_row *row)
{
	for (size_t r = 0; !row->opt.choices && r < o->rows.n; r++)
		if (o->rows.at[r].slot == row->slot)
			row->opt.choices = o->rows.at[r].opt.choices;
}

static char *whole_name(const char *module, const struct gpc_option *opt)
{
	char *ret = NULL;

	if (!*module || opt->flags & GPC_OPT_ABSOLUTE)
		return strdup(opt->name);
	if (asprintf(&ret, "%s-%s", module, opt->name) < 0)
		return NULL;
	for (char *at = ret; at < ret + strlen(module); at++)
		if (*at == '_')
			*at = '-';
	return ret;
}

/* What makes sense only before the other sources are read has no variable. */
static bool is_only_args(const char *module, const char *name)
{
	return !*module && (strcmp(name, "help") == 0 || strcmp(name, "version") == 0 ||
			    strcmp(name, "config") == 0);
}

static char *env_name(const char *name)
{
	char *ret = NULL;

	if (asprintf(&ret, ENV_PREFIX "%s", name) < 0)
		return NULL;
	for (char *at = ret; *at; at++)
		*at = *at == '-' ? '_' : (char)toupper((unsigned char)*at);
	return ret;
}

static void row_deinit(struct option_row *row)
{
	free(row->name);
	free(row->env);
}

static gpc_status row_init(struct option_row *row, const char *module, const struct gpc_option *opt,
			   struct gpc_err *err)
{
	row->opt = *opt;
	row->name = whole_name(module, opt);
	if (!row->name)
		return gpc_err_nomem(err);
	if (is_only_args(module, row->name))
		return GPC_OK;
	row->env = env_name(row->name);
	return row->env ? GPC_OK : gpc_err_nomem(err);
}

static gpc_status add_row(struct gpc_options *o, const char *module, const struct gpc_option *opt,
			  char *dest, struct gpc_err *err)
{
	autocall(row_deinit) struct option_row row = {0};

	if (!opt->name)
		return bad_row("it has no name", err);
	gpc_try(row_init(&row, module, opt, err));
	row.slot = dest + opt->offset;
	row.table = o->tables.n;
	if (opt->type == GPC_OPT_CHOICE)
		inherit_choices(o, &row);
	gpc_try(check_row(&row.opt, err));
	gpc_try(check_taken(o, &row, err));
	gpc_try(check_slot(o, &row, err));
	if (!vec_push(&o->rows, row))
		return gpc_err_nomem(err);
	row.name = row.env = NULL;
	return GPC_OK;
}

/* Row i of a table whose author may know more or fewer members than we do.
 * False: the table ends. */
static bool read_row(const struct gpc_option *table, size_t i, struct gpc_option *ret)
{
	const char *at = (const char *)table + i * table->struct_size;
	uint32_t size;

	memcpy(&size, at, sizeof size);
	if (!size)
		return false;
	memset(ret, 0, sizeof *ret);
	memcpy(ret, at, table->struct_size < sizeof *ret ? table->struct_size : sizeof *ret);
	return true;
}

static gpc_status add_rows(struct gpc_options *o, const char *module,
			   const struct gpc_option *table, char *dest, struct gpc_err *err)
{
	struct gpc_option opt;

	if (!table || !table->struct_size)
		return GPC_OK;
	if (table->struct_size < gpc_end_of(table, short_name) ||
	    table->struct_size % alignof(struct gpc_option))
		return gpc_err_set(err, GPC_E_CONFIG, "a row can't have %u bytes",
				   table->struct_size);
	for (size_t i = 0; read_row(table, i, &opt); i++)
		if (add_row(o, module, &opt, dest, err) < 0)
			return gpc_err_prefix(err, "row %zu (%s)", i, opt.name ? opt.name : "?");
	return GPC_OK;
}

static void table_deinit(struct option_table *t)
{
	free(t->module);
	free(t->title);
}

static gpc_status push_table(struct gpc_options *o, const char *module, const char *title,
			     struct gpc_err *err)
{
	autocall(table_deinit) struct option_table t = {strdup(module), strdup(title)};

	if (!t.module || !t.title || !vec_push(&o->tables, t))
		return gpc_err_nomem(err);
	t = (struct option_table){0};
	return GPC_OK;
}

static void drop_rows(struct gpc_options *o, size_t keep)
{
	while (o->rows.n > keep)
		row_deinit(&o->rows.at[--o->rows.n]);
}

gpc_status gpc_options_new(struct gpc_options **ret, struct gpc_err *err)
{
	struct gpc_options *o = calloc(1, sizeof *o);

	if (!o)
		return gpc_err_nomem(err);
	*ret = o;
	return GPC_OK;
}

void gpc_options_free(struct gpc_options *o)
{
	if (!o)
		return;
	gpc_options_reset(o);
	drop_rows(o, 0);
	for (size_t i = 0; i < o->tables.n; i++)
		table_deinit(&o->tables.at[i]);
	for (size_t i = 0; i < o->owned.n; i++)
		free(o->owned.at[i]);
	vec_deinit(&o->given);
	vec_deinit(&o->rows);
	vec_deinit(&o->tables);
	vec_deinit(&o->owned);
	free(o);
}

gpc_status gpc_options_add(struct gpc_options *o, const char *module, const char *title,
			   const struct gpc_option *table, void *dest, struct gpc_err *err)
{
	size_t first = o->rows.n;
	gpc_status st = add_rows(o, module, table, dest, err);

	if (st >= 0)
		st = push_table(o, module, title, err);
	if (st < 0) {
		drop_rows(o, first);
		gpc_err_prefix(err, "options of %s", *module ? module : title);
		return st;
	}
	gpc_option_adopt(o, first);
	return GPC_OK;
}

size_t gpc_options_bytes(const struct gpc_option *table)
{
	struct gpc_option opt;
	size_t need = 0, align;

	for (size_t i = 0; table && table->struct_size && read_row(table, i, &opt); i++) {
		size_t end = opt.offset + member_size(opt.type, &align);

		need = end > need ? end : need;
	}
	return need;
}

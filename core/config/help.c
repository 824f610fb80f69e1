/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <string.h>

#include "config/option_impl.h"

#define HELP_COLUMN 26
#define LEFT_MAX    256

struct column {
	FILE *out;
	size_t indent, width, at; /* at: the column of the next character */
};

struct left {
	char text[LEFT_MAX];
	size_t n;
};

static void GPC_PRINTF(2, 3) left_add(struct left *l, const char *fmt, ...)
{
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(l->text + l->n, sizeof l->text - l->n, fmt, args);
	va_end(args);
	if (n > 0)
		l->n += (size_t)n < sizeof l->text - l->n ? (size_t)n : sizeof l->text - l->n - 1;
}

static void put_word(struct column *c, const char *word, size_t len)
{
	if (c->at > c->indent && c->at + 1 + len > c->width) {
		fputc('\n', c->out);
		c->at = 0;
	}
	if (c->at < c->indent) {
		fprintf(c->out, "%*s", (int)(c->indent - c->at), "");
		c->at = c->indent;
	} else if (c->at > c->indent) {
		fputc(' ', c->out);
		c->at++;
	}
	fwrite(word, 1, len, c->out);
	c->at += len;
}

static void put_words(struct column *c, const char *text)
{
	while (*text) {
		size_t len = strcspn(text, " \n");

		if (len)
			put_word(c, text, len);
		text += len;
		text += strspn(text, " \n");
	}
}

static const char *metavar_of(uint32_t type)
{
	static const char *const names[] = {
		[GPC_OPT_BOOL] = "BOOL",     [GPC_OPT_INT] = "N",       [GPC_OPT_BYTES] = "SIZE",
		[GPC_OPT_DURATION] = "TIME", [GPC_OPT_STRING] = "TEXT", [GPC_OPT_LIST] = "LIST",
	};

	return names[type];
}

static void add_choices(struct left *l, const char *choices)
{
	left_add(l, "{");
	for (; *choices; choices++)
		left_add(l, "%c", *choices == '|' ? ',' : *choices);
	left_add(l, "}");
}

static void add_metavar(struct left *l, const struct gpc_option *opt)
{
	bool is_optional = opt->flags & GPC_OPT_OPTIONAL;

	if (opt->flags & GPC_OPT_SWITCH)
		return;
	left_add(l, is_optional ? " [" : " ");
	if (opt->metavar)
		left_add(l, "%s", opt->metavar);
	else if (opt->choices)
		add_choices(l, opt->choices);
	else
		left_add(l, "%s", metavar_of(opt->type));
	if (is_optional)
		left_add(l, "]");
}

/* What is off unless asked for, and secrets, need no "(default: ...)". */
static const char *shown_fallback(const struct gpc_option *opt)
{
	if (!opt->fallback || !*opt->fallback || opt->type == GPC_OPT_BOOL ||
	    opt->flags & GPC_OPT_SECRET)
		return NULL;
	return opt->fallback;
}

static void put_row(const struct option_row *row, FILE *out, size_t width)
{
	struct column c = {.out = out, .indent = HELP_COLUMN, .width = width};
	const char *fallback = shown_fallback(&row->opt), *name;
	struct left l = {.n = 0};
	size_t len;

	left_add(&l, "  ");
	if (row->opt.short_name)
		left_add(&l, "-%c, ", row->opt.short_name);
	for (size_t i = 0; (name = gpc_option_name_at(row, i, &len)); i++)
		left_add(&l, "%s--%.*s", i ? ", " : "", (int)len, name);
	add_metavar(&l, &row->opt);
	fwrite(l.text, 1, l.n, out);
	c.at = l.n;
	if (c.at + 2 > HELP_COLUMN) {
		fputc('\n', out);
		c.at = 0;
	}
	put_words(&c, row->opt.help ? row->opt.help : "");
	if (fallback) {
		put_words(&c, "(default:");
		put_words(&c, fallback);
		fputc(')', out);
	}
	if (c.at)
		fputc('\n', out);
}

static bool has_rows(const struct gpc_options *o, size_t table)
{
	for (size_t r = 0; r < o->rows.n; r++)
		if (o->rows.at[r].table == table && !(o->rows.at[r].opt.flags & GPC_OPT_HIDDEN))
			return true;
	return false;
}

void gpc_options_help(const struct gpc_options *o, const char *usage, FILE *out, int width)
{
	size_t columns = width > HELP_COLUMN + 20 ? (size_t)width : HELP_COLUMN + 20;

	fprintf(out, "usage: %s\n", usage);
	for (size_t t = 0; t < o->tables.n; t++) {
		if (!has_rows(o, t))
			continue;
		fprintf(out, "\n%s:\n", o->tables.at[t].title);
		for (size_t r = 0; r < o->rows.n; r++)
			if (o->rows.at[r].table == t && !(o->rows.at[r].opt.flags & GPC_OPT_HIDDEN))
				put_row(&o->rows.at[r], out, columns);
	}
}

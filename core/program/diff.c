/* SPDX-License-Identifier: Apache-2.0 */
#include "program/diff.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "program/fit.h"
#include "program/outfile.h"

#define ROWS           20
#define LINE_SIZE      4096
#define SHARES_FROM    60 /* columns of a terminal */
#define CHANGE_COLUMNS 15
#define SMALLEST       0.00005 /* what is shown as 0.00 has not changed */

/* ---- rows ---------------------------------------------------------------------------- */

struct row {
	const char *name;
	double before, after; /* shares */
	bool is_new, is_gone;
};

struct rows {
	vec(struct row) at;
};

static void rows_deinit(struct rows *r)
{
	vec_deinit(&r->at);
}

struct pair {
	const struct gpc_summary *before, *after;
	bool by_total;
};

static double share_of(const struct pair *p, const struct gpc_summary *s,
		       const struct gpc_summary_row *row)
{
	return row ? gpc_share(p->by_total ? row->total : row->self, s->samples) : 0;
}

static gpc_status add(struct rows *rows, const struct pair *p, const struct gpc_summary_row *before,
		      const struct gpc_summary_row *after, struct gpc_err *err)
{
	struct row row = {.name = before ? before->name : after->name,
			  .before = share_of(p, p->before, before),
			  .after = share_of(p, p->after, after),
			  .is_new = !before,
			  .is_gone = !after};

	if (fabs(row.after - row.before) < SMALLEST)
		return GPC_OK;
	return vec_push(&rows->at, row) ? GPC_OK : gpc_err_nomem(err);
}

static int compare(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	double dx = fabs(x->after - x->before), dy = fabs(y->after - y->before);

	if (dx != dy)
		return dx > dy ? -1 : 1;
	return strcmp(x->name, y->name);
}

static gpc_status collect(const struct pair *p, struct rows *rows, struct gpc_err *err)
{
	const struct gpc_summary_table *old = &p->before->tables[GPC_FUNCTIONS];
	const struct gpc_summary_table *new = &p->after->tables[GPC_FUNCTIONS];

	for (size_t i = 0; i < old->rows.n; i++)
		gpc_try(add(rows, p, &old->rows.at[i], gpc_summary_find(new, old->rows.at[i].name),
			    err));
	for (size_t i = 0; i < new->rows.n; i++)
		if (!gpc_summary_find(old, new->rows.at[i].name))
			gpc_try(add(rows, p, NULL, &new->rows.at[i], err));
	if (rows->at.n)
		qsort(rows->at.at, rows->at.n, sizeof *rows->at.at, compare);
	return GPC_OK;
}

/* ---- text ---------------------------------------------------------------------------- */

/* On a narrow terminal only the change. */
static bool has_shares(const struct gpc_table *t)
{
	return t->width >= SHARES_FROM;
}

static void put_heads(const struct gpc_table *t)
{
	gpc_table_line(t, has_shares(t) ? "  before    after   points       function"
					: "  points       function");
}

static void put_row(const struct gpc_table *t, const struct row *row)
{
	double change = row->after - row->before;
	const char *mark = row->is_new ? "new" : row->is_gone ? "gone" : "";
	const char *color = gpc_table_color(t, fabs(change));
	char name[LINE_SIZE];
	int used = CHANGE_COLUMNS;

	if (has_shares(t))
		used += fprintf(t->out, "%7.2f%% %7.2f%% ", 100 * row->before, 100 * row->after);
	gpc_fit(row->name, (size_t)(t->width > used ? t->width - used : 0), name, sizeof name);
	fprintf(t->out, "%s%+8.2f%s %-4s  %s\n", color, 100 * change,
		*color ? gpc_table_plain(t) : "", mark, name);
}

static gpc_status put_table(const struct gpc_table *t, const struct pair *p, struct gpc_err *err)
{
	autocall(rows_deinit) struct rows rows = {0};

	gpc_try(collect(p, &rows, err));
	fputc('\n', t->out);
	gpc_table_title(t, p->by_total ? "Functions by change of total"
				       : "Functions by change of self");
	if (rows.at.n)
		put_heads(t);
	for (size_t i = 0; i < rows.at.n && i < ROWS; i++)
		put_row(t, &rows.at.at[i]);
	if (!rows.at.n)
		gpc_table_line(t, "No share has changed.");
	return GPC_OK;
}

static void put_measured(const struct gpc_table *t, const char *what, const struct gpc_summary *s)
{
	char text[400];
	int n = snprintf(text, sizeof text, "%s ", what);

	gpc_table_measured(s, text + n, sizeof text - (size_t)n);
	gpc_table_text(t, text);
}

gpc_status gpc_diff_print(const struct gpc_table *t, const struct gpc_summary *before,
			  const struct gpc_summary *after, struct gpc_err *err)
{
	struct pair self = {before, after, false}, total = {before, after, true};

	put_measured(t, "Before:", before);
	put_measured(t, "After: ", after);
	gpc_try(put_table(t, &self, err));
	return put_table(t, &total, err);
}

/* ---- the command ----------------------------------------------------------------------- */

struct profiles {
	struct gpc_profile *before, *after;
};

static void profiles_deinit(struct profiles *p)
{
	gpc_profile_close(p->before);
	gpc_profile_close(p->after);
}

static gpc_status make_page(const void *arg, gpc_outfile_put put, void *ctx)
{
	const struct profiles *p = arg;

	return gpc_profile_diff_html(p->before, p->after, put, ctx);
}

static gpc_status print(const struct profiles *p, struct gpc_err *err)
{
	autocall(gpc_summary_deinit) struct gpc_summary before = {0};
	autocall(gpc_summary_deinit) struct gpc_summary after = {0};
	const struct gpc_profile_api *api = gpc_profile_functions();
	struct gpc_table t;

	gpc_try(gpc_summary_add(&before, p->before, api, err));
	gpc_try(gpc_summary_add(&after, p->after, api, err));
	gpc_table_init(&t, stdout);
	return gpc_diff_print(&t, &before, &after, err);
}

gpc_status gpc_diff(const char *before, const char *after, const char *html, struct gpc_err *err)
{
	autocall(profiles_deinit) struct profiles p = {0};
	struct gpc_outfile_maker page = {.what = "make the page", .arg = &p, .make = make_page};

	gpc_try(gpc_profile_open(before, &p.before, err));
	gpc_try(gpc_profile_open(after, &p.after, err));
	return html ? gpc_outfile_write(html, &page, err) : print(&p, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "program/table.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "program/fit.h"

#define WIDTH      80
#define BOTH_FROM  60 /* columns from which self and total stand side by side */
#define LINE_SIZE  4096
#define COUNT_SIZE 16
#define HOT        0.10
#define WARM       0.03

#define PLAIN  "\033[0m"
#define BOLD   "\033[1m"
#define RED    "\033[31m"
#define YELLOW "\033[33m"

/* ---- pieces ----------------------------------------------------------------------- */

double gpc_share(uint64_t part, uint64_t n)
{
	return n ? (double)part / (double)n : 0;
}

/* At most seven columns. */
static void count_text(uint64_t n, char *buf)
{
	if (n < 10000000)
		snprintf(buf, COUNT_SIZE, "%" PRIu64, n);
	else if (n < 10000000000)
		snprintf(buf, COUNT_SIZE, "%.1fM", (double)n / 1e6);
	else
		snprintf(buf, COUNT_SIZE, "%.0fG", (double)n / 1e9);
}

const char *gpc_table_color(const struct gpc_table *t, double share)
{
	if (!t->has_color || share < WARM)
		return "";
	return share < HOT ? YELLOW : RED;
}

const char *gpc_table_plain(const struct gpc_table *t)
{
	return t->has_color ? PLAIN : "";
}

/* The name in what the line has left. */
static void put_name(const struct gpc_table *t, const char *name, int used)
{
	char fitted[LINE_SIZE];

	gpc_fit(name, t->width > used ? (size_t)(t->width - used) : 0, fitted, sizeof fitted);
	fprintf(t->out, "%s\n", fitted);
}

/* ---- lines --------------------------------------------------------------------------- */

void gpc_table_init(struct gpc_table *t, FILE *out)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
	bool is_terminal = isatty(fileno(out));
	struct winsize size;

	*t = (struct gpc_table){.out = out, .width = WIDTH};
	t->has_color = is_terminal && !(no_color && *no_color) && term && *term &&
		       strcmp(term, "dumb") != 0;
	if (is_terminal && ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col)
		t->width = size.ws_col;
	if (t->width < GPC_TABLE_NARROWEST)
		t->width = GPC_TABLE_NARROWEST;
}

void gpc_table_line(const struct gpc_table *t, const char *text)
{
	put_name(t, text, 0);
}

void gpc_table_text(const struct gpc_table *t, const char *text)
{
	size_t width = (size_t)t->width;

	while (strlen(text) > width) {
		size_t n = width;

		while (n && text[n] != ' ')
			n--;
		if (!n)
			break; /* one long word */
		fprintf(t->out, "%.*s\n", (int)n, text);
		text += n + 1;
	}
	gpc_table_line(t, text);
}

void gpc_table_clauses(const struct gpc_table *t, const char *text)
{
	size_t n = strlen(text), width = (size_t)t->width;

	if (n > width)
		for (n = width; n && !(strchr(",;.", text[n]) && text[n + 1] == ' ');)
			n--;
	if (n)
		fprintf(t->out, "%.*s\n", (int)n, text);
	else
		gpc_table_line(t, text);
}

void gpc_table_title(const struct gpc_table *t, const char *text)
{
	fputs(t->has_color ? BOLD : "", t->out);
	put_name(t, text, 0);
	fputs(gpc_table_plain(t), t->out);
}

/* ---- tables -------------------------------------------------------------------------- */

struct columns {
	bool has_self, has_total;
};

static struct columns columns_of(const struct gpc_table *t, int which, bool by_total)
{
	bool has_both = which == GPC_FUNCTIONS || which == GPC_LANGUAGES;

	if (!has_both)
		return (struct columns){.has_self = true};
	if (t->width >= BOTH_FROM)
		return (struct columns){true, true};
	return (struct columns){!by_total, by_total};
}

static void put_heads(const struct gpc_table *t, struct columns c, int which)
{
	static const char *const names[GPC_SUMMARY_TABLES] = {"function", "language", "process",
							      "container"};
	int used = 0;

	if (c.has_self && c.has_total)
		used = fprintf(t->out, "  self samples   total samples  ");
	else
		used = fprintf(t->out, "%6s samples  ",
			       c.has_total                                         ? "total"
			       : which == GPC_PROCESSES || which == GPC_CONTAINERS ? "share"
										   : "self");
	put_name(t, names[which], used);
}

static int put_value(const struct gpc_table *t, uint64_t value, uint64_t samples)
{
	double share = gpc_share(value, samples);
	char count[COUNT_SIZE];

	count_text(value, count);
	fprintf(t->out, "%s%5.1f%%%s %7s  ", gpc_table_color(t, share), 100 * share,
		gpc_table_plain(t), count);
	return 16;
}

static void put_row(const struct gpc_table *t, struct columns c, const struct gpc_summary_row *row,
		    uint64_t samples)
{
	char name[LINE_SIZE];
	int used = 0;

	if (c.has_self)
		used += put_value(t, row->self, samples);
	if (c.has_total)
		used += put_value(t, row->total, samples);
	snprintf(name, sizeof name, "%s", row->name);
	put_name(t, name, used);
}

static void put_process(const struct gpc_table *t, const struct gpc_summary_row *row,
			uint64_t samples)
{
	char note[40] = "", name[LINE_SIZE];
	int used = put_value(t, row->self, samples);
	size_t left = (size_t)(t->width > used ? t->width - used : 0), note_columns;

	if (row->n_processes > 1)
		snprintf(note, sizeof note, " (%" PRIu32 " processes)", row->n_processes);
	else if (row->pid > 0)
		snprintf(note, sizeof note, " (%" PRId32 ")", row->pid);
	note_columns = strlen(note);
	if (note_columns + 8 > left) /* the name matters more */
		note_columns = 0;
	gpc_fit(row->name, left - note_columns, name, sizeof name);
	fprintf(t->out, "%s%s\n", name, note_columns ? note : "");
}

size_t gpc_table_rows(const struct gpc_table *t, const struct gpc_summary *s, int which,
		      bool by_total, size_t limit)
{
	autofree const struct gpc_summary_row **rows =
		gpc_summary_sorted(&s->tables[which], by_total);
	struct columns c = columns_of(t, which, by_total);
	size_t n = rows ? s->tables[which].rows.n : 0, shown = 0;

	put_heads(t, c, which);
	for (; shown < n && shown < limit; shown++) {
		const struct gpc_summary_row *row = rows[shown];

		if (!(c.has_total ? row->total : row->self))
			break;
		if (which == GPC_PROCESSES && !s->has_pids)
			put_process(t, row, s->samples);
		else
			put_row(t, c, row, s->samples);
	}
	return shown;
}

/* ---- sentences ------------------------------------------------------------------------ */

struct text {
	char *at;
	size_t n, size;
};

GPC_PRINTF(2, 3) static void append(struct text *t, const char *fmt, ...)
{
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(t->at + t->n, t->size - t->n, fmt, args);
	va_end(args);
	if (n > 0)
		t->n += (size_t)n < t->size - t->n ? (size_t)n : t->size - t->n - 1;
}

void gpc_table_measured(const struct gpc_summary *s, char *buf, size_t size)
{
	struct text t = {buf, 0, size};

	append(&t, "%.1f s", s->seconds);
	if (s->hz)
		append(&t, " at %" PRIu32 " Hz", s->hz);
	append(&t, ": %" PRIu64 " samples", s->samples);
	if (s->hz && s->seconds > 0)
		append(&t, ", %.2f CPUs busy", (double)s->samples / (s->hz * s->seconds));
	append(&t, ". Idle and left out: %" PRIu64 ".", s->idle);
}

void gpc_table_lost(const struct gpc_summary *s, char *buf, size_t size)
{
	struct text t = {buf, 0, size};

	if (!s->lost) {
		append(&t, "Lost: no samples");
	} else {
		append(&t, "Lost: %" PRIu64 " samples (%.1f%%)", s->lost,
		       100 * gpc_share(s->lost, s->lost + s->samples + s->idle));
	}
	if (s->throttled)
		append(&t, "; the kernel throttled %" PRIu64 " times", s->throttled);
	append(&t, ".");
}

void gpc_table_unseen(const struct gpc_summary *s, char *buf, size_t size)
{
	struct text t = {buf, 0, size};

	append(&t, "Without a name: %.1f%%", 100 * gpc_share(s->nameless, s->samples));
	if (s->over)
		append(&t, "; no memory for the stacks of %.1f%%",
		       100 * gpc_share(s->over, s->samples));
	if (s->errors)
		append(&t, "; a collector could not look into the processes of %.1f%%",
		       100 * gpc_share(s->errors, s->samples));
	if (s->has_no_kernel)
		append(&t, "; the kernel could not be seen");
	else if (s->has_no_kernel_names)
		append(&t, "; names of the kernel could not be read");
	append(&t, ".");
}

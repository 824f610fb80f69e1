/* SPDX-License-Identifier: Apache-2.0 */
#include "program/top.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "program/table.h"

#define ESCAPE '\033'
/* Lines besides rows of a table: three sentences, a blank one, the title, the
 * heads of columns; below a blank one and the keys. */
#define AROUND 8

static const char keys[] = "q quit  s self  t total  f functions  p processes  l languages  "
			   "c containers  space pause";
static const char keys_short[] = "q s t f p l c space";

/* ---- the picture ------------------------------------------------------------------- */

static void put_title(const struct gpc_top *top, const struct gpc_table *t)
{
	static const char *const names[GPC_SUMMARY_TABLES] = {"Functions", "Languages", "Processes",
							      "Containers"};
	bool has_order = top->which == GPC_FUNCTIONS || top->which == GPC_LANGUAGES;
	char text[80];

	snprintf(text, sizeof text, "%s%s%s", names[top->which],
		 !has_order      ? ""
		 : top->by_total ? " by total"
				 : " by self",
		 top->is_paused ? "  [paused]" : "");
	gpc_table_title(t, text);
}

static void put_sentences(const struct gpc_summary *s, const struct gpc_table *t)
{
	char text[400];

	gpc_table_measured(s, text, sizeof text);
	gpc_table_clauses(t, text);
	gpc_table_lost(s, text, sizeof text);
	gpc_table_clauses(t, text);
	gpc_table_unseen(s, text, sizeof text);
	gpc_table_clauses(t, text);
}

static void put_picture(const struct gpc_top *top, const struct gpc_table *t, int rows)
{
	size_t room = rows > AROUND ? (size_t)(rows - AROUND) : 0, used = 0;

	if (top->has_profile) {
		put_sentences(&top->summary, t);
	} else {
		gpc_table_line(t, "Measuring the first window.");
		fputs("\n\n", t->out);
	}
	fputc('\n', t->out);
	put_title(top, t);
	used = gpc_table_rows(t, &top->summary, top->which, top->by_total, room);
	for (; used < room + 1; used++)
		fputc('\n', t->out);
	gpc_table_line(t, t->width > (int)strlen(keys) ? keys : keys_short);
}

char *gpc_top_picture(const struct gpc_top *top, int rows, int columns, bool has_color)
{
	struct gpc_table t = {.width = columns, .has_color = has_color};
	char *text = NULL;
	size_t size;

	t.out = open_memstream(&text, &size);
	if (!t.out)
		return NULL;
	put_picture(top, &t, rows);
	if (fclose(t.out) == 0)
		return text;
	free(text);
	return NULL;
}

static void draw(const struct gpc_top *top)
{
	struct gpc_table t;
	autofree char *text = NULL;

	if (!top->screen.is_open)
		return;
	gpc_table_init(&t, stdout);
	text = gpc_top_picture(top, top->screen.rows, top->screen.columns, t.has_color);
	if (text)
		gpc_screen_show(&top->screen, text);
}

/* ---- what happens -------------------------------------------------------------------- */

bool gpc_top_key(struct gpc_top *top, char key)
{
	static const char views[] = "flpc"; /* in the order of GPC_FUNCTIONS ... */
	const char *view = key ? strchr(views, key) : NULL;

	if (view)
		top->which = (int)(view - views);
	else if (key == 's' || key == 't')
		top->by_total = key == 't';
	else if (key == ' ')
		top->is_paused = !top->is_paused;
	return key != 'q';
}

/* Keys with arrows and the like come as several bytes after an escape. */
static bool on_input(void *ctx)
{
	struct gpc_top *top = ctx;
	char bytes[64];
	ssize_t n = read(STDIN_FILENO, bytes, sizeof bytes);

	if (n <= 0)
		return false; /* the terminal is gone */
	for (ssize_t i = 0; i < n && bytes[i] != ESCAPE; i++)
		if (!gpc_top_key(top, bytes[i]))
			return false;
	draw(top);
	return true;
}

static void begin(void *ctx)
{
	struct gpc_top *top = ctx;

	gpc_screen_open(&top->screen, NULL);
	draw(top);
}

static void end(void *ctx)
{
	struct gpc_top *top = ctx;

	gpc_screen_close(&top->screen);
}

/* Stops as the user's shell expects it, and is here again when continued. */
static void suspend(struct gpc_top *top)
{
	gpc_screen_close(&top->screen);
	kill(getpid(), SIGSTOP);
	begin(top);
}

static bool on_signal(void *ctx, int number)
{
	struct gpc_top *top = ctx;

	switch (number) {
	case SIGWINCH:
		gpc_screen_measure(&top->screen);
		draw(top);
		return true;
	case SIGTSTP:
		suspend(top);
		return true;
	case SIGCONT: /* somebody else had stopped us, and the shell used the terminal */
		gpc_screen_again(&top->screen);
		draw(top);
		return true;
	default:
		return false;
	}
}

void gpc_top_profile(struct gpc_top *top, const struct gpc_profile *p,
		     const struct gpc_profile_api *api)
{
	struct gpc_summary fresh = {.has_pids = true};

	if (top->is_paused)
		return;
	/* Without memory for it the former window stays. */
	if (gpc_summary_add(&fresh, p, api, NULL) < 0) {
		gpc_summary_deinit(&fresh);
		return;
	}
	gpc_summary_deinit(&top->summary);
	top->summary = fresh;
	top->has_profile = true;
	draw(top);
}

void gpc_top_deinit(struct gpc_top *top)
{
	gpc_screen_close(&top->screen);
	gpc_summary_deinit(&top->summary);
}

struct gpc_viewer gpc_top_viewer(struct gpc_top *top)
{
	static const int signals[] = {SIGWINCH, SIGTSTP, SIGCONT, SIGQUIT, 0};

	return (struct gpc_viewer){.ctx = top,
				   .input_fd = STDIN_FILENO,
				   .signals = signals,
				   .begin = begin,
				   .on_input = on_input,
				   .on_signal = on_signal,
				   .end = end};
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "program/once.h"

#define FUNCTIONS 15 /* rows; with both tables of functions all fits a page */
#define OTHERS    10

static void print_table(const struct gpc_table *t, const struct gpc_summary *s, int which,
			bool by_total, const char *title)
{
	size_t limit = which == GPC_FUNCTIONS ? FUNCTIONS : OTHERS;

	fputc('\n', t->out);
	gpc_table_title(t, title);
	gpc_table_rows(t, s, which, by_total, limit);
}

void gpc_once_print(const struct gpc_table *t, const struct gpc_summary *s)
{
	char text[400];

	gpc_table_measured(s, text, sizeof text);
	gpc_table_text(t, text);
	gpc_table_lost(s, text, sizeof text);
	gpc_table_text(t, text);
	gpc_table_unseen(s, text, sizeof text);
	gpc_table_text(t, text);
	if (!s->samples) {
		gpc_table_text(t, "Nothing ran: there is nothing to show.");
		return;
	}
	print_table(t, s, GPC_FUNCTIONS, false, "Functions by self");
	print_table(t, s, GPC_FUNCTIONS, true, "Functions by total");
	print_table(t, s, GPC_LANGUAGES, false, "Languages by self");
	print_table(t, s, GPC_PROCESSES, false, "Processes");
	print_table(t, s, GPC_CONTAINERS, false, "Containers");
}

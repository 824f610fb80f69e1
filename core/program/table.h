/* SPDX-License-Identifier: Apache-2.0 */
/* A summary as lines of text that fit a width: what "once" prints and "top"
 * draws. No line is longer than width, which is at least GPC_TABLE_NARROWEST. */
#ifndef GPC_PROGRAM_TABLE_H
#define GPC_PROGRAM_TABLE_H

#include <stdio.h>

#include "program/summary.h"

#define GPC_TABLE_NARROWEST 20

struct gpc_table {
	FILE *out;
	int width;
	bool has_color;
};

/* What there is to know of standard output: its width (80 when it is no
 * terminal), and whether colours are wanted (NO_COLOR). */
void gpc_table_init(struct gpc_table *t, FILE *out);

/* Breaks lines at blanks. */
void gpc_table_text(const struct gpc_table *t, const char *text);
/* One line, cut when it is too long. */
void gpc_table_line(const struct gpc_table *t, const char *text);
/* One line of the clauses that fit. */
void gpc_table_clauses(const struct gpc_table *t, const char *text);
void gpc_table_title(const struct gpc_table *t, const char *text);
/* The heads of columns and at most limit rows of one of the tables (GPC_FUNCTIONS
 * ...); returns how many rows. */
size_t gpc_table_rows(const struct gpc_table *t, const struct gpc_summary *s, int which,
		      bool by_total, size_t limit);
/* By which share a name is coloured; "" for none. */
const char *gpc_table_color(const struct gpc_table *t, double share);
const char *gpc_table_plain(const struct gpc_table *t);

/* The sentences above the tables: what was measured, what was lost, what could
 * not be seen. */
void gpc_table_measured(const struct gpc_summary *s, char *buf, size_t size);
void gpc_table_lost(const struct gpc_summary *s, char *buf, size_t size);
void gpc_table_unseen(const struct gpc_summary *s, char *buf, size_t size);

/* 0 when n is 0. */
double gpc_share(uint64_t part, uint64_t n);

#endif

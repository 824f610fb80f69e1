/* SPDX-License-Identifier: Apache-2.0 */
/* gprofiler-core diff A B: which functions take another share of the time. */
#ifndef GPC_PROGRAM_DIFF_H
#define GPC_PROGRAM_DIFF_H

#include "program/table.h"

/* As text; idle time stands in no share. */
gpc_status gpc_diff_print(const struct gpc_table *t, const struct gpc_summary *before,
			  const struct gpc_summary *after, struct gpc_err *err);
/* The command. html: the page goes there instead of text to standard output; or
 * NULL. */
gpc_status gpc_diff(const char *before, const char *after, const char *html, struct gpc_err *err);

#endif

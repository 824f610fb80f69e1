/* SPDX-License-Identifier: Apache-2.0 */
/* "once" and "top": sessions that are shown on the terminal. They are runs like
 * any other, with the same checks and lock, but they write no files (save what
 * -o asks for) and log nothing but warnings. */
#ifndef GPC_PROGRAM_LIVE_H
#define GPC_PROGRAM_LIVE_H

#include "program/journal.h"
#include "program/top.h"

enum gpc_live_kind { GPC_LIVE_NONE, GPC_LIVE_ONCE, GPC_LIVE_TOP };

struct gpc_live {
	enum gpc_live_kind kind;
	struct gpc_summary once;
	gpc_status once_status;
	uint32_t profiles;
	struct gpc_top top;
};

/* By the first word of the command line. */
enum gpc_live_kind gpc_live_kind_of(char *const *argv);
/* The command line without argv[0], our own defaults in front: what the user says
 * comes later, and wins. New, NULL terminated; its texts are argv's and constants. */
char **gpc_live_args(enum gpc_live_kind kind, char *const *argv);
/* on_profile of struct gpc_core_setup, for the run below. */
void gpc_live_profile(struct gpc_live *live, const struct gpc_profile *p,
		      const struct gpc_profile_api *api);
/* As gpc_run. */
int gpc_live_run(struct gpc_live *live, struct gpc_core *core, struct gpc_journal *j,
		 char *const *argv, struct gpc_err *err);
void gpc_live_deinit(struct gpc_live *live);

#endif

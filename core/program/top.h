/* SPDX-License-Identifier: Apache-2.0 */
/* gprofiler-core top: the latest window on the terminal's screen. Profiles come
 * from one thread, all else from the one that runs sessions; never two at once. */
#ifndef GPC_PROGRAM_TOP_H
#define GPC_PROGRAM_TOP_H

#include "program/run.h"
#include "program/screen.h"
#include "program/summary.h"

struct gpc_top {
	struct gpc_screen screen;
	struct gpc_summary summary; /* of the latest window */
	int which;                  /* GPC_FUNCTIONS ... */
	bool by_total, is_paused, has_profile;
};

void gpc_top_profile(struct gpc_top *top, const struct gpc_profile *p,
		     const struct gpc_profile_api *api);
void gpc_top_deinit(struct gpc_top *top);
/* The picture in rows lines of columns; for tests. New. NULL: no memory. */
char *gpc_top_picture(const struct gpc_top *top, int rows, int columns, bool has_color);
/* False: the key ends it. */
bool gpc_top_key(struct gpc_top *top, char key);
/* How it wants to be called while sessions run; ctx is top. */
struct gpc_viewer gpc_top_viewer(struct gpc_top *top);

#endif

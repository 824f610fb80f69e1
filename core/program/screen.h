/* SPDX-License-Identifier: Apache-2.0 */
/* The terminal while "top" owns it: keys come one by one and unseen, the screen
 * is the alternate one. Closing gives it back as it was. */
#ifndef GPC_PROGRAM_SCREEN_H
#define GPC_PROGRAM_SCREEN_H

#include <stdbool.h>
#include <termios.h>

#include "base/err.h"

struct gpc_screen {
	struct termios saved;
	bool is_open;
	int rows, columns;
};

/* Standard input and output are a terminal. */
bool gpc_screen_is_there(void);
gpc_status gpc_screen_open(struct gpc_screen *s, struct gpc_err *err);
void gpc_screen_close(struct gpc_screen *s); /* may come twice */
/* After others have changed it; saved stays what it was. */
void gpc_screen_again(struct gpc_screen *s);
void gpc_screen_measure(struct gpc_screen *s);
/* Lines of at most columns, at most rows of them, replace what is shown. */
void gpc_screen_show(const struct gpc_screen *s, const char *text);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What a test dictates for one process: a text file in the target's root, in
 * README.md's words. Borrowed texts point into the script's own copy. */
#ifndef GPC_TESTRT_SCRIPT_H
#define GPC_TESTRT_SCRIPT_H

#include <gpc/plugin.h>

#define SCRIPT_LINES 128

struct script_line {
	const char *text; /* after the directive's name */
	const char *name; /* of a directive; "" for a stack */
	uint64_t value;   /* of a stack */
};

struct script {
	char *text;
	struct script_line lines[SCRIPT_LINES];
	uint32_t n;
};

/* Reads PREFIX-NSPID.txt in the target's /tmp. */
gpc_status script_read(const struct gpc_host *h, const struct gpc_target *t, const char *prefix,
		       struct script *ret);
void script_deinit(struct script *s);
/* The next line of the name at or after *at; NULL: none. */
const struct script_line *script_next(const struct script *s, const char *name, uint32_t *at);
/* The number of the first directive of the name, else fallback. */
int64_t script_number(const struct script *s, const char *name, int64_t fallback);

#endif

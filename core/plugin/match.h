/* SPDX-License-Identifier: Apache-2.0 */
/* The match tables of collectors against a process: the fast path of
 * discovery. Verdicts on an executable's file are cached. One thread. */
#ifndef GPC_PLUGIN_MATCH_H
#define GPC_PLUGIN_MATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "proc/target.h"

#define GPC_MATCH_MAX 64 /* collectors */

struct gpc_matcher;

/* tables: one per collector (NULL: never matches), at most GPC_MATCH_MAX. */
gpc_status gpc_matcher_new(const struct gpc_match *const *tables, unsigned n,
			   struct gpc_matcher **ret, struct gpc_err *err);
void gpc_matcher_free(struct gpc_matcher *m);
/* Bit k: collector k's table says yes. */
uint64_t gpc_matcher_ask(struct gpc_matcher *m, const struct gpc_target_view *v);
/* How often the executable's file had to be looked at, for tests. */
uint64_t gpc_matcher_looks(const struct gpc_matcher *m);

#endif

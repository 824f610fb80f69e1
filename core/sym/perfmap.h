/* SPDX-License-Identifier: Apache-2.0 */
/* Symbols of JIT code that a runtime writes to /tmp/perf-PID.map: lines of
 * "START SIZE name", hexadecimal; the newest entry of an address wins. The
 * text is foreign and may be half written: a last line without its end, and
 * lines that are not of this form, are left out. */
#ifndef GPC_SYM_PERFMAP_H
#define GPC_SYM_PERFMAP_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct gpc_perfmap;

/* Reads at most max_bytes of the file (borrowed), the last ones: they are the
 * newest. */
gpc_status gpc_perfmap_load(int fd, size_t max_bytes, struct gpc_perfmap **ret,
			    struct gpc_err *err);
gpc_status gpc_perfmap_parse(const char *text, size_t n, struct gpc_perfmap **ret,
			     struct gpc_err *err);
void gpc_perfmap_free(struct gpc_perfmap *map);
/* NULL when no entry covers address; borrowed from map. */
const char *gpc_perfmap_find(const struct gpc_perfmap *map, uint64_t address);
size_t gpc_perfmap_bytes(const struct gpc_perfmap *map);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Parses /proc/PID/maps. The text is the kernel's, but paths in it are the
 * target's: they may hold anything but a newline. */
#ifndef GPC_PROC_MAPS_H
#define GPC_PROC_MAPS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* The next line of *at (which moves on). False at the end. Lines that do not
 * parse are skipped. path points into the text and ends at *path_len; a
 * " (deleted)" the kernel appended is cut off and reported. */
struct gpc_maps_line {
	struct gpc_map map; /* map.path is not set */
	const char *path;
	size_t path_len;
	bool is_deleted;
};
bool gpc_maps_next(const char **at, const char *end, struct gpc_maps_line *ret);

#endif

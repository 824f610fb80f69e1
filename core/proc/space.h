/* SPDX-License-Identifier: Apache-2.0 */
/* The executable mappings of a process: what an address of its code means.
 * Sorted and without overlap. Shared after a fork until one side changes it. */
#ifndef GPC_PROC_SPACE_H
#define GPC_PROC_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gpc_area_kind {
	GPC_AREA_FILE, /* image is set */
	GPC_AREA_VDSO,
	GPC_AREA_ANON, /* no file behind it: JIT code, trampolines */
};

struct gpc_area {
	uint64_t start, end, offset;
	uint32_t image; /* of gpc_images */
	uint32_t kind;
};

struct gpc_space {
	uint32_t refs, n, room;
	struct gpc_area *areas;
};

struct gpc_space *gpc_space_new(void); /* NULL: no memory */
struct gpc_space *gpc_space_get(struct gpc_space *s);
void gpc_space_put(struct gpc_space *s); /* NULL is fine */

/* Puts an area in, replacing what it covers. *s is replaced by a copy when it
 * is shared. False: no memory (nothing changed). At most 16384 areas. */
bool gpc_space_map(struct gpc_space **s, const struct gpc_area *area);
/* NULL: nothing mapped there. Borrowed until the next gpc_space_map. */
const struct gpc_area *gpc_space_find(const struct gpc_space *s, uint64_t address);

#endif

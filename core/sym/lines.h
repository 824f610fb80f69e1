/* SPDX-License-Identifier: Apache-2.0 */
/* Source lines and inlined functions of one image, each address looked up once:
 * from DWARF, or a Go program's own table. Internal to core/sym. */
#ifndef GPC_SYM_LINES_H
#define GPC_SYM_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"
#include "elf/dwarf.h"
#include "sym/images.h"

struct gpc_lines {
	struct gpc_dwarf *dwarf; /* NULL: not opened, or there is none */
	bool is_opened;
	struct gpc_u64map known; /* address as linked → its first entry in list and their number */
	vec(struct gpc_source_line) list;
	struct gpc_u64map index; /* hash → place in texts */
	vec(char *) texts;
	size_t text_bytes;
};

/* What is known of an address already: the entries, borrowed until lines_drop;
 * false: it has not been asked for. */
bool gpc_lines_known(const struct gpc_lines *l, uint64_t vaddr, struct gpc_line_list *ret);
/* Remembers places (n may be 0), whose texts stay the caller's. */
bool gpc_lines_add(struct gpc_lines *l, uint64_t vaddr, const struct gpc_dwarf_place *places,
		   size_t n);
void gpc_lines_close(struct gpc_lines *l); /* the debug information */
void gpc_lines_drop(struct gpc_lines *l);  /* all */
size_t gpc_lines_bytes(const struct gpc_lines *l);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Stubs by which a file calls into others. They have no symbols: a stub is
 * named after the function that its relocation names. Copied by value; knows
 * only the commonest layouts (x86-64, arm64), elsewhere it is empty. */
#ifndef GPC_ELF_PLT_H
#define GPC_ELF_PLT_H

#include <stdbool.h>
#include <stdint.h>

#include "elf/file.h"
#include "elf/symbols.h"

struct gpc_elf_plt {
	uint64_t start;       /* address of the first stub, as linked */
	uint32_t count, size; /* number of stubs, bytes of each */
	uint64_t relocations; /* file offset, one for each stub */
	struct gpc_elf_symbols symbols;
};

/* count is 0 when there are none. */
void gpc_elf_plt_find(const struct gpc_elf *elf, struct gpc_elf_plt *ret);
/* What a stub calls: *name is new text (with @VERSION maybe), or NULL, and then
 * *resolver is the address of the function that chooses what to call, or 0. */
void gpc_elf_plt_target(const struct gpc_elf_plt *plt, const struct gpc_elf_source *source,
			uint32_t index, char **name, uint64_t *resolver);

#endif

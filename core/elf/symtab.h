/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of one ELF file by address: .symtab and .dynsym together, 12
 * bytes a function. Names stay in the file and are read when one is wanted: a
 * profile asks for some hundred of a million. The table is the caller's, and
 * does not keep the sources.
 *
 * .symtab may come from another file: the one that a stripped file's symbols
 * were put into.
 *
 * Of the names of one address the same one is always chosen: functions before
 * labels, global before weak before local, then the shortest, then the first
 * in lexical order. */
#ifndef GPC_ELF_SYMTAB_H
#define GPC_ELF_SYMTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/file.h"

struct gpc_symtab;

struct gpc_symtab_hit {
	uint64_t start, size; /* as linked */
	uint32_t index;       /* names the function within this file */
};

/* debug: where .symtab is taken from when elf has none; NULL: nowhere else. */
gpc_status gpc_symtab_load(const struct gpc_elf *elf, const struct gpc_elf *debug,
			   struct gpc_symtab **ret, struct gpc_err *err);
void gpc_symtab_free(struct gpc_symtab *t);
/* The function that covers vaddr, the innermost one if several do. */
bool gpc_symtab_find(const struct gpc_symtab *t, uint64_t vaddr, struct gpc_symtab_hit *ret);
/* New text, without @VERSION, "foo@plt" for a stub; NULL when the file does not hold it (any more).
 * sources: those the table was loaded from, debug NULL where there was none. */
char *gpc_symtab_name(const struct gpc_symtab *t, const struct gpc_elf_source *source,
		      const struct gpc_elf_source *debug, uint32_t index);
/* As gpc_elf_vaddr(), for the executable segments. */
bool gpc_symtab_vaddr(const struct gpc_symtab *t, uint64_t file_offset, uint64_t *ret);
size_t gpc_symtab_count(const struct gpc_symtab *t);
size_t gpc_symtab_bytes(const struct gpc_symtab *t);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The symbol tables of an ELF file as they stand there, read in blocks. */
#ifndef GPC_ELF_SYMBOLS_H
#define GPC_ELF_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/file.h"

struct gpc_elf_symbols {
	uint64_t offset, count; /* within the file, whatever its header claims */
	struct gpc_elf_range strings;
};

struct gpc_elf_symbol {
	uint64_t value, size;
	uint32_t name; /* offset in the strings */
	uint16_t section;
	uint8_t type, bind;
};

/* What PT_DYNAMIC says; file offsets, 0 where it says nothing. */
struct gpc_elf_dynamic {
	uint64_t symbols, gnu_hash, hash, versions, jmprel, jmprel_size;
	struct gpc_elf_range strings;
};

/* type: SHT_SYMTAB or SHT_DYNSYM. The latter is found through PT_DYNAMIC when
 * there are no sections. */
bool gpc_elf_symbols_find(const struct gpc_elf *elf, uint32_t type, struct gpc_elf_symbols *ret);
bool gpc_elf_symbols_get(const struct gpc_elf *elf, const struct gpc_elf_symbols *symbols,
			 uint64_t index, struct gpc_elf_symbol *ret);
/* Calls fn for each until it returns false. */
gpc_status gpc_elf_symbols_each(const struct gpc_elf *elf, const struct gpc_elf_symbols *symbols,
				bool (*fn)(void *ctx, const struct gpc_elf_symbol *symbol),
				void *ctx, struct gpc_err *err);

bool gpc_elf_dynamic_find(const struct gpc_elf *elf, struct gpc_elf_dynamic *ret);

#endif

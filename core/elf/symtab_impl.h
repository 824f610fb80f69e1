/* SPDX-License-Identifier: Apache-2.0 */
/* What symtab_load.c makes and symtab.c reads. Internal to core/elf. */
#ifndef GPC_ELF_SYMTAB_IMPL_H
#define GPC_ELF_SYMTAB_IMPL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "elf/file.h"
#include "elf/plt.h"
#include "elf/symtab.h"

/* What the order of names at one address depends on, best first. */
enum {
	GPC_SYMTAB_DYNAMIC = 1u << 28, /* named in .dynsym: .symtab has it too, usually */
	GPC_SYMTAB_BIND = 3u << 29,    /* 0 global, 1 weak, 2 local */
	GPC_SYMTAB_LABEL = 1u << 31,   /* no type given */
	GPC_SYMTAB_LARGEST = (1u << 28) - 1
};

struct gpc_symtab_entry {
	uint32_t start; /* from base */
	uint32_t bits;  /* rank and size */
	uint32_t name;
};

struct gpc_symtab {
	uint64_t base;
	vec(struct gpc_elf_segment) code;
	vec(struct gpc_symtab_entry) entries; /* by start; those of one start are aliases */
	struct gpc_elf_range strings[2];      /* of .symtab, of .dynsym */
	bool is_debug;                        /* .symtab is the other file's */
	struct gpc_elf_plt plt;
};

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Go's own table of functions and lines, which the runtime needs for its stack
 * traces, so that no stripping removes it: all layouts from Go 1.2 on (1.2, 1.16,
 * 1.18, 1.20). Nothing of it is held in memory; a function is found by some
 * twenty short reads. Copied by value; the source is the caller's. */
#ifndef GPC_ELF_GOPCLNTAB_H
#define GPC_ELF_GOPCLNTAB_H

#include <stdbool.h>
#include <stdint.h>

#include "elf/dwarf.h"
#include "elf/file.h"

struct gpc_gopclntab {
	int layout;                 /* 2, 16, 18 or 20: since Go 1.x; 0: there is no table */
	uint32_t quantum, pointer;  /* bytes of the shortest instruction, of a pointer */
	uint32_t count;             /* functions */
	uint64_t text;              /* address that offsets are from, 1.18 and later */
	struct gpc_elf_range whole; /* of the file, up to the end of its section or segment */
	uint64_t names, units, files, values, functions, table; /* file offsets */
	uint64_t inlined; /* where data of functions are counted from; 0: not known */
	uint32_t n_files;
};

struct gpc_gofunc {
	uint64_t start, end; /* addresses as linked */
	uint64_t record;     /* file offset of what is known of it */
	int64_t *work;       /* steps left for its lines, counted down; NULL: any number */
};

/* False: not a Go program, or nothing that we know. */
bool gpc_gopclntab_find(const struct gpc_elf *elf, struct gpc_gopclntab *ret);
/* The function that covers an address. */
bool gpc_gopclntab_function(const struct gpc_gopclntab *t, const struct gpc_elf_source *source,
			    uint64_t vaddr, struct gpc_gofunc *ret);
/* New text, or NULL. */
char *gpc_gopclntab_name(const struct gpc_gopclntab *t, const struct gpc_elf_source *source,
			 const struct gpc_gofunc *f);
/* Lines, and since 1.18 functions that were inlined, as gpc_dwarf_find() gives them. */
size_t gpc_gopclntab_lines(const struct gpc_gopclntab *t, const struct gpc_elf_source *source,
			   const struct gpc_gofunc *f, uint64_t vaddr,
			   struct gpc_dwarf_place ret[GPC_DWARF_DEPTH]);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The headers of an ELF file of this machine's byte order, 32 or 64 bits,
 * executable or shared object; other kinds are refused. The caller owns the
 * struct and calls gpc_elf_deinit; the source's descriptor or memory is
 * borrowed for as long. */
#ifndef GPC_ELF_FILE_H
#define GPC_ELF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "elf/source.h"

/* PT_LOAD, PT_NOTE, PT_DYNAMIC and PT_GNU_EH_FRAME only. */
struct gpc_elf_segment {
	uint32_t type, flags;
	uint64_t offset, filesz, vaddr, memsz, align;
};

struct gpc_elf_section {
	uint32_t type, link, info, name;
	uint64_t flags, offset, size, addr, entsize;
};

struct gpc_elf {
	struct gpc_elf_source source;
	uint16_t type, machine;
	bool is64;
	uint32_t names; /* section that holds the names of sections, or 0 */
	vec(struct gpc_elf_segment) segments;
	vec(struct gpc_elf_section) sections; /* by their number; may be empty */
};

gpc_status gpc_elf_init(struct gpc_elf *elf, const struct gpc_elf_source *source,
			struct gpc_err *err);
/* Takes relocatable files too: what dwz shares among debug files calls itself one. */
gpc_status gpc_elf_init_shared(struct gpc_elf *elf, const struct gpc_elf_source *source,
			       struct gpc_err *err);
void gpc_elf_deinit(struct gpc_elf *elf);

/* Virtual address (as linked) of a place in the file, as a mapping with
 * PROT_EXEC has it: executable segments first, others if none fits. */
bool gpc_elf_vaddr(const struct gpc_elf *elf, uint64_t file_offset, uint64_t *ret);
/* The way back: where in the file an address lies. */
bool gpc_elf_offset(const struct gpc_elf *elf, uint64_t vaddr, uint64_t *ret);
/* First section of a type; NULL when there is none. */
const struct gpc_elf_section *gpc_elf_section_of_type(const struct gpc_elf *elf, uint32_t type);
/* First section of a name; NULL when there is none. */
const struct gpc_elf_section *gpc_elf_section_named(const struct gpc_elf *elf, const char *name);
/* Where file_offset lies in a segment, pages that the kernel maps around it
 * included. */
bool gpc_elf_segment_vaddr(const struct gpc_elf_segment *s, uint64_t file_offset, uint64_t *ret);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Compressed parts of ELF files, unpacked into memory under a limit: sections
 * with SHF_COMPRESSED (zlib, zstd), the older .zdebug_*, and the small ELF file
 * that a stripped one may carry in .gnu_debugdata (xz), whose .symtab has the
 * functions that .dynsym lacks. */
#ifndef GPC_ELF_UNPACK_H
#define GPC_ELF_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "elf/file.h"

/* New memory in *bytes. GPC_E_BUDGET: it would be more than max. */
gpc_status gpc_elf_unpack_xz(const struct gpc_elf_source *source,
			     const struct gpc_elf_range *packed, size_t max, uint8_t **bytes,
			     size_t *n, struct gpc_err *err);

/* The ELF file within elf; GPC_E_GONE: there is none. */
#define GPC_ELF_MINI_MAX ((size_t)32 << 20)
gpc_status gpc_elf_mini(const struct gpc_elf *elf, uint8_t **bytes, size_t *n, struct gpc_err *err);

/* A section as it is read: where it lies in the file, or unpacked in memory. */
struct gpc_elf_part {
	struct gpc_elf_source source;
	struct gpc_elf_range range; /* within source; size 0: no such section */
	uint8_t *unpacked;          /* owned; NULL: source is the file */
};

/* name without ".debug_": "info". At most *room bytes are unpacked, which are
 * taken off. A section that is not there is no error. */
gpc_status gpc_elf_part_init(const struct gpc_elf *elf, const char *name, size_t *room,
			     struct gpc_elf_part *ret, struct gpc_err *err);
void gpc_elf_part_deinit(struct gpc_elf_part *part);

#endif

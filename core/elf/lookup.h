/* SPDX-License-Identifier: Apache-2.0 */
/* One symbol by its name: what find_symbol and GPC_MATCH_SYMBOL need. Of the
 * versions of one name the default one is taken. Functions and data alike; of a
 * thread-local variable the value is its offset in the module's block. */
#ifndef GPC_ELF_LOOKUP_H
#define GPC_ELF_LOOKUP_H

#include <stdbool.h>
#include <stdint.h>

#include "elf/file.h"

/* Address as linked (subtract gpc_elf_vaddr() of a mapping's file offset and
 * add the mapping's start to have it in a process). False: not defined in
 * .dynsym. Costs a few reads where the file has a GNU hash. */
bool gpc_elf_lookup_dynamic(const struct gpc_elf *elf, const char *name, uint64_t *ret);
/* The same, then .symtab, which is read through: slow on big files; then, in a
 * stripped file, the .symtab within .gnu_debugdata, which is unpacked for it. */
bool gpc_elf_lookup(const struct gpc_elf *elf, const char *name, uint64_t *ret);
/* With its size; 0: the file does not tell. */
bool gpc_elf_lookup_sized(const struct gpc_elf *elf, const char *name, uint64_t *ret,
			  uint64_t *bytes);

/* Both at once, for a descriptor (borrowed): GPC_E_GONE when the file does not
 * define name. mapped_offset is a file offset whose linked address is wanted
 * too (the mapping's), *base gets it. */
gpc_status gpc_elf_lookup_fd(int fd, const char *name, uint64_t mapped_offset, uint64_t *base,
			     uint64_t *ret, struct gpc_err *err);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What the linker tells Go's runtime of a program (runtime.moduledata), found
 * through its first word, the address of .gopclntab. */
#ifndef GPC_ELF_GOMODULE_H
#define GPC_ELF_GOMODULE_H

#include <stdbool.h>
#include <stdint.h>

#include "elf/file.h"

/* Address of runtime.text, which offsets of functions are from; table: address
 * of .gopclntab; pointer: size of one. Falls back to where .text begins. */
bool gpc_gomodule_text(const struct gpc_elf *elf, uint64_t table, uint32_t pointer, uint64_t *ret);

#endif

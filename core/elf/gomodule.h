/* SPDX-License-Identifier: Apache-2.0 */
/* What the linker tells Go's runtime of a program (runtime.moduledata), found
 * through its first word, the address of .gopclntab. */
#ifndef GPC_ELF_GOMODULE_H
#define GPC_ELF_GOMODULE_H

#include <stdbool.h>
#include <stdint.h>

#include "elf/file.h"

struct gpc_gomodule {
	uint64_t text;      /* address of runtime.text, which offsets of functions are from */
	uint64_t functions; /* of go:func.*, which offsets of their data are from; 0: not known */
};

/* table: address of .gopclntab; pointer: size of one; layout as in gopclntab.h, 18 or
 * 20. text falls back to where .text begins. */
bool gpc_gomodule_find(const struct gpc_elf *elf, uint64_t table, uint32_t pointer, int layout,
		       struct gpc_gomodule *ret);

#endif

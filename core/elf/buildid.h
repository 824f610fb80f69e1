/* SPDX-License-Identifier: Apache-2.0 */
/* The build-id: the linker's fingerprint of a file, by which the kernel names
 * mapped files and debug files are found. */
#ifndef GPC_ELF_BUILDID_H
#define GPC_ELF_BUILDID_H

#include <stddef.h>
#include <stdint.h>

#include "elf/file.h"

#define GPC_ELF_BUILD_ID_MAX 64

/* Length of the build-id, 0 when the file has none (or a longer one). Looks
 * into the note segments first, as the kernel does, then the note sections. */
size_t gpc_elf_build_id(const struct gpc_elf *elf, uint8_t ret[GPC_ELF_BUILD_ID_MAX]);
/* With the place in the file where it stands. */
size_t gpc_elf_build_id_place(const struct gpc_elf *elf, uint8_t ret[GPC_ELF_BUILD_ID_MAX],
			      uint64_t *offset);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of an ELF file that hold call frame information, in memory,
 * decompressed. */
#ifndef GPC_UNWIND_SECTION_H
#define GPC_UNWIND_SECTION_H

#include "elf/file.h"
#include "unwind/cfi.h"

#define GPC_CFI_MAX (32u << 20) /* bytes of one; larger ones are cut */

struct gpc_cfi_bytes {
	struct gpc_cfi_section section;
	uint8_t *bytes; /* owned */
};

/* .eh_frame by its section, else by the header that PT_GNU_EH_FRAME points to.
 * Leaves ret->bytes NULL when there is none. */
gpc_status gpc_cfi_eh_frame(const struct gpc_elf *elf, struct gpc_cfi_bytes *ret,
			    struct gpc_err *err);
/* .debug_frame, compressed by zlib or zstd or not at all, or the old .zdebug_frame. */
gpc_status gpc_cfi_debug_frame(const struct gpc_elf *elf, struct gpc_cfi_bytes *ret,
			       struct gpc_err *err);
void gpc_cfi_bytes_deinit(struct gpc_cfi_bytes *b);

#endif

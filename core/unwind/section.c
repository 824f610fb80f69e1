/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/section.h"

#include <elf.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "elf/unpack.h"
#include "unwind/cursor.h"

void gpc_cfi_bytes_deinit(struct gpc_cfi_bytes *b)
{
	free(b->bytes);
	*b = (struct gpc_cfi_bytes){0};
}

/* What there is of a part of the file, at most GPC_CFI_MAX. */
static gpc_status read_part(const struct gpc_elf *elf, uint64_t offset, uint64_t n, uint8_t **ret,
			    size_t *ret_n, struct gpc_err *err)
{
	struct gpc_elf_range range = {offset, n};
	uint8_t *bytes;

	gpc_elf_clamp(&elf->source, &range);
	if (range.size > GPC_CFI_MAX)
		range.size = GPC_CFI_MAX;
	bytes = malloc(range.size ? range.size : 1);
	if (!bytes)
		return gpc_err_nomem(err);
	*ret_n = gpc_elf_read_array(&elf->source, range.offset, bytes, 1, range.size);
	*ret = bytes;
	return GPC_OK;
}

/* Linux Standard Base 5.0, Core, chapter 10.6.2: version, encodings of the pointer,
 * of the count and of the table, then the pointer to .eh_frame. */
static gpc_status by_header(const struct gpc_elf *elf, const struct gpc_elf_segment *s,
			    struct gpc_cfi_bytes *ret, struct gpc_err *err)
{
	uint8_t head[16];
	struct gpc_cfi_section section = {head, sizeof head, s->vaddr, true};
	struct gpc_cursor c = {head + 4, head + sizeof head, false};
	uint64_t vaddr, offset;

	if (!gpc_elf_read(&elf->source, s->offset, head, sizeof head) || head[0] != 1)
		return GPC_OK;
	vaddr = gpc_cfi_address(&section, &c, head[1]);
	if (c.is_bad || !gpc_elf_offset(elf, vaddr, &offset))
		return GPC_OK;
	/* It ends with an entry of length 0, or where the segment does. */
	for (size_t i = 0; i < elf->segments.n; i++) {
		const struct gpc_elf_segment *load = &elf->segments.at[i];

		if (load->type != PT_LOAD || offset < load->offset ||
		    offset - load->offset >= load->filesz)
			continue;
		gpc_try(read_part(elf, offset, load->offset + load->filesz - offset, &ret->bytes,
				  &ret->section.n, err));
		ret->section.bytes = ret->bytes;
		ret->section.vaddr = vaddr;
		return GPC_OK;
	}
	return GPC_OK;
}

gpc_status gpc_cfi_eh_frame(const struct gpc_elf *elf, struct gpc_cfi_bytes *ret,
			    struct gpc_err *err)
{
	const struct gpc_elf_section *s = gpc_elf_section_named(elf, ".eh_frame");

	*ret = (struct gpc_cfi_bytes){.section.is_eh = true};
	if (s && s->type == SHT_NOBITS) /* of a debug file: it is in the other one */
		return GPC_OK;
	if (s) {
		ret->section.vaddr = s->addr;
		gpc_try(read_part(elf, s->offset, s->size, &ret->bytes, &ret->section.n, err));
		ret->section.bytes = ret->bytes;
		return GPC_OK;
	}
	for (size_t i = 0; i < elf->segments.n; i++)
		if (elf->segments.at[i].type == PT_GNU_EH_FRAME)
			return by_header(elf, &elf->segments.at[i], ret, err);
	return GPC_OK;
}

gpc_status gpc_cfi_debug_frame(const struct gpc_elf *elf, struct gpc_cfi_bytes *ret,
			       struct gpc_err *err)
{
	struct gpc_elf_part part;
	size_t room = GPC_CFI_MAX;
	gpc_status st = gpc_elf_part_init(elf, "frame", &room, &part, err);

	*ret = (struct gpc_cfi_bytes){0};
	if (st < 0) /* damaged, or packed in a way that is not known: as if it were not there */
		return st == GPC_E_NOMEM ? st : GPC_OK;
	if (part.unpacked) {
		ret->bytes = take(part.unpacked);
		ret->section.n = part.range.size;
	} else if (part.range.size) {
		gpc_try(read_part(elf, part.range.offset, part.range.size, &ret->bytes,
				  &ret->section.n, err));
	}
	ret->section.bytes = ret->bytes;
	return GPC_OK;
}

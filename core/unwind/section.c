/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/section.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/cleanup.h"
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

/* From zlib's format; what comes out is at most n bytes. */
static gpc_status inflate_part(const uint8_t *from, size_t from_n, uint64_t n,
			       struct gpc_cfi_bytes *ret, struct gpc_err *err)
{
	z_stream z = {.next_in = (Bytef *)(uintptr_t)from, .avail_in = (uInt)from_n};

	if (n > GPC_CFI_MAX)
		n = GPC_CFI_MAX;
	ret->bytes = malloc(n ? n : 1);
	if (!ret->bytes)
		return gpc_err_nomem(err);
	if (inflateInit(&z) != Z_OK)
		return gpc_err_nomem(err);
	z.next_out = ret->bytes;
	z.avail_out = (uInt)n;
	/* Broken in the middle: what came before is good. */
	(void)inflate(&z, Z_FINISH);
	ret->section.n = n - z.avail_out;
	inflateEnd(&z);
	return GPC_OK;
}

/* gABI: an Elf64_Chdr stands before the data. */
static gpc_status open_compressed(const uint8_t *bytes, size_t n, struct gpc_cfi_bytes *ret,
				  struct gpc_err *err)
{
	Elf64_Chdr head;

	if (n < sizeof head)
		return GPC_OK;
	memcpy(&head, bytes, sizeof head);
	if (head.ch_type != ELFCOMPRESS_ZLIB)
		return GPC_OK;
	return inflate_part(bytes + sizeof head, n - sizeof head, head.ch_size, ret, err);
}

/* binutils before 2.26, Go before 1.19: "ZLIB", eight bytes of size, big end first. */
static gpc_status open_z(const uint8_t *bytes, size_t n, struct gpc_cfi_bytes *ret,
			 struct gpc_err *err)
{
	uint64_t size = 0;

	if (n < 12 || memcmp(bytes, "ZLIB", 4) != 0)
		return GPC_OK;
	for (unsigned i = 0; i < 8; i++)
		size = size << 8 | bytes[4 + i];
	return inflate_part(bytes + 12, n - 12, size, ret, err);
}

static gpc_status load(const struct gpc_elf *elf, const struct gpc_elf_section *s, bool is_z,
		       struct gpc_cfi_bytes *ret, struct gpc_err *err)
{
	autofree uint8_t *bytes = NULL;
	size_t n = 0;

	if (s->type == SHT_NOBITS) /* of a debug file: it is in the other one */
		return GPC_OK;
	ret->section.vaddr = s->addr;
	gpc_try(read_part(elf, s->offset, s->size, &bytes, &n, err));
	if (s->flags & SHF_COMPRESSED) {
		gpc_try(open_compressed(bytes, n, ret, err));
	} else if (is_z) {
		gpc_try(open_z(bytes, n, ret, err));
	} else {
		ret->bytes = take(bytes);
		ret->section.n = n;
	}
	ret->section.bytes = ret->bytes;
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
	if (s)
		return load(elf, s, false, ret, err);
	for (size_t i = 0; i < elf->segments.n; i++)
		if (elf->segments.at[i].type == PT_GNU_EH_FRAME)
			return by_header(elf, &elf->segments.at[i], ret, err);
	return GPC_OK;
}

gpc_status gpc_cfi_debug_frame(const struct gpc_elf *elf, struct gpc_cfi_bytes *ret,
			       struct gpc_err *err)
{
	const struct gpc_elf_section *s = gpc_elf_section_named(elf, ".debug_frame");
	const struct gpc_elf_section *z = s ? NULL : gpc_elf_section_named(elf, ".zdebug_frame");

	*ret = (struct gpc_cfi_bytes){0};
	if (s)
		return load(elf, s, false, ret, err);
	return z ? load(elf, z, true, ret, err) : GPC_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/buildid.h"

#include <elf.h>
#include <string.h>

#define MAX_NOTES 256

static uint64_t aligned(uint64_t n, uint64_t align)
{
	return (n + align - 1) & ~(align - 1);
}

/* Notes are small; each is read by itself, so no size a file claims matters. */
static size_t id_in_notes(const struct gpc_elf *elf, struct gpc_elf_range range, uint64_t align,
			  uint8_t ret[GPC_ELF_BUILD_ID_MAX], uint64_t *offset)
{
	struct {
		uint32_t name_size, size, type;
		char name[4];
	} note;

	gpc_elf_clamp(&elf->source, &range);
	if (align != 8)
		align = 4;
	for (int i = 0; i < MAX_NOTES && range.size > sizeof note; i++) {
		uint64_t at, step;

		if (!gpc_elf_read(&elf->source, range.offset, &note, sizeof note))
			return 0;
		at = aligned(12 + (uint64_t)note.name_size, align);
		step = aligned(at + note.size, align);
		if (step > range.size && at + note.size > range.size)
			return 0;
		if (note.type == NT_GNU_BUILD_ID && note.name_size == 4 &&
		    !memcmp(note.name, "GNU", 4) && note.size &&
		    note.size <= GPC_ELF_BUILD_ID_MAX) {
			*offset = range.offset + at;
			return gpc_elf_read(&elf->source, *offset, ret, note.size) ? note.size : 0;
		}
		if (step >= range.size)
			return 0;
		range.offset += step;
		range.size -= step;
	}
	return 0;
}

size_t gpc_elf_build_id_place(const struct gpc_elf *elf, uint8_t ret[GPC_ELF_BUILD_ID_MAX],
			      uint64_t *offset)
{
	size_t n;

	for (size_t i = 0; i < elf->segments.n; i++) {
		const struct gpc_elf_segment *s = &elf->segments.at[i];
		struct gpc_elf_range range = {s->offset, s->filesz};

		if (s->type == PT_NOTE && (n = id_in_notes(elf, range, s->align, ret, offset)))
			return n;
	}
	for (size_t i = 0; i < elf->sections.n; i++) {
		const struct gpc_elf_section *s = &elf->sections.at[i];
		struct gpc_elf_range range = {s->offset, s->size};

		if (s->type == SHT_NOTE && (n = id_in_notes(elf, range, 4, ret, offset)))
			return n;
	}
	return 0;
}

size_t gpc_elf_build_id(const struct gpc_elf *elf, uint8_t ret[GPC_ELF_BUILD_ID_MAX])
{
	uint64_t offset;

	return gpc_elf_build_id_place(elf, ret, &offset);
}

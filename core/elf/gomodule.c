/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/gomodule.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define MAX_SEARCH (UINT64_C(64) << 20)
#define BLOCK      65536 /* bytes, whole words and relocations of both kinds */
#define FEW        8

/* Words of struct moduledata, Go 1.18 to 1.27: pcHeader, six slices (funcnametab,
 * cutab, filetab, pctab, pclntable, ftab), findfunctab, minpc, maxpc, text, etext,
 * begin and end of noptrdata, data, bss, noptrbss and, since 1.20, covctrs; end,
 * gcdata, gcbss, types, etypes, rodata, gofunc. Go 1.27 has typedesclen before
 * etypes, itaboffset and itabsize behind it. */
enum {
	WORD_MINPC = 20,
	WORD_MAXPC = 21,
	WORD_TEXT = 22,
	WORD_ETEXT = 23,
	WORD_GOFUNC_18 = 38,
	WORD_GOFUNC_20 = 40,
	WORD_GOFUNC_27 = 43,
	WORDS = 44
};

struct search {
	const struct gpc_elf *elf;
	uint64_t table;
	uint32_t pointer;
	uint64_t found[FEW]; /* addresses where the table's address stands */
	unsigned n;
	uint64_t words[WORDS]; /* of the module being looked at */
	uint64_t module;
	uint8_t block[BLOCK];
};

struct relocation {
	uint64_t where, addend;
};

static uint32_t type_of_relative(uint16_t machine)
{
	switch (machine) {
	case EM_X86_64:
		return R_X86_64_RELATIVE;
	case EM_AARCH64:
		return R_AARCH64_RELATIVE;
	case EM_PPC64:
		return R_PPC64_RELATIVE;
	case EM_S390:
		return R_390_RELATIVE;
	case EM_RISCV:
		return 3; /* R_RISCV_RELATIVE */
	default:
		return 0;
	}
}

static void note_place(struct search *s, const struct relocation *r)
{
	if (r->addend == s->table && s->n < FEW)
		s->found[s->n++] = r->where;
}

static void note_word(struct search *s, const struct relocation *r)
{
	uint64_t word = (r->where - s->module) / 8;

	if (r->where >= s->module && word < WORDS)
		s->words[word] = r->addend;
}

/* All relocations that add the load address, 64 bits only: there is no other
 * position independent Go. */
static void each_relocation(struct search *s,
			    void (*fn)(struct search *, const struct relocation *))
{
	uint32_t relative = type_of_relative(s->elf->machine);
	uint64_t searched = 0;

	for (size_t i = 0; s->elf->is64 && relative && i < s->elf->sections.n; i++) {
		const struct gpc_elf_section *section = &s->elf->sections.at[i];
		uint64_t left = section->size / sizeof(Elf64_Rela);

		if (section->type != SHT_RELA || !(section->flags & SHF_ALLOC) ||
		    (searched += section->size) > MAX_SEARCH)
			continue;
		for (uint64_t at = section->offset; left;) {
			size_t want = left < BLOCK / sizeof(Elf64_Rela)
					      ? (size_t)left
					      : BLOCK / sizeof(Elf64_Rela);
			size_t n = gpc_elf_read_array(&s->elf->source, at, s->block,
						      sizeof(Elf64_Rela), want);

			for (size_t k = 0; k < n; k++) {
				Elf64_Rela r;

				memcpy(&r, s->block + k * sizeof r, sizeof r);
				if (ELF64_R_TYPE(r.r_info) == relative)
					fn(s,
					   &(struct relocation){r.r_offset, (uint64_t)r.r_addend});
			}
			if (n < want)
				break;
			at += n * sizeof(Elf64_Rela);
			left -= n;
		}
	}
}

static uint64_t word_at(const struct search *s, const uint8_t *bytes)
{
	uint64_t wide;
	uint32_t narrow;

	if (s->pointer == 8) {
		memcpy(&wide, bytes, 8);
		return wide;
	}
	memcpy(&narrow, bytes, 4);
	return narrow;
}

/* Data that holds the table's address as it is. */
static void search_data(struct search *s)
{
	uint64_t searched = 0;

	for (size_t i = 0; i < s->elf->segments.n && s->n < FEW; i++) {
		const struct gpc_elf_segment *g = &s->elf->segments.at[i];

		if (g->type != PT_LOAD || !(g->flags & PF_W) || g->vaddr & 7 || g->offset & 7)
			continue;
		for (uint64_t at = 0; at < g->filesz && searched < MAX_SEARCH; at += BLOCK) {
			uint64_t left = g->filesz - at;
			size_t n = gpc_elf_read_array(&s->elf->source, g->offset + at, s->block, 1,
						      left < BLOCK ? (size_t)left : BLOCK);

			for (size_t k = 0; k + s->pointer <= n; k += s->pointer)
				if (word_at(s, s->block + k) == s->table)
					note_place(s, &(struct relocation){g->vaddr + at + k,
									   s->table});
			searched += BLOCK;
		}
	}
}

static void read_words(struct search *s)
{
	uint64_t offset;

	memset(s->words, 0, sizeof s->words);
	if (!gpc_elf_offset(s->elf, s->module, &offset) ||
	    !gpc_elf_read(&s->elf->source, offset, s->block, (size_t)WORDS * s->pointer))
		return;
	for (unsigned i = 0; i < WORDS; i++)
		s->words[i] = word_at(s, s->block + (size_t)i * s->pointer);
}

/* Other data may point to the table too (a symbol table, a slice). */
static bool is_module(const struct search *s)
{
	uint64_t text = s->words[WORD_TEXT], min = s->words[WORD_MINPC];

	return text && text <= min && min < s->words[WORD_MAXPC] &&
	       s->words[WORD_MAXPC] <= s->words[WORD_ETEXT];
}

/* rodata, then go:func.* in it, or this is no version that we know. */
static uint64_t functions_of(const struct search *s, int layout)
{
	unsigned at = layout >= 20 ? WORD_GOFUNC_20 : WORD_GOFUNC_18;

	if (layout >= 20 && s->words[at] < s->words[at - 1]) /* an offset, a count */
		at = WORD_GOFUNC_27;
	return s->words[at - 1] && s->words[at - 1] <= s->words[at] ? s->words[at] : 0;
}

static bool find_module(struct search *s, int layout, struct gpc_gomodule *ret)
{
	search_data(s);
	each_relocation(s, note_place);
	for (unsigned i = 0; i < s->n; i++) {
		s->module = s->found[i];
		read_words(s);
		each_relocation(s, note_word);
		if (!is_module(s))
			continue;
		ret->text = s->words[WORD_TEXT];
		ret->functions = functions_of(s, layout);
		return true;
	}
	return false;
}

bool gpc_gomodule_find(const struct gpc_elf *elf, uint64_t table, uint32_t pointer, int layout,
		       struct gpc_gomodule *ret)
{
	const struct gpc_elf_section *text = gpc_elf_section_named(elf, ".text");
	autofree struct search *s = calloc(1, sizeof *s);

	if (!s)
		return false;
	s->elf = elf;
	s->table = table;
	s->pointer = pointer;
	if (find_module(s, layout, ret))
		return true;
	if (!text)
		return false;
	*ret = (struct gpc_gomodule){.text = text->addr};
	return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Builds a 64 bit ELF file with Go's table of functions, in any of its layouts, as
 * Go's linker does (src/cmd/link/internal/ld/pcln.go). */
#ifndef GPC_TEST_GOTABLE_H
#define GPC_TEST_GOTABLE_H

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define GO_TEXT   0x401000
#define GO_DATA   0x500000 /* where the table is mapped, at file offset 0x1000 */
#define GO_OFFSET 0x1000
#define GO_SIZE   0x3000
#define GO_FILE   (GO_OFFSET + GO_SIZE)

struct gotable {
	uint8_t bytes[GO_FILE];
	size_t n; /* of the table, so far */
};

struct gofunction {
	const char *name;
	uint32_t start, lines[2]; /* the second line begins 8 bytes behind the start */
	unsigned file;
};

static inline void go_put(struct gotable *t, size_t at, uint64_t v, unsigned size)
{
	memcpy(t->bytes + GO_OFFSET + at, &v, size);
	if (at + size > t->n)
		t->n = at + size;
}

static inline size_t go_text(struct gotable *t, const char *text)
{
	size_t at = t->n;

	memcpy(t->bytes + GO_OFFSET + at, text, strlen(text) + 1);
	t->n += strlen(text) + 1;
	return at;
}

static inline void go_align(struct gotable *t)
{
	t->n = (t->n + 7) & ~(size_t)7;
}

static inline void go_varint(struct gotable *t, int64_t v, bool is_signed)
{
	uint64_t u = is_signed ? (uint64_t)v << 1 ^ (uint64_t)(v >> 63) : (uint64_t)v;

	for (; u >= 128; u >>= 7)
		go_put(t, t->n, (u & 127) | 128, 1);
	go_put(t, t->n, u, 1);
}

/* A table of values: a up to 8 bytes behind the start, then b up to size. */
static inline size_t go_values(struct gotable *t, int64_t a, int64_t b, uint32_t size)
{
	size_t at = t->n;

	go_varint(t, a + 1, true);
	go_varint(t, a == b ? size : 8, false);
	if (a != b) {
		go_varint(t, b - a, true);
		go_varint(t, size - 8, false);
	}
	go_put(t, t->n, 0, 1);
	return at;
}

static const char *const go_files[] = {"/src/main.go", "/src/other.go"};

/* The record of one function: it begins where it is. */
static inline size_t go_record(struct gotable *t, int layout, const struct gofunction *f,
			       uint32_t size, size_t name, size_t values)
{
	uint32_t start = layout >= 18 ? f->start : GO_TEXT + f->start;
	unsigned first = layout >= 18 ? 4 : 8;
	size_t line = go_values(t, f->lines[0], f->lines[1], size);
	unsigned number = layout > 2 ? f->file : f->file + 1;
	size_t file = go_values(t, number, number, size), at;

	go_align(t);
	at = t->n;
	go_put(t, at, start, first);
	go_put(t, at + first, name, 4);               /* nameOff */
	go_put(t, at + first + 16, file - values, 4); /* pcfile */
	go_put(t, at + first + 20, line - values, 4); /* pcln */
	go_put(t, at + first + 28, 0, 4);             /* cuOffset */
	go_put(t, at + first + 32, 0, 8);
	return at;
}

/* The header; the offsets of the parts come later. Leaves room for what follows. */
static inline void go_head(struct gotable *t, int layout, size_t n, bool has_text)
{
	static const uint32_t magics[] = {
		[2] = 0xfffffffb, [16] = 0xfffffffa, [18] = 0xfffffff0, [20] = 0xfffffff1};

	memset(t, 0, sizeof *t);
	go_put(t, 0, magics[layout], 4);
	go_put(t, 6, 1, 1);
	go_put(t, 7, 8, 1);
	go_put(t, 8, n, 8);
	if (layout > 2) {
		go_put(t, 16, 2, 8);
		if (layout >= 18 && has_text)
			go_put(t, 24, GO_TEXT, 8);
		t->n = layout >= 18 ? 72 : 64;
	} else {
		t->n = 16 + (2 * n + 1) * 8 + 4;
	}
}

/* functions end with one without a name, whose start is the end of all. */
static inline void go_build(struct gotable *t, int layout, const struct gofunction *functions,
			    bool has_text)
{
	unsigned word = layout >= 18 ? 3 : 2, column = layout >= 18 ? 4 : 8, n = 0;
	size_t names[16], records[16], strings[2], part[5] = {0}, table;

	while (functions[n].name)
		n++;
	go_head(t, layout, n, has_text);
	part[0] = layout > 2 ? t->n : 0;
	for (unsigned i = 0; i < n; i++)
		names[i] = go_text(t, functions[i].name) - part[0];
	go_align(t);
	part[1] = layout > 2 ? t->n : 0; /* units, or the table of files */
	if (layout > 2)
		t->n += 8;
	part[2] = layout > 2 ? t->n : 0;
	for (int i = 0; i < 2; i++)
		strings[i] = go_text(t, go_files[i]) - part[2];
	go_align(t);
	part[3] = layout > 2 ? t->n : 0;
	go_put(t, t->n, 0, 1); /* offset 0 says: no table */
	go_align(t);
	/* Since 1.16 records count from the table, which stands before them. */
	part[4] = layout > 2 ? t->n : 0;
	table = layout > 2 ? t->n : 16;
	if (layout > 2)
		t->n += (2 * (size_t)n + 1) * column;
	for (unsigned i = 0; i < n; i++)
		records[i] =
			go_record(t, layout, &functions[i],
				  functions[i + 1].start - functions[i].start, names[i], part[3]);
	go_align(t);
	for (unsigned i = 0; i < 5 && layout > 2; i++)
		go_put(t, 8 + 8 * ((size_t)word + i), part[i], 8);
	if (layout == 2) {
		go_put(t, 16 + (2 * (size_t)n + 1) * 8, t->n, 4);
		go_put(t, t->n, 3, 4); /* itself, then files from 1 on */
	}
	for (size_t i = 0; i < 2; i++)
		go_put(t, layout > 2 ? part[1] + 4 * i : t->n, strings[i], 4);
	for (unsigned i = 0; i <= n; i++) {
		uint64_t start = functions[i].start + (layout >= 18 ? 0 : GO_TEXT);

		go_put(t, table + 2 * (size_t)i * column, start, column);
		if (i < n)
			go_put(t, table + (2 * (size_t)i + 1) * column, records[i] - part[4],
			       column);
	}
}

static inline void go_section(struct gotable *t, unsigned index, uint32_t name,
			      const Elf64_Shdr *header)
{
	Elf64_Shdr h = *header;

	h.sh_name = name;
	memcpy(t->bytes + 0x200 + index * sizeof h, &h, sizeof h);
}

/* The file around it. section: the table's name. */
static inline void go_wrap(struct gotable *t, const char *section)
{
	Elf64_Ehdr *e = (Elf64_Ehdr *)(void *)t->bytes;
	Elf64_Phdr *p = (Elf64_Phdr *)(void *)(t->bytes + sizeof *e);
	char *names = (char *)t->bytes + 0x400;

	memcpy(e->e_ident, ELFMAG, SELFMAG);
	e->e_ident[EI_CLASS] = ELFCLASS64;
	e->e_ident[EI_DATA] = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
	e->e_type = ET_EXEC;
	e->e_machine = EM_X86_64;
	e->e_phoff = sizeof *e;
	e->e_phentsize = sizeof *p;
	e->e_phnum = 2;
	e->e_shoff = 0x200;
	e->e_shentsize = sizeof(Elf64_Shdr);
	e->e_shnum = 5;
	e->e_shstrndx = 4;
	p[0] = (Elf64_Phdr){.p_type = PT_LOAD,
			    .p_flags = PF_R | PF_X,
			    .p_vaddr = GO_TEXT,
			    .p_filesz = 0x1000,
			    .p_memsz = 0x1000};
	p[1] = (Elf64_Phdr){.p_type = PT_LOAD,
			    .p_flags = PF_R | PF_W,
			    .p_offset = GO_OFFSET,
			    .p_vaddr = GO_DATA,
			    .p_filesz = GO_SIZE,
			    .p_memsz = GO_SIZE};
	memcpy(names + 1, ".text", 6);
	memcpy(names + 8, ".go.buildinfo", 14);
	memcpy(names + 32, section, strlen(section) + 1);
	go_section(t, 1, 1,
		   &(Elf64_Shdr){.sh_type = SHT_PROGBITS,
				 .sh_addr = GO_TEXT,
				 .sh_size = 0x1000,
				 .sh_flags = SHF_ALLOC | SHF_EXECINSTR});
	go_section(t, 2, 8,
		   &(Elf64_Shdr){.sh_type = SHT_PROGBITS, .sh_offset = 0x600, .sh_size = 16});
	go_section(t, 3, 32,
		   &(Elf64_Shdr){.sh_type = SHT_PROGBITS,
				 .sh_offset = GO_OFFSET,
				 .sh_addr = GO_DATA,
				 .sh_size = GO_SIZE,
				 .sh_flags = SHF_ALLOC});
	go_section(t, 4, 64,
		   &(Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_offset = 0x400, .sh_size = 0x100});
}

#endif

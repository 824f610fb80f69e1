/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/file.h"

#include <elf.h>
#include <string.h>

#include "base/cleanup.h"

#define PAGE         UINT64_C(4096)
#define MAX_SEGMENTS 512
#define MAX_SECTIONS 16384 /* linked files have some dozens */

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define OUR_DATA ELFDATA2LSB
#else
#define OUR_DATA ELFDATA2MSB
#endif

static Elf64_Ehdr widen_ehdr(const Elf32_Ehdr *h)
{
	return (Elf64_Ehdr){
		.e_type = h->e_type,
		.e_machine = h->e_machine,
		.e_phoff = h->e_phoff,
		.e_shoff = h->e_shoff,
		.e_phentsize = h->e_phentsize,
		.e_phnum = h->e_phnum,
		.e_shentsize = h->e_shentsize,
		.e_shnum = h->e_shnum,
		.e_shstrndx = h->e_shstrndx,
	};
}

static gpc_status read_ehdr(struct gpc_elf *elf, bool is_shared, Elf64_Ehdr *ret,
			    struct gpc_err *err)
{
	uint8_t ident[EI_NIDENT];
	Elf32_Ehdr narrow;
	bool got;

	if (!gpc_elf_read(&elf->source, 0, ident, sizeof ident) || memcmp(ident, ELFMAG, SELFMAG))
		return gpc_err_set(err, GPC_E_UNSUPPORTED, "not an ELF file");
	if (ident[EI_DATA] != OUR_DATA)
		return gpc_err_set(err, GPC_E_UNSUPPORTED, "byte order of another machine");
	if (ident[EI_CLASS] != ELFCLASS32 && ident[EI_CLASS] != ELFCLASS64)
		return gpc_err_set(err, GPC_E_CORRUPT, "unknown ELF class %u", ident[EI_CLASS]);
	elf->is64 = ident[EI_CLASS] == ELFCLASS64;
	if (elf->is64)
		got = gpc_elf_read(&elf->source, 0, ret, sizeof *ret);
	else if ((got = gpc_elf_read(&elf->source, 0, &narrow, sizeof narrow)))
		*ret = widen_ehdr(&narrow);
	if (!got)
		return gpc_err_set(err, GPC_E_CORRUPT, "ELF header is cut off");
	if (ret->e_type != ET_EXEC && ret->e_type != ET_DYN &&
	    !(is_shared && ret->e_type == ET_REL))
		return gpc_err_set(err, GPC_E_UNSUPPORTED, "ELF type %u is not mapped to run",
				   ret->e_type);
	elf->type = ret->e_type;
	elf->machine = ret->e_machine;
	return GPC_OK;
}

static bool read_segment(const struct gpc_elf *elf, uint64_t at, struct gpc_elf_segment *ret)
{
	Elf64_Phdr wide;
	Elf32_Phdr h;

	if (elf->is64) {
		if (!gpc_elf_read(&elf->source, at, &wide, sizeof wide))
			return false;
		*ret = (struct gpc_elf_segment){wide.p_type,   wide.p_flags, wide.p_offset,
						wide.p_filesz, wide.p_vaddr, wide.p_memsz,
						wide.p_align};
		return true;
	}
	if (!gpc_elf_read(&elf->source, at, &h, sizeof h))
		return false;
	*ret = (struct gpc_elf_segment){h.p_type,  h.p_flags, h.p_offset, h.p_filesz,
					h.p_vaddr, h.p_memsz, h.p_align};
	return true;
}

static bool read_section(const struct gpc_elf *elf, uint64_t at, struct gpc_elf_section *ret)
{
	Elf64_Shdr wide;
	Elf32_Shdr h;

	if (elf->is64) {
		if (!gpc_elf_read(&elf->source, at, &wide, sizeof wide))
			return false;
		*ret = (struct gpc_elf_section){
			wide.sh_type,   wide.sh_link, wide.sh_info, wide.sh_name,    wide.sh_flags,
			wide.sh_offset, wide.sh_size, wide.sh_addr, wide.sh_entsize,
		};
		return true;
	}
	if (!gpc_elf_read(&elf->source, at, &h, sizeof h))
		return false;
	*ret = (struct gpc_elf_section){h.sh_type,   h.sh_link, h.sh_info, h.sh_name,   h.sh_flags,
					h.sh_offset, h.sh_size, h.sh_addr, h.sh_entsize};
	return true;
}

static gpc_status read_segments(struct gpc_elf *elf, const Elf64_Ehdr *h, struct gpc_err *err)
{
	size_t size = elf->is64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);

	if (h->e_phnum && h->e_phentsize != size)
		return gpc_err_set(err, GPC_E_CORRUPT, "program headers of %u bytes",
				   h->e_phentsize);
	for (size_t i = 0; i < h->e_phnum && i < MAX_SEGMENTS; i++) {
		struct gpc_elf_segment s;

		if (h->e_phoff > elf->source.size || !read_segment(elf, h->e_phoff + i * size, &s))
			return gpc_err_set(err, GPC_E_CORRUPT, "program headers are cut off");
		if (s.type != PT_LOAD && s.type != PT_NOTE && s.type != PT_DYNAMIC &&
		    s.type != PT_GNU_EH_FRAME)
			continue;
		if (s.offset > INT64_MAX || s.filesz > INT64_MAX || s.memsz > INT64_MAX ||
		    s.vaddr + s.memsz < s.vaddr)
			continue;
		if (!vec_push(&elf->segments, s))
			return gpc_err_nomem(err);
	}
	return GPC_OK;
}

/* Sections are an extra: a file without readable ones still has segments. */
static gpc_status read_sections(struct gpc_elf *elf, const Elf64_Ehdr *h, struct gpc_err *err)
{
	size_t size = elf->is64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
	struct gpc_elf_section s;
	uint64_t n = h->e_shnum;

	if (!h->e_shoff || h->e_shoff > elf->source.size || h->e_shentsize != size)
		return GPC_OK;
	if (!n && read_section(elf, h->e_shoff, &s))
		n = s.size;
	for (size_t i = 0; i < n && i < MAX_SECTIONS; i++) {
		if (!read_section(elf, h->e_shoff + i * size, &s))
			break;
		if (!vec_push(&elf->sections, s))
			return gpc_err_nomem(err);
	}
	elf->names = h->e_shstrndx < elf->sections.n ? h->e_shstrndx : 0;
	return GPC_OK;
}

static gpc_status init(struct gpc_elf *elf, const struct gpc_elf_source *source, bool is_shared,
		       struct gpc_err *err)
{
	Elf64_Ehdr h = {0};
	gpc_status st;

	memset(elf, 0, sizeof *elf);
	elf->source = *source;
	gpc_try(read_ehdr(elf, is_shared, &h, err));
	st = read_segments(elf, &h, err);
	if (st == GPC_OK)
		st = read_sections(elf, &h, err);
	if (st < 0)
		gpc_elf_deinit(elf);
	return st;
}

gpc_status gpc_elf_init(struct gpc_elf *elf, const struct gpc_elf_source *source,
			struct gpc_err *err)
{
	return init(elf, source, false, err);
}

gpc_status gpc_elf_init_shared(struct gpc_elf *elf, const struct gpc_elf_source *source,
			       struct gpc_err *err)
{
	return init(elf, source, true, err);
}

void gpc_elf_deinit(struct gpc_elf *elf)
{
	vec_deinit(&elf->segments);
	vec_deinit(&elf->sections);
}

bool gpc_elf_segment_vaddr(const struct gpc_elf_segment *s, uint64_t file_offset, uint64_t *ret)
{
	uint64_t from = s->offset & ~(PAGE - 1);
	uint64_t to = (s->offset + s->filesz + PAGE - 1) & ~(PAGE - 1);

	if (!s->filesz || file_offset < from || file_offset >= to)
		return false;
	*ret = file_offset - s->offset + s->vaddr;
	return true;
}

bool gpc_elf_vaddr(const struct gpc_elf *elf, uint64_t file_offset, uint64_t *ret)
{
	for (size_t i = 0; i < elf->segments.n; i++) {
		const struct gpc_elf_segment *s = &elf->segments.at[i];

		if (s->type == PT_LOAD && s->flags & PF_X &&
		    gpc_elf_segment_vaddr(s, file_offset, ret))
			return true;
	}
	for (size_t i = 0; i < elf->segments.n; i++)
		if (elf->segments.at[i].type == PT_LOAD &&
		    gpc_elf_segment_vaddr(&elf->segments.at[i], file_offset, ret))
			return true;
	return false;
}

bool gpc_elf_offset(const struct gpc_elf *elf, uint64_t vaddr, uint64_t *ret)
{
	for (size_t i = 0; i < elf->segments.n; i++) {
		const struct gpc_elf_segment *s = &elf->segments.at[i];

		if (s->type != PT_LOAD || vaddr < s->vaddr || vaddr - s->vaddr >= s->filesz)
			continue;
		*ret = vaddr - s->vaddr + s->offset;
		return true;
	}
	return false;
}

const struct gpc_elf_section *gpc_elf_section_of_type(const struct gpc_elf *elf, uint32_t type)
{
	for (size_t i = 1; i < elf->sections.n; i++)
		if (elf->sections.at[i].type == type)
			return &elf->sections.at[i];
	return NULL;
}

const struct gpc_elf_section *gpc_elf_section_named(const struct gpc_elf *elf, const char *name)
{
	struct gpc_elf_window window = {.source = &elf->source};
	struct gpc_elf_range names;

	if (!elf->names)
		return NULL;
	names.offset = elf->sections.at[elf->names].offset;
	names.size = elf->sections.at[elf->names].size;
	gpc_elf_clamp(&elf->source, &names);
	for (size_t i = 1; i < elf->sections.n; i++)
		if (gpc_elf_window_is(&window, &names, elf->sections.at[i].name, name,
				      strlen(name) + 1))
			return &elf->sections.at[i];
	return NULL;
}

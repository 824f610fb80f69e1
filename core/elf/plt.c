/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/plt.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define STUB      16
#define MAX_STUBS (1u << 16)

/* The section of the stubs, and what of it comes before the first one. */
static const struct gpc_elf_section *find_section(const struct gpc_elf *elf, uint64_t *header)
{
	const struct gpc_elf_section *s;

	if (!elf->is64 || (elf->machine != EM_X86_64 && elf->machine != EM_AARCH64))
		return NULL;
	*header = 0;
	s = elf->machine == EM_X86_64 ? gpc_elf_section_named(elf, ".plt.sec") : NULL;
	if (s)
		return s;
	*header = elf->machine == EM_X86_64 ? 16 : 32;
	return gpc_elf_section_named(elf, ".plt");
}

static int by_slot(const void *a, const void *b)
{
	const Elf64_Rela *x = a, *y = b;

	return (x->r_offset > y->r_offset) - (x->r_offset < y->r_offset);
}

/* Stubs stand in the order of the slots that they jump through; relocations
 * mostly do too. */
static bool find_relocation(const struct gpc_elf_plt *plt, const struct gpc_elf_source *source,
			    uint32_t index, Elf64_Rela *ret)
{
	autofree Elf64_Rela *all = malloc((plt->count + 1) * sizeof *all);

	if (!all || index >= plt->count ||
	    !gpc_elf_read(source, plt->relocations, all, plt->count * sizeof *all))
		return false;
	qsort(all, plt->count, sizeof *all, by_slot);
	*ret = all[index];
	return true;
}

void gpc_elf_plt_find(const struct gpc_elf *elf, struct gpc_elf_plt *ret)
{
	struct gpc_elf_dynamic dynamic;
	uint64_t header, stubs, relocations;
	const struct gpc_elf_section *s = find_section(elf, &header);

	memset(ret, 0, sizeof *ret);
	if (!s || s->size <= header || s->addr + s->size < s->addr ||
	    !gpc_elf_dynamic_find(elf, &dynamic) || !dynamic.jmprel ||
	    !gpc_elf_symbols_find(elf, SHT_DYNSYM, &ret->symbols))
		return;
	stubs = (s->size - header) / STUB;
	relocations = dynamic.jmprel_size / sizeof(Elf64_Rela);
	/* Stubs of another size (branch protection) do not match in number. */
	if (stubs != relocations || stubs > MAX_STUBS)
		return;
	ret->start = s->addr + header;
	ret->count = (uint32_t)stubs;
	ret->size = STUB;
	ret->relocations = dynamic.jmprel;
}

void gpc_elf_plt_target(const struct gpc_elf_plt *plt, const struct gpc_elf_source *source,
			uint32_t index, char **name, uint64_t *resolver)
{
	struct gpc_elf elf = {.source = *source, .is64 = true};
	struct gpc_elf_symbol symbol;
	Elf64_Rela r;

	*name = NULL;
	*resolver = 0;
	if (!find_relocation(plt, source, index, &r))
		return;
	if (!ELF64_R_SYM(r.r_info))
		*resolver = (uint64_t)r.r_addend;
	else if (gpc_elf_symbols_get(&elf, &plt->symbols, ELF64_R_SYM(r.r_info), &symbol))
		*name = gpc_elf_string(source, &plt->symbols.strings, symbol.name);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/symbols.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define BLOCK         2048
#define MAX_SYMBOLS   (UINT64_C(1) << 24)
#define MAX_DYNAMIC   4096
#define MAX_GNU_CHAIN (UINT32_C(1) << 20)

static size_t entry_size(const struct gpc_elf *elf)
{
	return elf->is64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
}

static struct gpc_elf_symbol decode(bool is64, const void *raw)
{
	Elf64_Sym wide;
	Elf32_Sym s;

	if (is64) {
		memcpy(&wide, raw, sizeof wide);
		return (struct gpc_elf_symbol){wide.st_value,
					       wide.st_size,
					       wide.st_name,
					       wide.st_shndx,
					       ELF64_ST_TYPE(wide.st_info),
					       ELF64_ST_BIND(wide.st_info)};
	}
	memcpy(&s, raw, sizeof s);
	return (struct gpc_elf_symbol){s.st_value,
				       s.st_size,
				       s.st_name,
				       s.st_shndx,
				       ELF32_ST_TYPE(s.st_info),
				       ELF32_ST_BIND(s.st_info)};
}

/* Cuts the table to what the file holds and we are willing to read. */
static bool bounded(const struct gpc_elf *elf, struct gpc_elf_symbols *s)
{
	uint64_t fits;

	if (s->offset >= elf->source.size)
		return false;
	fits = (elf->source.size - s->offset) / entry_size(elf);
	if (s->count > fits)
		s->count = fits;
	if (s->count > MAX_SYMBOLS)
		s->count = MAX_SYMBOLS;
	gpc_elf_clamp(&elf->source, &s->strings);
	return s->count > 0;
}

static bool from_section(const struct gpc_elf *elf, uint32_t type, struct gpc_elf_symbols *ret)
{
	const struct gpc_elf_section *s = gpc_elf_section_of_type(elf, type);

	if (!s || s->entsize != entry_size(elf) || s->link >= elf->sections.n)
		return false;
	ret->offset = s->offset;
	ret->count = s->size / s->entsize;
	ret->strings.offset = elf->sections.at[s->link].offset;
	ret->strings.size = elf->sections.at[s->link].size;
	return bounded(elf, ret);
}

/* A GNU hash table does not say how many symbols there are: the last one is
 * the end of the chain that the highest bucket begins. */
static uint64_t count_by_gnu_hash(const struct gpc_elf *elf, uint64_t at)
{
	uint32_t head[4], bucket, chain, last = 0;
	uint64_t buckets, chains;

	if (!gpc_elf_read(&elf->source, at, head, sizeof head))
		return 0;
	buckets = at + sizeof head + (uint64_t)head[2] * (elf->is64 ? 8 : 4);
	chains = buckets + (uint64_t)head[0] * 4;
	for (uint32_t i = 0; i < head[0] && i < MAX_GNU_CHAIN; i++) {
		if (!gpc_elf_read(&elf->source, buckets + (uint64_t)i * 4, &bucket, sizeof bucket))
			return 0;
		if (bucket > last)
			last = bucket;
	}
	if (last < head[1])
		return head[1];
	for (uint32_t i = 0; i < MAX_GNU_CHAIN; i++, last++) {
		if (!gpc_elf_read(&elf->source, chains + (uint64_t)(last - head[1]) * 4, &chain,
				  sizeof chain))
			return 0;
		if (chain & 1)
			break;
	}
	return (uint64_t)last + 1;
}

static bool from_dynamic(const struct gpc_elf *elf, struct gpc_elf_symbols *ret)
{
	struct gpc_elf_dynamic d;
	uint32_t head[2];

	if (!gpc_elf_dynamic_find(elf, &d) || !d.symbols)
		return false;
	ret->offset = d.symbols;
	ret->strings = d.strings;
	if (d.hash && gpc_elf_read(&elf->source, d.hash, head, sizeof head))
		ret->count = head[1];
	else
		ret->count = d.gnu_hash ? count_by_gnu_hash(elf, d.gnu_hash) : 0;
	return bounded(elf, ret);
}

static bool read_dynamic(const struct gpc_elf *elf, uint64_t at, Elf64_Dyn *ret)
{
	Elf32_Dyn d;

	if (elf->is64)
		return gpc_elf_read(&elf->source, at, ret, sizeof *ret);
	if (!gpc_elf_read(&elf->source, at, &d, sizeof d))
		return false;
	ret->d_tag = d.d_tag;
	ret->d_un.d_val = d.d_un.d_val;
	return true;
}

static void note_dynamic(const struct gpc_elf *elf, const Elf64_Dyn *d, struct gpc_elf_dynamic *ret)
{
	uint64_t offset = 0;

	gpc_elf_offset(elf, d->d_un.d_ptr, &offset);
	switch (d->d_tag) {
	case DT_SYMTAB:
		ret->symbols = offset;
		break;
	case DT_STRTAB:
		ret->strings.offset = offset;
		break;
	case DT_STRSZ:
		ret->strings.size = d->d_un.d_val;
		break;
	case DT_GNU_HASH:
		ret->gnu_hash = offset;
		break;
	case DT_HASH:
		ret->hash = offset;
		break;
	case DT_VERSYM:
		ret->versions = offset;
		break;
	case DT_JMPREL:
		ret->jmprel = offset;
		break;
	case DT_PLTRELSZ:
		ret->jmprel_size = d->d_un.d_val;
		break;
	default:
		break;
	}
}

bool gpc_elf_symbols_find(const struct gpc_elf *elf, uint32_t type, struct gpc_elf_symbols *ret)
{
	return from_section(elf, type, ret) || (type == SHT_DYNSYM && from_dynamic(elf, ret));
}

bool gpc_elf_symbols_get(const struct gpc_elf *elf, const struct gpc_elf_symbols *symbols,
			 uint64_t index, struct gpc_elf_symbol *ret)
{
	uint8_t raw[sizeof(Elf64_Sym)];

	if (index >= symbols->count ||
	    !gpc_elf_read(&elf->source, symbols->offset + index * entry_size(elf), raw,
			  entry_size(elf)))
		return false;
	*ret = decode(elf->is64, raw);
	return true;
}

gpc_status gpc_elf_symbols_each(const struct gpc_elf *elf, const struct gpc_elf_symbols *symbols,
				bool (*fn)(void *ctx, const struct gpc_elf_symbol *symbol),
				void *ctx, struct gpc_err *err)
{
	size_t size = entry_size(elf);
	autofree uint8_t *block = malloc(BLOCK * size);

	if (!block)
		return gpc_err_nomem(err);
	for (uint64_t done = 0; done < symbols->count;) {
		uint64_t left = symbols->count - done;
		size_t n = gpc_elf_read_array(&elf->source, symbols->offset + done * size, block,
					      size, left < BLOCK ? (size_t)left : BLOCK);

		if (!n)
			return gpc_err_set(err, GPC_E_CORRUPT, "symbol table is cut off");
		for (size_t i = 0; i < n; i++) {
			struct gpc_elf_symbol symbol = decode(elf->is64, block + i * size);

			if (!fn(ctx, &symbol))
				return GPC_OK;
		}
		done += n;
	}
	return GPC_OK;
}

bool gpc_elf_dynamic_find(const struct gpc_elf *elf, struct gpc_elf_dynamic *ret)
{
	size_t size = elf->is64 ? sizeof(Elf64_Dyn) : sizeof(Elf32_Dyn);

	for (size_t i = 0; i < elf->segments.n; i++) {
		const struct gpc_elf_segment *s = &elf->segments.at[i];
		Elf64_Dyn d;

		if (s->type != PT_DYNAMIC)
			continue;
		memset(ret, 0, sizeof *ret);
		for (uint64_t k = 0; k < MAX_DYNAMIC && (k + 1) * size <= s->filesz; k++) {
			if (!read_dynamic(elf, s->offset + k * size, &d) || d.d_tag == DT_NULL)
				break;
			note_dynamic(elf, &d, ret);
		}
		gpc_elf_clamp(&elf->source, &ret->strings);
		return true;
	}
	return false;
}

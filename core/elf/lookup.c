/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/lookup.h"

#include <elf.h>
#include <string.h>

#include "base/cleanup.h"
#include "elf/symbols.h"
#include "elf/unpack.h"

#define MAX_CHAIN      65536
#define VERSION_HIDDEN 0x8000

struct search {
	const struct gpc_elf *elf;
	struct gpc_elf_symbols symbols;
	uint64_t versions; /* file offset of the versions, 0: none */
	const char *name;
	size_t size; /* of name, with the NUL */
	struct gpc_elf_window window;
	uint64_t index; /* of the symbol that comes next in a linear search */
	uint64_t value, bytes;
	bool found;
};

static bool is_definition(const struct gpc_elf_symbol *s)
{
	return s->section != SHN_UNDEF &&
	       (s->type == STT_NOTYPE || s->type == STT_OBJECT || s->type == STT_FUNC ||
		s->type == STT_GNU_IFUNC || s->type == STT_TLS);
}

/* The default version of a name is the one that new programs are linked to. */
static bool is_default_version(const struct search *s, uint64_t index)
{
	uint16_t version;

	return !s->versions ||
	       !gpc_elf_read(&s->elf->source, s->versions + index * sizeof version, &version,
			     sizeof version) ||
	       !(version & VERSION_HIDDEN);
}

/* True when the search is over. */
static bool consider(struct search *s, uint64_t index, const struct gpc_elf_symbol *symbol)
{
	bool best;

	if (!is_definition(symbol) ||
	    !gpc_elf_window_is(&s->window, &s->symbols.strings, symbol->name, s->name, s->size))
		return false;
	best = is_default_version(s, index);
	if (!s->found || best) {
		s->value = symbol->value;
		s->bytes = symbol->size;
	}
	s->found = true;
	return best;
}

static bool consider_next(void *ctx, const struct gpc_elf_symbol *symbol)
{
	struct search *s = ctx;

	return !consider(s, s->index++, symbol);
}

static uint32_t gnu_hash(const char *name)
{
	uint32_t hash = 5381;

	for (; *name; name++)
		hash = hash * 33 + (unsigned char)*name;
	return hash;
}

static void walk_chain(struct search *s, uint64_t chains, uint32_t first, uint32_t index)
{
	uint32_t hash = gnu_hash(s->name);
	struct gpc_elf_symbol symbol;
	uint32_t entry;

	for (int i = 0; i < MAX_CHAIN && index >= first; i++, index++) {
		uint64_t at = chains + (uint64_t)(index - first) * sizeof entry;

		if (!gpc_elf_read(&s->elf->source, at, &entry, sizeof entry))
			return;
		if ((entry | 1) == (hash | 1) &&
		    gpc_elf_symbols_get(s->elf, &s->symbols, index, &symbol) &&
		    consider(s, index, &symbol))
			return;
		if (entry & 1)
			return;
	}
}

/* False when the table cannot be used. The Bloom filter is not read: it saves
 * less than the read costs. */
static bool search_hash(struct search *s, uint64_t table)
{
	struct {
		uint32_t buckets, first, bloom_words, bloom_shift;
	} head;
	uint64_t buckets;
	uint32_t index;

	if (!table || !gpc_elf_read(&s->elf->source, table, &head, sizeof head) || !head.buckets)
		return false;
	buckets = table + sizeof head + (uint64_t)head.bloom_words * (s->elf->is64 ? 8 : 4);
	if (!gpc_elf_read(&s->elf->source,
			  buckets + (uint64_t)(gnu_hash(s->name) % head.buckets) * sizeof index,
			  &index, sizeof index))
		return false;
	walk_chain(s, buckets + (uint64_t)head.buckets * sizeof index, head.first, index);
	return true;
}

static bool begin(struct search *s, const struct gpc_elf *elf, const char *name, uint32_t type)
{
	s->elf = elf;
	s->versions = 0;
	s->name = name;
	s->size = strlen(name) + 1;
	s->window.source = &elf->source;
	s->window.n = 0;
	s->index = 0;
	s->found = false;
	return *name && gpc_elf_symbols_find(elf, type, &s->symbols);
}

static bool search_dynamic(struct search *s, const struct gpc_elf *elf, const char *name)
{
	struct gpc_elf_dynamic dynamic = {0};

	if (!begin(s, elf, name, SHT_DYNSYM))
		return false;
	if (gpc_elf_dynamic_find(elf, &dynamic))
		s->versions = dynamic.versions;
	if (!search_hash(s, dynamic.gnu_hash))
		gpc_elf_symbols_each(elf, &s->symbols, consider_next, s, NULL);
	return s->found;
}

bool gpc_elf_lookup_dynamic(const struct gpc_elf *elf, const char *name, uint64_t *ret)
{
	struct search s;

	if (!search_dynamic(&s, elf, name))
		return false;
	*ret = s.value;
	return true;
}

static bool search_symtab(struct search *s, const struct gpc_elf *elf, const char *name)
{
	if (!begin(s, elf, name, SHT_SYMTAB))
		return false;
	gpc_elf_symbols_each(elf, &s->symbols, consider_next, s, NULL);
	return s->found;
}

static bool search_mini(struct search *s, const struct gpc_elf *elf, const char *name)
{
	autofree uint8_t *bytes = NULL;
	struct gpc_elf_source source;
	struct gpc_elf mini;
	bool found;
	size_t n;

	if (gpc_elf_mini(elf, &bytes, &n, NULL) < 0)
		return false;
	source = gpc_elf_source_memory(bytes, n);
	if (gpc_elf_init(&mini, &source, NULL) < 0)
		return false;
	found = search_symtab(s, &mini, name);
	gpc_elf_deinit(&mini);
	return found;
}

bool gpc_elf_lookup_sized(const struct gpc_elf *elf, const char *name, uint64_t *ret,
			  uint64_t *bytes)
{
	struct search s;
	bool found = search_dynamic(&s, elf, name);

	if (!found)
		found = gpc_elf_section_of_type(elf, SHT_SYMTAB) ? search_symtab(&s, elf, name)
								 : search_mini(&s, elf, name);
	if (!found)
		return false;
	*ret = s.value;
	*bytes = s.bytes;
	return true;
}

bool gpc_elf_lookup(const struct gpc_elf *elf, const char *name, uint64_t *ret)
{
	uint64_t bytes;

	return gpc_elf_lookup_sized(elf, name, ret, &bytes);
}

gpc_status gpc_elf_lookup_fd(int fd, const char *name, uint64_t mapped_offset, uint64_t *base,
			     uint64_t *ret, struct gpc_err *err)
{
	struct gpc_elf_source source;
	struct gpc_elf elf;
	uint64_t vaddr = 0;
	bool found, is_mapped;

	gpc_try(gpc_elf_source_fd(fd, &source, err));
	gpc_try(gpc_elf_init(&elf, &source, err));
	found = gpc_elf_lookup(&elf, name, &vaddr);
	is_mapped = gpc_elf_vaddr(&elf, mapped_offset, base);
	gpc_elf_deinit(&elf);
	if (!found)
		return gpc_err_set(err, GPC_E_GONE, "no symbol %s", name);
	if (!is_mapped)
		return gpc_err_set(err, GPC_E_CORRUPT, "no segment at offset %#llx",
				   (unsigned long long)mapped_offset);
	*ret = vaddr;
	return GPC_OK;
}

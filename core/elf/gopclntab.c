/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts: Go 1.26, src/debug/gosym/pclntab.go and src/runtime/symtab.go; those
 * of the module's data, src/runtime/symtab.go of Go 1.16 to 1.26. */
#include "elf/gopclntab.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "elf/gomodule.h"

#define MAX_FUNCTIONS (1u << 24)
#define MAX_STEPS     65536 /* of a table of values of one function */
#define MAX_SEARCH    (UINT64_C(256) << 20)
#define BLOCK         65536

/* The places of the fields of a function's record. */
enum { FIELD_NAME = 1, FIELD_PCFILE = 5, FIELD_PCLINE = 6, FIELD_TABLES = 7, FIELD_UNIT = 8 };
enum { TABLE_INLINED = 2, DATA_INLINED = 3 }; /* PCDATA_InlTreeIndex, FUNCDATA_InlTree */

static bool within(const struct gpc_gopclntab *t, uint64_t at, uint64_t n)
{
	return at >= t->whole.offset && at - t->whole.offset <= t->whole.size &&
	       n <= t->whole.size - (at - t->whole.offset);
}

static bool read_in(const struct gpc_gopclntab *t, const struct gpc_elf_source *source, uint64_t at,
		    void *buf, size_t n)
{
	return within(t, at, n) && gpc_elf_read(source, at, buf, n);
}

static bool read_sized(const struct gpc_gopclntab *t, const struct gpc_elf_source *source,
		       uint64_t at, uint32_t size, uint64_t *ret)
{
	uint32_t narrow;

	if (size == 8)
		return read_in(t, source, at, ret, 8);
	if (!read_in(t, source, at, &narrow, 4))
		return false;
	*ret = narrow;
	return true;
}

/* ---- the header ----------------------------------------------------------------- */

static int layout_of(uint32_t magic)
{
	switch (magic) {
	case 0xfffffffb:
		return 2;
	case 0xfffffffa:
		return 16;
	case 0xfffffff0:
		return 18;
	case 0xfffffff1:
		return 20;
	default:
		return 0;
	}
}

/* A word of the header, of which the first is number 0. */
static bool head_word(const struct gpc_gopclntab *t, const struct gpc_elf_source *source,
		      unsigned index, uint64_t *ret)
{
	return read_sized(t, source, t->whole.offset + 8 + (uint64_t)index * t->pointer, t->pointer,
			  ret);
}

static bool head_offset(const struct gpc_gopclntab *t, const struct gpc_elf_source *source,
			unsigned index, uint64_t *ret)
{
	if (!head_word(t, source, index, ret) || *ret >= t->whole.size)
		return false;
	*ret += t->whole.offset;
	return true;
}

static uint32_t column(const struct gpc_gopclntab *t)
{
	return t->layout >= 18 ? 4 : t->pointer;
}

static bool read_parts(struct gpc_gopclntab *t, const struct gpc_elf_source *source)
{
	unsigned first = t->layout >= 18 ? 3 : 2;
	uint64_t files;
	uint32_t at, n;

	if (t->layout > 2) {
		if (!head_word(t, source, 1, &files) || files > UINT32_MAX)
			return false;
		t->n_files = (uint32_t)files;
		t->table = 0;
		return head_offset(t, source, first, &t->names) &&
		       head_offset(t, source, first + 1, &t->units) &&
		       head_offset(t, source, first + 2, &t->files) &&
		       head_offset(t, source, first + 3, &t->values) &&
		       head_offset(t, source, first + 4, &t->functions);
	}
	t->names = t->values = t->whole.offset;
	t->functions = t->whole.offset;
	t->table = t->whole.offset + 8 + t->pointer;
	if (!read_in(t, source, t->table + (2 * (uint64_t)t->count + 1) * t->pointer, &at, 4) ||
	    !read_in(t, source, t->whole.offset + at, &n, 4))
		return false;
	t->files = t->whole.offset + at;
	t->n_files = n;
	return true;
}

/* whole is set: is there a table where it begins? */
static bool read_head(struct gpc_gopclntab *t, const struct gpc_elf_source *source)
{
	uint8_t head[8];
	uint32_t magic;
	uint64_t count;

	if (!read_in(t, source, t->whole.offset, head, sizeof head))
		return false;
	memcpy(&magic, head, 4);
	t->layout = layout_of(magic);
	t->quantum = head[6];
	t->pointer = head[7];
	if (!t->layout || head[4] || head[5] ||
	    (t->quantum != 1 && t->quantum != 2 && t->quantum != 4) ||
	    (t->pointer != 4 && t->pointer != 8))
		return false;
	if (!head_word(t, source, 0, &count) || !count || count > MAX_FUNCTIONS)
		return false;
	t->count = (uint32_t)count;
	if (!read_parts(t, source))
		return false;
	if (!t->table)
		t->table = t->functions;
	return within(t, t->table, (2 * count + 1) * column(t));
}

/* ---- where it is ---------------------------------------------------------------- */

/* Searches a range of the file; addr is where it is mapped. */
static bool search(const struct gpc_elf *elf, const struct gpc_elf_range *range, uint64_t addr,
		   struct gpc_gopclntab *ret)
{
	autofree uint8_t *block = malloc(BLOCK);
	uint64_t end = range->offset + range->size, skip = (0 - addr) & 7;

	for (uint64_t at = range->offset + skip; block && at < end; at += BLOCK) {
		size_t n = end - at < BLOCK ? (size_t)(end - at) : BLOCK;

		n = gpc_elf_read_array(&elf->source, at, block, 8, n / 8);
		for (size_t i = 0; i < n; i++) {
			uint32_t magic;

			memcpy(&magic, block + i * 8, 4);
			if (!layout_of(magic))
				continue;
			*ret = (struct gpc_gopclntab){.whole = {at + i * 8, end - at - i * 8}};
			if (read_head(ret, &elf->source))
				return true;
		}
	}
	return false;
}

static bool by_section(const struct gpc_elf *elf, struct gpc_gopclntab *ret)
{
	static const char *const names[] = {".gopclntab", ".data.rel.ro.gopclntab"};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const struct gpc_elf_section *s = gpc_elf_section_named(elf, names[i]);

		if (!s || s->type == SHT_NOBITS)
			continue;
		*ret = (struct gpc_gopclntab){.whole = {s->offset, s->size}};
		gpc_elf_clamp(&elf->source, &ret->whole);
		if (read_head(ret, &elf->source))
			return true;
	}
	return false;
}

/* The linker of C merges the table into other read-only data: then it is found by
 * its first bytes. */
static bool by_magic(const struct gpc_elf *elf, struct gpc_gopclntab *ret)
{
	uint64_t searched = 0;

	for (size_t i = 0; i < elf->segments.n; i++) {
		const struct gpc_elf_segment *s = &elf->segments.at[i];
		struct gpc_elf_range range = {s->offset, s->filesz};

		if (s->type != PT_LOAD || s->flags & PF_X)
			continue;
		gpc_elf_clamp(&elf->source, &range);
		if ((searched += range.size) > MAX_SEARCH)
			return false;
		if (search(elf, &range, s->vaddr, ret))
			return true;
	}
	return false;
}

static bool segment_vaddr(const struct gpc_elf *elf, uint64_t offset, uint64_t *ret)
{
	for (size_t i = 0; i < elf->segments.n; i++) {
		const struct gpc_elf_segment *s = &elf->segments.at[i];

		if (s->type != PT_LOAD || offset < s->offset || offset - s->offset >= s->filesz)
			continue;
		*ret = offset - s->offset + s->vaddr;
		return true;
	}
	return false;
}

/* By the sections that the linker gives to programs of Go, and strip leaves. */
static bool is_go(const struct gpc_elf *elf)
{
	return gpc_elf_section_named(elf, ".go.buildinfo") ||
	       gpc_elf_section_named(elf, ".note.go.buildid");
}

bool gpc_gopclntab_find(const struct gpc_elf *elf, struct gpc_gopclntab *ret)
{
	struct gpc_gomodule module;
	uint64_t vaddr;

	if (!by_section(elf, ret) && !(is_go(elf) && by_magic(elf, ret)))
		return false;
	if (ret->layout < 18)
		return true;
	if (!segment_vaddr(elf, ret->whole.offset, &vaddr))
		return false;
	/* The header's own word is 0 in position independent programs, and since
	 * Go 1.26. */
	if (!head_word(ret, &elf->source, 2, &ret->text))
		ret->text = 0;
	if (!gpc_gomodule_find(elf, vaddr, ret->pointer, ret->layout, &module))
		return ret->text != 0;
	if (!ret->text)
		ret->text = module.text;
	if (!module.functions || !gpc_elf_offset(elf, module.functions, &ret->inlined))
		ret->inlined = 0;
	return true;
}

/* ---- functions --------------------------------------------------------------------- */

static bool start_of(const struct gpc_gopclntab *t, const struct gpc_elf_source *source,
		     uint32_t index, uint64_t *ret)
{
	if (!read_sized(t, source, t->table + 2 * (uint64_t)index * column(t), column(t), ret))
		return false;
	*ret += t->layout >= 18 ? t->text : 0;
	return true;
}

bool gpc_gopclntab_function(const struct gpc_gopclntab *t, const struct gpc_elf_source *source,
			    uint64_t vaddr, struct gpc_gofunc *ret)
{
	uint32_t low = 0, high = t->count; /* starts[low] <= vaddr < starts[high] */
	uint64_t start, record;

	if (!t->layout || !start_of(t, source, 0, &start) || vaddr < start ||
	    !start_of(t, source, high, &ret->end) || vaddr >= ret->end)
		return false;
	ret->start = start;
	while (high - low > 1) {
		uint32_t mid = low + (high - low) / 2;

		if (!start_of(t, source, mid, &start))
			return false;
		if (start <= vaddr) {
			low = mid;
			ret->start = start;
		} else {
			high = mid;
			ret->end = start;
		}
	}
	if (!read_sized(t, source, t->table + (2 * (uint64_t)low + 1) * column(t), column(t),
			&record) ||
	    record >= t->whole.size)
		return false;
	ret->record = t->functions + record;
	ret->work = NULL;
	return true;
}

static bool field(const struct gpc_gopclntab *t, const struct gpc_elf_source *source,
		  const struct gpc_gofunc *f, unsigned index, uint32_t *ret)
{
	uint32_t first = t->layout >= 18 ? 4 : t->pointer;

	return read_in(t, source, f->record + first + (index - 1) * 4, ret, 4);
}

static char *text_at(const struct gpc_gopclntab *t, const struct gpc_elf_source *source,
		     uint64_t from, uint32_t at)
{
	struct gpc_elf_range strings = {from, t->whole.offset + t->whole.size - from};

	return gpc_elf_string(source, &strings, at);
}

/* Go prints [...] for the types that a generic function was made for (runtime,
 * funcNameForPrint). */
static void cut_types(char **name)
{
	char *first = strchr(*name, '['), *last = strrchr(*name, ']');
	char *shorter;

	if (!first || !last || last < first ||
	    asprintf(&shorter, "%.*s[...]%s", (int)(first - *name), *name, last + 1) < 0)
		return;
	free(*name);
	*name = shorter;
}

static char *name_at(const struct gpc_gopclntab *t, const struct gpc_elf_source *source,
		     uint32_t at)
{
	autofree char *name = text_at(t, source, t->names, at);

	if (!name || !*name)
		return NULL;
	cut_types(&name);
	return take(name);
}

char *gpc_gopclntab_name(const struct gpc_gopclntab *t, const struct gpc_elf_source *source,
			 const struct gpc_gofunc *f)
{
	uint32_t at;

	return field(t, source, f, FIELD_NAME, &at) ? name_at(t, source, at) : NULL;
}

/* ---- lines --------------------------------------------------------------------------- */

struct steps {
	uint8_t bytes[512];
	size_t n, i;
	uint64_t next;
};

static bool next_byte(const struct gpc_gopclntab *t, const struct gpc_elf_source *source,
		      struct steps *s, uint8_t *ret)
{
	if (s->i == s->n) {
		if (!within(t, s->next, 0))
			return false;
		s->n = gpc_elf_read_array(source, s->next, s->bytes, 1, sizeof s->bytes);
		s->next += s->n;
		s->i = 0;
		if (!s->n)
			return false;
	}
	*ret = s->bytes[s->i++];
	return true;
}

static bool next_varint(const struct gpc_gopclntab *t, const struct gpc_elf_source *source,
			struct steps *s, uint32_t *ret)
{
	uint8_t byte;

	*ret = 0;
	for (unsigned shift = 0; shift < 35; shift += 7) {
		if (!next_byte(t, source, s, &byte))
			return false;
		*ret |= (uint32_t)(byte & 0x7f) << (shift < 32 ? shift : 31);
		if (!(byte & 0x80))
			return true;
	}
	return false;
}

/* The value that holds at an address: pairs of differences, of the value (zigzag)
 * and of the address, from the function's start on; a difference of 0 ends it. */
static bool value_at(const struct gpc_gopclntab *t, const struct gpc_elf_source *source,
		     const struct gpc_gofunc *f, uint32_t at, uint64_t vaddr, int32_t *ret)
{
	struct steps s = {.next = t->values + at};
	uint32_t value = UINT32_MAX, delta, distance;
	uint64_t pc = f->start;

	if (!at)
		return false;
	for (int i = 0; i < MAX_STEPS; i++) {
		if (f->work && (*f->work)-- <= 0)
			return false;
		if (!next_varint(t, source, &s, &delta) || (!delta && i) ||
		    !next_varint(t, source, &s, &distance))
			return false;
		value += delta & 1 ? ~(delta >> 1) : delta >> 1;
		pc += (uint64_t)distance * t->quantum;
		if (vaddr < pc) {
			*ret = (int32_t)value;
			return true;
		}
	}
	return false;
}

static char *line_at(const struct gpc_gopclntab *t, const struct gpc_elf_source *source,
		     const struct gpc_gofunc *f, uint64_t vaddr, uint32_t *line)
{
	uint32_t at, unit = 0, name;
	int32_t value;

	if (!field(t, source, f, FIELD_PCLINE, &at) || !value_at(t, source, f, at, vaddr, &value) ||
	    value < 0)
		return NULL;
	*line = (uint32_t)value;
	if (!field(t, source, f, FIELD_PCFILE, &at) || !value_at(t, source, f, at, vaddr, &value) ||
	    value < 0)
		return NULL;
	if (t->layout > 2 && !field(t, source, f, FIELD_UNIT, &unit))
		return NULL;
	if (!read_in(t, source,
		     (t->layout > 2 ? t->units : t->files) + ((uint64_t)unit + (uint32_t)value) * 4,
		     &name, 4) ||
	    name == UINT32_MAX)
		return NULL;
	return text_at(t, source, t->layout > 2 ? t->files : t->whole.offset, name);
}

/* ---- inlined functions ----------------------------------------------------------------- */

/* A call that was inlined: whose code it is, and a place of the function whose line is
 * that of the call. */
struct inlined {
	uint32_t name;
	uint32_t place;
};

/* Bytes of a record before its lists: one of tables of values, one of data. */
static uint64_t record_size(const struct gpc_gopclntab *t)
{
	return t->layout >= 20 ? 44 : 40;
}

/* Where the tree of calls inlined into a function is in the file. */
static bool tree_of(const struct gpc_gopclntab *t, const struct gpc_elf_source *source,
		    const struct gpc_gofunc *f, uint32_t *table, uint64_t *tree)
{
	uint64_t lists = f->record + record_size(t);
	uint32_t n_tables, data;
	uint8_t n_data;

	if (!t->inlined || !field(t, source, f, FIELD_TABLES, &n_tables) ||
	    n_tables <= TABLE_INLINED || n_tables > 64 ||
	    !read_in(t, source, lists - 1, &n_data, 1) || n_data <= DATA_INLINED ||
	    !read_in(t, source, lists + 4 * TABLE_INLINED, table, 4) ||
	    !read_in(t, source, lists + 4 * ((uint64_t)n_tables + DATA_INLINED), &data, 4) ||
	    data == UINT32_MAX)
		return false;
	*tree = t->inlined + data;
	return true;
}

static bool read_inlined(const struct gpc_gopclntab *t, const struct gpc_elf_source *source,
			 uint64_t tree, int32_t index, struct inlined *ret)
{
	uint32_t size = t->layout >= 20 ? 16 : 20;
	uint64_t at = tree + (uint64_t)index * size + (t->layout >= 20 ? 4 : 12);

	return index < 65536 && gpc_elf_read(source, at, ret, sizeof *ret);
}

size_t gpc_gopclntab_lines(const struct gpc_gopclntab *t, const struct gpc_elf_source *source,
			   const struct gpc_gofunc *f, uint64_t vaddr,
			   struct gpc_dwarf_place ret[GPC_DWARF_DEPTH])
{
	uint32_t table = 0;
	uint64_t tree = 0;
	bool has_tree = tree_of(t, source, f, &table, &tree);
	struct inlined call;
	int32_t index;
	size_t n = 0;

	for (; n < GPC_DWARF_DEPTH - 1 && has_tree; n++) {
		if (!value_at(t, source, f, table, vaddr, &index) || index < 0 ||
		    !read_inlined(t, source, tree, index, &call) || call.place >= f->end - f->start)
			break;
		ret[n] = (struct gpc_dwarf_place){.function = name_at(t, source, call.name)};
		if (!ret[n].function)
			break;
		ret[n].file = line_at(t, source, f, vaddr, &ret[n].line);
		vaddr = f->start + call.place;
	}
	ret[n] = (struct gpc_dwarf_place){0};
	ret[n].file = line_at(t, source, f, vaddr, &ret[n].line);
	return n || ret[n].file ? n + 1 : 0;
}

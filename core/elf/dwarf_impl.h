/* SPDX-License-Identifier: Apache-2.0 */
/* Internal to the DWARF reader: dwarf_read.c reads values, dwarf_unit.c units and
 * their functions, dwarf_line.c lines, dwarf.c answers. Numbers and forms: DWARF
 * Debugging Information Format, version 5, sections 7.5 and 7.7. */
#ifndef GPC_ELF_DWARF_IMPL_H
#define GPC_ELF_DWARF_IMPL_H

#include "base/vec.h"
#include "elf/dwarf.h"
#include "elf/unpack.h"

enum gpc_dw_part {
	GPC_DW_INFO,
	GPC_DW_ABBREV,
	GPC_DW_LINE,
	GPC_DW_STR,
	GPC_DW_LINE_STR,
	GPC_DW_RANGES,
	GPC_DW_RNGLISTS,
	GPC_DW_ADDR,
	GPC_DW_STR_OFFSETS,
	GPC_DW_PARTS
};

/* Reads on through a part; is_bad after the first read beyond its end. */
struct gpc_dw_cursor {
	const struct gpc_elf_part *part;
	uint64_t at, window;
	size_t n;
	bool is_bad;
	uint8_t bytes[4096];
};

struct gpc_dw_attribute {
	uint16_t name, form;
	int64_t implicit;
};

struct gpc_dw_abbrev {
	uint64_t code;
	uint32_t first, n; /* attributes */
	uint16_t tag;
	bool has_children;
};

struct gpc_dw_abbrevs {
	uint64_t offset;
	bool is_loaded;
	vec(struct gpc_dw_abbrev) list;
	vec(struct gpc_dw_attribute) attributes;
};

/* form 0: absent. Strings: n is where, by the form. */
struct gpc_dw_value {
	uint64_t n;
	uint16_t form;
};

struct gpc_dw_unit {
	uint64_t offset, end, first; /* of .debug_info; first: its first entry */
	uint64_t abbrevs;
	uint64_t low; /* base of its ranges */
	uint64_t str_offsets, addr, rnglists;
	struct gpc_dw_value lines, folder;
	uint8_t version, address_size, offset_size;
};

struct gpc_dw_entry {
	uint64_t offset;
	const struct gpc_dw_abbrev *abbrev; /* NULL: ends a list of children */
	struct gpc_dw_value low, high, ranges, origin, linkage, name, call_file, call_line, lines,
		folder, str_offsets, addr, rnglists;
};

/* A function, or an inlined one, over a range; in the order of the tree. */
struct gpc_dw_function {
	uint64_t low, high, offset, origin; /* origin 0: none */
	uint32_t depth, call_file, call_line;
	bool is_inlined;
};

struct gpc_dw_row {
	uint64_t address;
	uint32_t line;
	uint32_t file; /* GPC_DW_END: the addresses of a sequence end here */
};
#define GPC_DW_END UINT32_MAX

struct gpc_dw_sequence {
	uint64_t low, high;
	uint32_t first, n;
};

struct gpc_dw_file {
	struct gpc_dw_value name;
	uint64_t folder;
};

struct gpc_dw_span {
	uint64_t low, high, unit;
};

/* In a reference: to an entry of the shared file. */
#define GPC_DW_SHARED (UINT64_C(1) << 63)

/* Work is counted in attributes; so many bytes take as long as one. */
#define GPC_DW_BYTES_FOR_ONE 64

struct gpc_dwarf {
	struct gpc_dwarf *shared; /* NULL: there is none, or this is it */
	struct gpc_elf_part parts[GPC_DW_PARTS];
	vec(uint64_t) units;             /* where each begins */
	vec(struct gpc_dw_span) spans;   /* by low */
	struct gpc_dw_abbrevs tables[2]; /* the last used first */
	int64_t work;                    /* what is left of it */
	/* the unit of the last question */
	bool has_unit;
	struct gpc_dw_unit unit;
	vec(struct gpc_dw_function) functions;
	vec(struct gpc_dw_row) rows;
	vec(struct gpc_dw_sequence) sequences;
	vec(struct gpc_dw_file) files;
	vec(struct gpc_dw_value) folders;
};

/* dwarf_read.c */
void gpc_dw_cursor_init(struct gpc_dw_cursor *c, const struct gpc_elf_part *part, uint64_t at);
void gpc_dw_skip(struct gpc_dw_cursor *c, uint64_t n);
uint64_t gpc_dw_uint(struct gpc_dw_cursor *c, unsigned size);
uint64_t gpc_dw_uleb(struct gpc_dw_cursor *c);
int64_t gpc_dw_sleb(struct gpc_dw_cursor *c);
void gpc_dw_skip_text(struct gpc_dw_cursor *c);
/* Reads a value of a form, or skips it when there is nothing to remember. */
bool gpc_dw_value(struct gpc_dw_cursor *c, const struct gpc_dw_unit *u,
		  const struct gpc_dw_attribute *a, struct gpc_dw_value *ret);
/* New, or NULL. from: the part that texts of DW_FORM_string stand in. */
char *gpc_dw_text(const struct gpc_dwarf *d, const struct gpc_dw_unit *u, enum gpc_dw_part from,
		  const struct gpc_dw_value *v);
bool gpc_dw_address(const struct gpc_dwarf *d, const struct gpc_dw_unit *u,
		    const struct gpc_dw_value *v, uint64_t *ret);
const struct gpc_dw_abbrevs *gpc_dw_abbrevs(struct gpc_dwarf *d, uint64_t offset);
/* The cursor is in .debug_info, within the unit. */
bool gpc_dw_entry(struct gpc_dwarf *d, struct gpc_dw_cursor *c, const struct gpc_dw_unit *u,
		  const struct gpc_dw_abbrevs *abbrevs, struct gpc_dw_entry *ret);

/* dwarf_unit.c */
bool gpc_dw_unit(struct gpc_dwarf *d, uint64_t offset, struct gpc_dw_unit *ret,
		 struct gpc_dw_entry *root);
gpc_status gpc_dw_list_units(struct gpc_dwarf *d, struct gpc_err *err);
/* Of an entry of .debug_info, from a reference; 0: none. May have GPC_DW_SHARED. */
uint64_t gpc_dw_reference(const struct gpc_dw_unit *u, const struct gpc_dw_value *v);
void gpc_dw_load_functions(struct gpc_dwarf *d);

/* dwarf_line.c */
void gpc_dw_load_lines(struct gpc_dwarf *d);
const struct gpc_dw_row *gpc_dw_row(const struct gpc_dwarf *d, uint64_t vaddr);
/* New, or NULL. */
char *gpc_dw_path(const struct gpc_dwarf *d, uint32_t file);

#endif

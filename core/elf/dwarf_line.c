/* SPDX-License-Identifier: Apache-2.0 */
/* The line table of a unit: DWARF version 5, section 6.2. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "elf/dwarf_impl.h"
#include "elf/dwarf_numbers.h"

#define MAX_FILES   65536
#define MAX_FORMATS 32
#define MAX_ROWS    (1u << 18)

struct table {
	struct gpc_dwarf *d;
	struct gpc_dw_cursor c;
	struct gpc_dw_unit sizes; /* version and sizes are the table's own */
	uint64_t end, program;
	uint8_t least, most, range, first_special;
	int8_t base;
	uint8_t lengths[256]; /* arguments of standard opcodes */
	/* the state of the program */
	uint64_t address;
	uint32_t file, operation;
	int64_t line;
	bool is_new;    /* no row of the sequence yet */
	bool no_memory; /* or too much of it */
};

/* ---- the header -------------------------------------------------------------------- */

static void read_files_4(struct table *t)
{
	struct gpc_dwarf *d = t->d;

	/* Folder 0 is the unit's own. */
	vec_push(&d->folders, d->unit.folder);
	for (int i = 0; i < MAX_FILES && !t->c.is_bad; i++) {
		struct gpc_dw_value v = {t->c.at, DW_FORM_string};

		gpc_dw_skip_text(&t->c);
		if (t->c.at == v.n + 1 || !vec_push(&d->folders, v))
			break;
	}
	vec_push(&d->files, (struct gpc_dw_file){0}); /* numbers begin at 1 */
	for (int i = 0; i < MAX_FILES && !t->c.is_bad; i++) {
		struct gpc_dw_file f = {.name = {t->c.at, DW_FORM_string}};

		gpc_dw_skip_text(&t->c);
		if (t->c.at == f.name.n + 1)
			break;
		f.folder = gpc_dw_uleb(&t->c);
		gpc_dw_uleb(&t->c);
		gpc_dw_uleb(&t->c);
		if (!vec_push(&d->files, f))
			break;
	}
}

struct format {
	uint64_t what;
	struct gpc_dw_attribute form;
};

static unsigned read_formats(struct table *t, struct format ret[MAX_FORMATS])
{
	unsigned n = (unsigned)gpc_dw_uint(&t->c, 1);

	if (n > MAX_FORMATS) {
		t->c.is_bad = true;
		return 0;
	}
	for (unsigned i = 0; i < n; i++) {
		ret[i].what = gpc_dw_uleb(&t->c);
		ret[i].form = (struct gpc_dw_attribute){.form = (uint16_t)gpc_dw_uleb(&t->c)};
	}
	return n;
}

static bool read_file_5(struct table *t, const struct format *formats, unsigned n,
			struct gpc_dw_file *ret)
{
	*ret = (struct gpc_dw_file){0};
	t->d->work -= n;
	for (unsigned i = 0; i < n; i++) {
		struct gpc_dw_value v;

		if (!gpc_dw_value(&t->c, &t->sizes, &formats[i].form, &v))
			return false;
		if (formats[i].what == DW_LNCT_path)
			ret->name = v;
		else if (formats[i].what == DW_LNCT_directory_index)
			ret->folder = v.n;
	}
	return n > 0 && t->d->work > 0;
}

static void read_files_5(struct table *t)
{
	struct gpc_dwarf *d = t->d;
	struct format formats[MAX_FORMATS];
	struct gpc_dw_file f;
	unsigned n = read_formats(t, formats);
	uint64_t count = gpc_dw_uleb(&t->c);

	for (uint64_t i = 0; i < count && i < MAX_FILES; i++)
		if (!read_file_5(t, formats, n, &f) || !vec_push(&d->folders, f.name))
			return;
	n = read_formats(t, formats);
	count = gpc_dw_uleb(&t->c);
	for (uint64_t i = 0; i < count && i < MAX_FILES; i++)
		if (!read_file_5(t, formats, n, &f) || !vec_push(&d->files, f))
			return;
}

static bool read_header(struct table *t)
{
	uint64_t length = gpc_dw_uint(&t->c, 4);

	t->sizes.offset_size = 4;
	if (length == 0xffffffff) {
		length = gpc_dw_uint(&t->c, 8);
		t->sizes.offset_size = 8;
	}
	if (t->c.is_bad || length > t->c.part->range.size - t->c.at)
		return false;
	t->end = t->c.at + length;
	t->sizes.version = (uint8_t)gpc_dw_uint(&t->c, 2);
	if (t->sizes.version < 2 || t->sizes.version > 5)
		return false;
	if (t->sizes.version >= 5) {
		t->sizes.address_size = (uint8_t)gpc_dw_uint(&t->c, 1);
		gpc_dw_skip(&t->c, 1);
	}
	length = gpc_dw_uint(&t->c, t->sizes.offset_size);
	if (t->c.is_bad || length > t->end - t->c.at || t->c.at > t->end)
		return false;
	t->program = t->c.at + length;
	t->least = (uint8_t)gpc_dw_uint(&t->c, 1);
	t->most = t->sizes.version >= 4 ? (uint8_t)gpc_dw_uint(&t->c, 1) : 1;
	gpc_dw_skip(&t->c, 1); /* is_stmt: every row counts for us */
	t->base = (int8_t)gpc_dw_uint(&t->c, 1);
	t->range = (uint8_t)gpc_dw_uint(&t->c, 1);
	t->first_special = (uint8_t)gpc_dw_uint(&t->c, 1);
	for (unsigned i = 1; i < t->first_special; i++)
		t->lengths[i] = (uint8_t)gpc_dw_uint(&t->c, 1);
	return !t->c.is_bad && t->range && t->most && t->first_special;
}

/* ---- the program ------------------------------------------------------------------- */

static void begin_sequence(struct table *t)
{
	t->address = 0;
	t->file = 1;
	t->line = 1;
	t->operation = 0;
	t->is_new = true;
}

static void add_row(struct table *t, uint32_t file)
{
	struct gpc_dwarf *d = t->d;
	struct gpc_dw_row row = {.address = t->address, .line = (uint32_t)t->line, .file = file};
	const struct gpc_dw_row *last = d->rows.n ? &d->rows.at[d->rows.n - 1] : NULL;

	if (t->is_new &&
	    !vec_push(&d->sequences,
		      (struct gpc_dw_sequence){.low = t->address, .first = (uint32_t)d->rows.n}))
		t->no_memory = true;
	else if (!t->is_new && file != GPC_DW_END && last->file == file && last->line == row.line)
		return;
	if (d->rows.n >= MAX_ROWS || t->no_memory || !vec_push(&d->rows, row)) {
		t->no_memory = true;
		return;
	}
	t->is_new = false;
	if (file == GPC_DW_END) {
		struct gpc_dw_sequence *s = &d->sequences.at[d->sequences.n - 1];

		s->high = t->address;
		s->n = (uint32_t)d->rows.n - s->first;
	}
}

static void advance(struct table *t, uint64_t operations)
{
	if (t->most == 1) {
		t->address += t->least * operations;
		return;
	}
	operations += t->operation;
	t->address += t->least * (operations / t->most);
	t->operation = (uint32_t)(operations % t->most);
}

static void run_extended(struct table *t)
{
	uint64_t length = gpc_dw_uleb(&t->c), end = t->c.at + length;

	if (t->c.is_bad || !length || length > t->end - t->c.at) {
		t->c.is_bad = true;
		return;
	}
	switch (gpc_dw_uint(&t->c, 1)) {
	case DW_LNE_end_sequence:
		add_row(t, GPC_DW_END);
		begin_sequence(t);
		break;
	case DW_LNE_set_address:
		if (length - 1 <= 8)
			t->address = gpc_dw_uint(&t->c, (unsigned)(length - 1));
		t->operation = 0;
		break;
	default:
		break;
	}
	if (!t->c.is_bad)
		t->c.at = end;
}

static void run_standard(struct table *t, uint8_t op)
{
	switch (op) {
	case DW_LNS_copy:
		add_row(t, t->file);
		break;
	case DW_LNS_advance_pc:
		advance(t, gpc_dw_uleb(&t->c));
		break;
	case DW_LNS_advance_line:
		t->line += (int32_t)gpc_dw_sleb(&t->c);
		break;
	case DW_LNS_set_file:
		t->file = (uint32_t)gpc_dw_uleb(&t->c);
		break;
	case DW_LNS_const_add_pc:
		advance(t, (uint64_t)(255 - t->first_special) / t->range);
		break;
	case DW_LNS_fixed_advance_pc:
		t->address += gpc_dw_uint(&t->c, 2);
		t->operation = 0;
		break;
	default:
		t->d->work -= t->lengths[op];
		for (int i = 0; i < t->lengths[op]; i++)
			gpc_dw_uleb(&t->c);
	}
}

static void run(struct table *t)
{
	begin_sequence(t);
	while (t->c.at < t->end && !t->c.is_bad && !t->no_memory && t->d->work-- > 0) {
		uint8_t op = (uint8_t)gpc_dw_uint(&t->c, 1);

		if (t->c.is_bad)
			break;
		if (op >= t->first_special) {
			op -= t->first_special;
			advance(t, op / t->range);
			t->line += t->base + op % t->range;
			add_row(t, t->file);
		} else if (op) {
			run_standard(t, op);
		} else {
			run_extended(t);
		}
	}
}

/* Sequences of functions that the linker dropped begin at 0; one without an end
 * is not believed. */
static void keep_good(struct gpc_dwarf *d)
{
	size_t n = 0;

	for (size_t i = 0; i < d->sequences.n; i++)
		if (d->sequences.at[i].low && d->sequences.at[i].low < d->sequences.at[i].high)
			d->sequences.at[n++] = d->sequences.at[i];
	d->sequences.n = n;
}

void gpc_dw_load_lines(struct gpc_dwarf *d)
{
	autofree struct table *t = calloc(1, sizeof *t);

	d->rows.n = d->sequences.n = d->files.n = d->folders.n = 0;
	if (!t || !d->unit.lines.form)
		return;
	t->d = d;
	t->sizes = d->unit;
	gpc_dw_cursor_init(&t->c, &d->parts[GPC_DW_LINE], d->unit.lines.n);
	if (!read_header(t))
		return;
	if (t->sizes.version >= 5)
		read_files_5(t);
	else
		read_files_4(t);
	d->work -= (int64_t)(d->files.n + d->folders.n);
	t->c.is_bad = false;
	t->c.at = t->program;
	run(t);
	d->work -= (int64_t)((t->c.at - t->program) / GPC_DW_BYTES_FOR_ONE);
	keep_good(d);
}

/* ---- asking -------------------------------------------------------------------------- */

static const struct gpc_dw_row *row_in(const struct gpc_dwarf *d, const struct gpc_dw_sequence *s,
				       uint64_t vaddr)
{
	const struct gpc_dw_row *rows = d->rows.at + s->first;
	size_t low = 0, high = s->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (rows[mid].address <= vaddr)
			low = mid + 1;
		else
			high = mid;
	}
	return low && rows[low - 1].file != GPC_DW_END ? &rows[low - 1] : NULL;
}

const struct gpc_dw_row *gpc_dw_row(const struct gpc_dwarf *d, uint64_t vaddr)
{
	for (size_t i = 0; i < d->sequences.n; i++)
		if (vaddr >= d->sequences.at[i].low && vaddr < d->sequences.at[i].high)
			return row_in(d, &d->sequences.at[i], vaddr);
	return NULL;
}

/* folder/name, or name alone when it says all. */
static char *join(const char *folder, const char *name)
{
	char *path;

	if (name[0] == '/' || !folder || !*folder)
		return strdup(name);
	return asprintf(&path, "%s/%s", folder, name) < 0 ? NULL : path;
}

char *gpc_dw_path(const struct gpc_dwarf *d, uint32_t file)
{
	autofree char *name = NULL;
	autofree char *folder = NULL;
	autofree char *root = NULL;
	autofree char *full = NULL;

	if (file >= d->files.n)
		return NULL;
	name = gpc_dw_text(d, &d->unit, GPC_DW_LINE, &d->files.at[file].name);
	if (!name || !*name)
		return NULL;
	if (name[0] == '/')
		return take(name);
	root = gpc_dw_text(d, &d->unit, GPC_DW_INFO, &d->unit.folder);
	if (d->files.at[file].folder < d->folders.n) {
		/* Folder 0 of old versions is the unit's, and stands with it. */
		bool is_unit = d->unit.version < 5 && !d->files.at[file].folder;

		folder = gpc_dw_text(d, &d->unit, is_unit ? GPC_DW_INFO : GPC_DW_LINE,
				     &d->folders.at[d->files.at[file].folder]);
	}
	if (!folder)
		return join(root, name);
	full = join(root, folder);
	return full ? join(full, name) : NULL;
}

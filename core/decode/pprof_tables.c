/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/pprof_tables.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

void gpc_pprof_tables_deinit(struct gpc_pprof_tables *t)
{
	vec_deinit(&t->strings);
	vec_deinit(&t->types);
	vec_deinit(&t->mappings);
	vec_deinit(&t->functions);
	vec_deinit(&t->locations);
	vec_deinit(&t->frames);
	gpc_u64map_deinit(&t->mapping_index);
	gpc_u64map_deinit(&t->function_index);
	gpc_u64map_deinit(&t->location_index);
}

struct gpc_draft_text gpc_pprof_text(const struct gpc_pprof_tables *t, uint64_t string)
{
	return string < t->strings.n ? t->strings.at[string] : (struct gpc_draft_text){"", 0};
}

bool gpc_pprof_is(const struct gpc_pprof_tables *t, uint64_t string, const char *text)
{
	struct gpc_draft_text s = gpc_pprof_text(t, string);

	return s.n == strlen(text) && memcmp(s.at, text, s.n) == 0;
}

struct gpc_draft_text gpc_pprof_base_name(struct gpc_draft_text path)
{
	const char *slash = path.n ? memrchr(path.at, '/', path.n) : NULL;
	size_t skip = slash ? (size_t)(slash - path.at) + 1 : 0;

	return (struct gpc_draft_text){path.at + skip, path.n - skip};
}

gpc_status gpc_pprof_numbers(struct gpc_pbread *part, uint64_t *ret, uint32_t last,
			     struct gpc_err *err)
{
	struct gpc_pbfield f;
	gpc_status st;

	while ((st = gpc_pbread_next(part, &f, err)) > 0)
		if (f.number <= last)
			gpc_try(gpc_pbfield_number(&f, &ret[f.number], err));
	return st;
}

/* ---- pass one: what refers to nothing but strings ---------------------------------- */

static gpc_status read_text(const struct gpc_pbfield *f, struct gpc_draft_text *ret,
			    struct gpc_err *err)
{
	struct gpc_pbread part;

	gpc_try(gpc_pbfield_part(f, &part, err));
	*ret = (struct gpc_draft_text){(const char *)part.at, (size_t)(part.end - part.at)};
	return GPC_OK;
}

static gpc_status read_string(struct gpc_pprof_tables *t, struct gpc_pbread part,
			      struct gpc_err *err)
{
	struct gpc_draft_text text = {(const char *)part.at, (size_t)(part.end - part.at)};

	return vec_push(&t->strings, text) ? GPC_OK : gpc_err_nomem(err);
}

static gpc_status read_type(struct gpc_pbread part, struct gpc_pprof_type *ret, struct gpc_err *err)
{
	uint64_t fields[GPC_PPROF_TYPE_UNIT + 1] = {0};

	gpc_try(gpc_pprof_numbers(&part, fields, GPC_PPROF_TYPE_UNIT, err));
	*ret = (struct gpc_pprof_type){fields[GPC_PPROF_TYPE_NAME], fields[GPC_PPROF_TYPE_UNIT]};
	return GPC_OK;
}

static gpc_status add_type(struct gpc_pprof_tables *t, struct gpc_pbread part, struct gpc_err *err)
{
	struct gpc_pprof_type type;

	gpc_try(read_type(part, &type, err));
	return vec_push(&t->types, type) ? GPC_OK : gpc_err_nomem(err);
}

static gpc_status add_mapping(struct gpc_pprof_tables *t, struct gpc_pbread part,
			      struct gpc_err *err)
{
	uint64_t f[GPC_PPROF_MAPPING_BUILD_ID + 1] = {0};
	struct gpc_pprof_mapping m;

	gpc_try(gpc_pprof_numbers(&part, f, GPC_PPROF_MAPPING_BUILD_ID, err));
	m = (struct gpc_pprof_mapping){f[GPC_PPROF_MAPPING_ID], f[GPC_PPROF_MAPPING_FILE],
				       f[GPC_PPROF_MAPPING_BUILD_ID]};
	if (!gpc_u64map_set(&t->mapping_index, m.id, t->mappings.n) || !vec_push(&t->mappings, m))
		return gpc_err_nomem(err);
	return GPC_OK;
}

static gpc_status add_function(struct gpc_pprof_tables *t, struct gpc_pbread part,
			       struct gpc_err *err)
{
	uint64_t f[GPC_PPROF_FUNCTION_FILE + 1] = {0};
	struct gpc_pprof_function function;

	gpc_try(gpc_pprof_numbers(&part, f, GPC_PPROF_FUNCTION_FILE, err));
	function.name = f[GPC_PPROF_FUNCTION_NAME] ? f[GPC_PPROF_FUNCTION_NAME]
						   : f[GPC_PPROF_FUNCTION_SYSTEM_NAME];
	function.file = f[GPC_PPROF_FUNCTION_FILE];
	if (!gpc_u64map_set(&t->function_index, f[GPC_PPROF_FUNCTION_ID], t->functions.n) ||
	    !vec_push(&t->functions, function))
		return gpc_err_nomem(err);
	return GPC_OK;
}

static gpc_status read_number(struct gpc_pprof_tables *t, const struct gpc_pbfield *f,
			      struct gpc_err *err)
{
	if (f->number > GPC_PPROF_DEFAULT_TYPE)
		return GPC_OK;
	return gpc_pbfield_number(f, &t->numbers[f->number], err);
}

static gpc_status read_field(struct gpc_pprof_tables *t, const struct gpc_pbfield *f,
			     struct gpc_err *err)
{
	struct gpc_pbread part = f->part;

	if (f->number == GPC_PPROF_COMMENT)
		return GPC_OK;
	if (f->number == GPC_PPROF_HEADER)
		return read_text(f, &t->header, err);
	if (f->number > GPC_PPROF_STRING && f->number != GPC_PPROF_PERIOD_TYPE)
		return read_number(t, f, err);
	gpc_try(gpc_pbfield_part(f, &part, err));
	switch (f->number) {
	case GPC_PPROF_SAMPLE_TYPE:
		return add_type(t, part, err);
	case GPC_PPROF_MAPPING:
		return add_mapping(t, part, err);
	case GPC_PPROF_FUNCTION:
		return add_function(t, part, err);
	case GPC_PPROF_STRING:
		return read_string(t, part, err);
	case GPC_PPROF_PERIOD_TYPE:
		return read_type(part, &t->period, err);
	default:
		return GPC_OK;
	}
}

/* ---- pass two: locations ------------------------------------------------------------ */

static gpc_status add_frame(struct gpc_pprof_tables *t, struct gpc_draft *d,
			    struct gpc_draft_text name, struct gpc_frame_entry *entry,
			    struct gpc_err *err)
{
	gpc_frame frame;

	gpc_try(gpc_draft_frame(d, name, entry, &frame, err));
	return vec_push(&t->frames, frame) ? GPC_OK : gpc_err_nomem(err);
}

static gpc_status add_line(struct gpc_pprof_tables *t, struct gpc_draft *d, struct gpc_pbread part,
			   const struct gpc_frame_entry *place, struct gpc_err *err)
{
	uint64_t f[GPC_PPROF_LINE_NUMBER + 1] = {0}, at;
	struct gpc_frame_entry entry = *place;
	const struct gpc_pprof_function *function;
	size_t byte = (size_t)(part.at - part.begin);

	gpc_try(gpc_pprof_numbers(&part, f, GPC_PPROF_LINE_NUMBER, err));
	if (!gpc_u64map_get(&t->function_index, f[GPC_PPROF_LINE_FUNCTION], &at))
		return gpc_err_set(err, GPC_E_CORRUPT,
				   "line at byte %zu: expected a function that the file has", byte);
	function = &t->functions.at[at];
	entry.line =
		f[GPC_PPROF_LINE_NUMBER] <= UINT32_MAX ? (uint32_t)f[GPC_PPROF_LINE_NUMBER] : 0;
	gpc_try(gpc_draft_str(d, gpc_pprof_text(t, function->file), &entry.file, err));
	return add_frame(t, d, gpc_pprof_text(t, function->name), &entry, err);
}

/* What is known of an address without a function is the file it is in. */
static gpc_status add_nameless(struct gpc_pprof_tables *t, struct gpc_draft *d,
			       struct gpc_draft_text file, struct gpc_frame_entry *entry,
			       struct gpc_err *err)
{
	struct gpc_draft_text base = gpc_pprof_base_name(file);
	autofree char *name = NULL;
	int n = base.n ? asprintf(&name, "(%.*s)", (int)(base.n < 4096 ? base.n : 4096), base.at)
		       : asprintf(&name, "[unknown]");

	if (n < 0) {
		name = NULL;
		return gpc_err_nomem(err);
	}
	return add_frame(t, d, (struct gpc_draft_text){name, (size_t)n}, entry, err);
}

static gpc_status read_place(struct gpc_pprof_tables *t, struct gpc_draft *d, const uint64_t *f,
			     struct gpc_draft_text *file, struct gpc_frame_entry *ret,
			     struct gpc_err *err)
{
	uint64_t at;

	*ret = (struct gpc_frame_entry){.address = f[GPC_PPROF_LOCATION_ADDRESS]};
	*file = (struct gpc_draft_text){"", 0};
	if (gpc_u64map_get(&t->mapping_index, f[GPC_PPROF_LOCATION_MAPPING], &at)) {
		*file = gpc_pprof_text(t, t->mappings.at[at].file);
		gpc_try(gpc_draft_str(d, gpc_pprof_text(t, t->mappings.at[at].build_id),
				      &ret->build_id, err));
		gpc_try(gpc_draft_str(d, *file, &ret->module, err));
	}
	if (ret->address || ret->build_id)
		d->wants |= GPC_WANT_ADDRESSES;
	return GPC_OK;
}

static gpc_status read_lines(struct gpc_pprof_tables *t, struct gpc_draft *d,
			     struct gpc_pbread part, const struct gpc_frame_entry *place,
			     struct gpc_err *err)
{
	struct gpc_pbfield field;
	struct gpc_pbread line;
	gpc_status st;

	while ((st = gpc_pbread_next(&part, &field, err)) > 0) {
		if (field.number != GPC_PPROF_LOCATION_LINE)
			continue;
		gpc_try(gpc_pbfield_part(&field, &line, err));
		gpc_try(add_line(t, d, line, place, err));
	}
	return st;
}

static gpc_status add_location(struct gpc_pprof_tables *t, struct gpc_draft *d,
			       struct gpc_pbread part, struct gpc_err *err)
{
	struct gpc_pprof_location location = {.first_frame = t->frames.n};
	uint64_t f[GPC_PPROF_LOCATION_ADDRESS + 1] = {0};
	struct gpc_pbread numbers = part;
	struct gpc_frame_entry place;
	struct gpc_draft_text file;

	gpc_try(gpc_pprof_numbers(&numbers, f, GPC_PPROF_LOCATION_ADDRESS, err));
	gpc_try(read_place(t, d, f, &file, &place, err));
	gpc_try(read_lines(t, d, part, &place, err));
	if (t->frames.n == location.first_frame)
		gpc_try(add_nameless(t, d, file, &place, err));
	location.n = t->frames.n - location.first_frame;
	if (!gpc_u64map_set(&t->location_index, f[GPC_PPROF_LOCATION_ID], t->locations.n) ||
	    !vec_push(&t->locations, location))
		return gpc_err_nomem(err);
	return GPC_OK;
}

gpc_status gpc_pprof_tables_read(struct gpc_pprof_tables *t, struct gpc_pbread file,
				 struct gpc_draft *d, struct gpc_err *err)
{
	struct gpc_pbread again = file, part;
	struct gpc_pbfield f;
	gpc_status st;

	while ((st = gpc_pbread_next(&file, &f, err)) > 0)
		gpc_try(read_field(t, &f, err));
	gpc_try(st);
	while ((st = gpc_pbread_next(&again, &f, err)) > 0) {
		if (f.number != GPC_PPROF_LOCATION)
			continue;
		gpc_try(gpc_pbfield_part(&f, &part, err));
		gpc_try(add_location(t, d, part, err));
	}
	gpc_try(st);
	return GPC_OK;
}

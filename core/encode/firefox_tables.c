/* SPDX-License-Identifier: Apache-2.0 */
#include "encode/firefox_tables.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "encode/text.h"

enum { OTHER, KERNEL, NATIVE, RUNTIME, N_CATEGORIES };

static uint32_t string_of(struct gpc_firefox_tables *t, const char *s)
{
	size_t n = strlen(s);
	gpc_str number = n ? gpc_names_str(t->names, s, n) : 0;

	if (n && !number)
		t->is_short_of_memory = true;
	if (number > t->n_strings)
		t->n_strings = number;
	return number;
}

/* The number under which key is known, or the next one. */
static uint32_t number_in(struct gpc_firefox_tables *t, struct gpc_u64map *map, uint64_t key,
			  bool *is_new)
{
	uint64_t number = map->n;

	*is_new = !gpc_u64map_get(map, key, &number);
	if (*is_new && !gpc_u64map_set(map, key, number))
		t->is_short_of_memory = true;
	return (uint32_t)number;
}

static uint32_t lib_of(struct gpc_firefox_tables *t, const struct gpc_frame_text *text)
{
	struct gpc_firefox_lib lib = {string_of(t, text->module), string_of(t, text->build_id)};
	bool is_new;
	uint32_t number;

	if (!lib.file)
		return 0;
	number = number_in(t, &t->by_lib, (uint64_t)lib.file << 32 | lib.build_id, &is_new);
	if (is_new && !vec_push(&t->libs, lib))
		t->is_short_of_memory = true;
	return number + 1;
}

static uint32_t source_of(struct gpc_firefox_tables *t, const char *file)
{
	uint32_t string = string_of(t, file), number;
	bool is_new;

	if (!string)
		return 0;
	number = number_in(t, &t->by_source, string, &is_new);
	if (is_new && !vec_push(&t->sources, string))
		t->is_short_of_memory = true;
	return number + 1;
}

static uint32_t name_of(struct gpc_firefox_tables *t, const struct gpc_frame_text *text)
{
	autofree char *made = NULL, *name = NULL;
	const char *function = gpc_frame_shown(text, &made);

	if (function && !*text->suffix)
		return string_of(t, function);
	if (!function || asprintf(&name, "%s_[%s]", function, text->suffix) < 0) {
		name = NULL;
		t->is_short_of_memory = true;
		return 0;
	}
	return string_of(t, name);
}

/* Functions are what the viewer adds up: one for each name in a library. */
static uint32_t func_of(struct gpc_firefox_tables *t, const struct gpc_frame_text *text)
{
	struct gpc_firefox_func func = {.name = name_of(t, text),
					.resource = lib_of(t, text),
					.source = source_of(t, text->file)};
	struct gpc_frame_entry key = {.function = func.name,
				      .module = func.resource,
				      .file = func.source};
	bool is_new;
	uint32_t number = number_in(t, &t->by_func, gpc_names_frame(t->names, &key), &is_new);

	if (is_new && !vec_push(&t->funcs, func))
		t->is_short_of_memory = true;
	return number;
}

static uint8_t category_of(const struct gpc_frame_text *text)
{
	if (text->flags & GPC_FRAME_KERNEL || strcmp(text->suffix, "k") == 0)
		return KERNEL;
	if (text->flags & GPC_FRAME_ERROR)
		return OTHER;
	return *text->suffix ? RUNTIME : NATIVE;
}

/* Frame 0 is the one of rows that have none. */
static uint32_t frame_of(struct gpc_firefox_tables *t, gpc_frame frame)
{
	struct gpc_frame_text text = {.struct_size = sizeof text,
				      .flags = frame ? 0 : GPC_FRAME_ERROR,
				      .function = frame ? "" : GPC_OVERFLOW_TEXT,
				      .file = "",
				      .module = "",
				      .suffix = "",
				      .build_id = ""};
	struct gpc_firefox_frame made;
	uint64_t number;

	if (gpc_u64map_get(&t->by_frame, frame, &number))
		return (uint32_t)number;
	if (frame)
		gpc_profile_frame(t->profile, frame, &text);
	made = (struct gpc_firefox_frame){.func = func_of(t, &text),
					  .address = text.address,
					  .line = text.line,
					  .category = category_of(&text)};
	number = t->frames.n;
	if (!vec_push(&t->frames, made) || !gpc_u64map_set(&t->by_frame, frame, number))
		t->is_short_of_memory = true;
	return (uint32_t)number;
}

static uint32_t node_of(struct gpc_firefox_tables *t, uint32_t prefix, uint32_t frame)
{
	struct gpc_firefox_node node = {prefix, frame};
	bool is_new;
	uint32_t number = number_in(t, &t->by_node, (uint64_t)prefix << 32 | frame, &is_new);

	if (is_new && !vec_push(&t->nodes, node))
		t->is_short_of_memory = true;
	return number;
}

bool gpc_firefox_tables_init(struct gpc_firefox_tables *t, const struct gpc_profile *p)
{
	*t = (struct gpc_firefox_tables){.profile = p, .names = gpc_names_new(1)};
	return t->names;
}

void gpc_firefox_tables_deinit(struct gpc_firefox_tables *t)
{
	gpc_names_put(t->names);
	vec_deinit(&t->nodes);
	vec_deinit(&t->frames);
	vec_deinit(&t->funcs);
	vec_deinit(&t->libs);
	vec_deinit(&t->sources);
	gpc_u64map_deinit(&t->by_node);
	gpc_u64map_deinit(&t->by_frame);
	gpc_u64map_deinit(&t->by_func);
	gpc_u64map_deinit(&t->by_lib);
	gpc_u64map_deinit(&t->by_source);
}

uint32_t gpc_firefox_stack(struct gpc_firefox_tables *t, const struct gpc_stack *stack)
{
	uint32_t node = 0;

	if (!stack->n_frames)
		return node_of(t, 0, frame_of(t, 0));
	for (uint32_t i = stack->n_frames; i-- > 0;)
		node = node_of(t, node, frame_of(t, stack->frames[i])) + 1;
	return node - 1;
}

/* ---- writing ------------------------------------------------------------------------ */

void gpc_firefox_put_categories(struct gpc_out *o)
{
	static const char *const names[N_CATEGORIES][2] = {[OTHER] = {"Other", "grey"},
							   [KERNEL] = {"Kernel", "orange"},
							   [NATIVE] = {"Native", "blue"},
							   [RUNTIME] = {"Runtime", "green"}};

	for (int i = 0; i < N_CATEGORIES; i++) {
		gpc_out_text(o, i ? ",{\"name\":" : "[{\"name\":");
		gpc_out_json(o, names[i][0]);
		gpc_out_text(o, ",\"color\":");
		gpc_out_json(o, names[i][1]);
		gpc_out_text(o, ",\"subcategories\":[\"Other\"]}");
	}
	gpc_out_text(o, "]");
}

/* One column: cell writes the i-th value. */
static void put_column(const struct gpc_firefox_tables *t, struct gpc_out *o, const char *name,
		       size_t n,
		       void (*cell)(const struct gpc_firefox_tables *t, struct gpc_out *o,
				    size_t i))
{
	gpc_out_json(o, name);
	gpc_out_text(o, ":[");
	for (size_t i = 0; i < n; i++) {
		if (i)
			gpc_out_bytes(o, ",", 1);
		cell(t, o, i);
	}
	gpc_out_text(o, "],\n");
}

static void put_length(struct gpc_out *o, size_t n)
{
	gpc_out_text(o, "\"length\":");
	gpc_out_u64(o, n);
	gpc_out_text(o, "}");
}

/* A number + 1, of which 0 means none. */
static void put_optional(struct gpc_out *o, uint64_t number, const char *none)
{
	if (number)
		gpc_out_u64(o, number - 1);
	else
		gpc_out_text(o, none);
}

#define CELL(name, ...)                                                                   \
	static void name(const struct gpc_firefox_tables *t, struct gpc_out *o, size_t i) \
	{                                                                                 \
		(void)t;                                                                  \
		(void)i;                                                                  \
		__VA_ARGS__;                                                              \
	}

CELL(cell_null, gpc_out_text(o, "null"))
CELL(cell_zero, gpc_out_text(o, "0"))
CELL(cell_one, gpc_out_text(o, "1"))
CELL(cell_false, gpc_out_text(o, "false"))
CELL(node_frame, gpc_out_u64(o, t->nodes.at[i].frame))
CELL(node_prefix, put_optional(o, t->nodes.at[i].prefix, "null"))
CELL(frame_address,
     put_optional(o, t->frames.at[i].address ? t->frames.at[i].address + 1 : 0, "-1"))
CELL(frame_category, gpc_out_u64(o, t->frames.at[i].category))
CELL(frame_func, gpc_out_u64(o, t->frames.at[i].func))
CELL(frame_line,
     put_optional(o, t->frames.at[i].line ? t->frames.at[i].line + UINT64_C(1) : 0, "null"))
CELL(func_name, gpc_out_u64(o, t->funcs.at[i].name))
CELL(func_resource, put_optional(o, t->funcs.at[i].resource, "-1"))
CELL(func_source, put_optional(o, t->funcs.at[i].source, "null"))
CELL(lib_number, gpc_out_u64(o, i))
CELL(lib_name, gpc_out_u64(o, t->libs.at[i].file))
CELL(source_name, gpc_out_u64(o, t->sources.at[i]))

static void put_stack_table(const struct gpc_firefox_tables *t, struct gpc_out *o)
{
	size_t n = t->nodes.n;

	gpc_out_text(o, "\"stackTable\":{");
	put_column(t, o, "frame", n, node_frame);
	put_column(t, o, "prefix", n, node_prefix);
	put_length(o, n);
}

static void put_frame_table(const struct gpc_firefox_tables *t, struct gpc_out *o)
{
	size_t n = t->frames.n;

	gpc_out_text(o, ",\n\"frameTable\":{");
	put_column(t, o, "address", n, frame_address);
	put_column(t, o, "inlineDepth", n, cell_zero);
	put_column(t, o, "category", n, frame_category);
	put_column(t, o, "subcategory", n, cell_zero);
	put_column(t, o, "func", n, frame_func);
	put_column(t, o, "nativeSymbol", n, cell_null);
	put_column(t, o, "innerWindowID", n, cell_zero);
	put_column(t, o, "line", n, frame_line);
	put_column(t, o, "column", n, cell_null);
	put_length(o, n);
}

static void put_func_table(const struct gpc_firefox_tables *t, struct gpc_out *o)
{
	size_t n = t->funcs.n;

	gpc_out_text(o, ",\n\"funcTable\":{");
	put_column(t, o, "name", n, func_name);
	put_column(t, o, "isJS", n, cell_false);
	put_column(t, o, "relevantForJS", n, cell_false);
	put_column(t, o, "resource", n, func_resource);
	put_column(t, o, "source", n, func_source);
	put_column(t, o, "lineNumber", n, cell_null);
	put_column(t, o, "columnNumber", n, cell_null);
	put_length(o, n);
}

static void put_small_tables(const struct gpc_firefox_tables *t, struct gpc_out *o)
{
	gpc_out_text(o, ",\n\"resourceTable\":{");
	put_column(t, o, "type", t->libs.n, cell_one); /* 1: a library */
	put_column(t, o, "lib", t->libs.n, lib_number);
	put_column(t, o, "name", t->libs.n, lib_name);
	put_column(t, o, "host", t->libs.n, cell_null);
	put_length(o, t->libs.n);
	gpc_out_text(o, ",\n\"sources\":{");
	put_column(t, o, "uuid", t->sources.n, cell_null);
	put_column(t, o, "filename", t->sources.n, source_name);
	put_length(o, t->sources.n);
	gpc_out_text(o, ",\n\"nativeSymbols\":{\"libIndex\":[],\"address\":[],\"name\":[],"
			"\"functionSize\":[],\"length\":0}");
}

static void put_member(struct gpc_out *o, const char *key, const char *value)
{
	gpc_out_json(o, key);
	gpc_out_bytes(o, ":", 1);
	gpc_out_json(o, value);
	gpc_out_bytes(o, ",", 1);
}

/* Breakpad's name of a file: the build-id's first 16 bytes as a GUID, whose three
 * first numbers are little-endian, and an age of 0. */
static void breakpad_id(const char *build_id, char ret[34])
{
	static const uint8_t order[16] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
	size_t n = strlen(build_id);

	memset(ret, '0', 33);
	ret[33] = '\0';
	for (size_t i = 0; i < 16; i++)
		for (size_t k = 0; k < 2; k++) {
			size_t from = (size_t)order[i] * 2 + k;
			char c = from < n ? build_id[from] : '0';

			ret[i * 2 + k] = (char)(c >= 'a' && c <= 'f' ? c - 'a' + 'A' : c);
		}
}

static void put_lib(const struct gpc_firefox_tables *t, struct gpc_out *o,
		    const struct gpc_firefox_lib *lib)
{
	const char *path = gpc_names_text(t->names, lib->file, NULL);
	const char *build_id = gpc_names_text(t->names, lib->build_id, NULL);
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	char breakpad[34] = "";

	if (*build_id)
		breakpad_id(build_id, breakpad);
	gpc_out_text(o, "{");
	put_member(o, "arch", "");
	put_member(o, "name", name);
	put_member(o, "path", path);
	put_member(o, "debugName", name);
	put_member(o, "debugPath", path);
	put_member(o, "breakpadId", breakpad);
	gpc_out_text(o, "\"codeId\":");
	if (*build_id)
		gpc_out_json(o, build_id);
	else
		gpc_out_text(o, "null");
	gpc_out_text(o, "}");
}

void gpc_firefox_put_tables(const struct gpc_firefox_tables *t, struct gpc_out *o)
{
	gpc_out_text(o, "\"libs\":[");
	for (size_t i = 0; i < t->libs.n; i++) {
		gpc_out_text(o, i ? ",\n" : "");
		put_lib(t, o, &t->libs.at[i]);
	}
	gpc_out_text(o, "],\n\"shared\":{");
	put_stack_table(t, o);
	put_frame_table(t, o);
	put_func_table(t, o);
	put_small_tables(t, o);
	gpc_out_text(o, ",\n\"stringArray\":[");
	for (uint32_t i = 0; i <= t->n_strings; i++) {
		gpc_out_text(o, i ? ",\n" : "");
		gpc_out_json(o, gpc_names_text(t->names, i, NULL));
	}
	gpc_out_text(o, "]}");
}

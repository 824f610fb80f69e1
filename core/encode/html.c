/* SPDX-License-Identifier: Apache-2.0 */
#include <jansson.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/vec.h"
#include "encode/encode.h"
#include "encode/page.h"
#include "encode/text.h"
#include "profile/meta.h"

/* A name of the page. Texts are the profile's and live as long as it does. */
struct name {
	const char *text, *suffix, *prefix;
};

struct page {
	struct gpc_out *out;
	const struct gpc_profile *profile;
	vec(struct name) names;
	struct gpc_u64map by_text;  /* hash -> name */
	struct gpc_u64map by_frame; /* frame -> name */
	vec(uint32_t) last, path;   /* names of two rows, root first */
	bool is_short_of_memory;
};

static uint64_t hash_name(const struct name *name)
{
	return gpc_hash(name->text, strlen(name->text)) ^
	       (gpc_hash(name->suffix, strlen(name->suffix)) * 3) ^
	       (gpc_hash(name->prefix, strlen(name->prefix)) * 5);
}

static uint32_t name_number(struct page *page, const struct name *name)
{
	uint64_t hash = hash_name(name), cursor = 0, i;

	while (gpc_u64map_probe(&page->by_text, hash, &cursor, &i)) {
		const struct name *other = &page->names.at[i];

		if (strcmp(other->text, name->text) == 0 &&
		    strcmp(other->suffix, name->suffix) == 0 &&
		    strcmp(other->prefix, name->prefix) == 0)
			return (uint32_t)i;
	}
	i = page->names.n;
	if (!vec_reserve(&page->names, 1) || !gpc_u64map_add(&page->by_text, hash, i))
		page->is_short_of_memory = true;
	else
		page->names.at[page->names.n++] = *name;
	return (uint32_t)i;
}

static uint32_t frame_number(struct page *page, gpc_frame frame)
{
	struct gpc_frame_text text = {.struct_size = sizeof text, .function = "", .suffix = ""};
	struct name name = {.prefix = ""};
	uint64_t number;

	if (gpc_u64map_get(&page->by_frame, frame, &number))
		return (uint32_t)number;
	gpc_profile_frame(page->profile, frame, &text);
	name.text = *text.function ? text.function : "[unknown]";
	name.suffix = text.suffix;
	number = name_number(page, &name);
	if (!gpc_u64map_set(&page->by_frame, frame, number))
		page->is_short_of_memory = true;
	return (uint32_t)number;
}

static void add_to_path(struct page *page, uint32_t number)
{
	if (!vec_push(&page->path, number))
		page->is_short_of_memory = true;
}

static void read_path(struct page *page, const struct gpc_stack *s)
{
	struct name comm = {*s->comm ? s->comm : "[unknown]", "", ""};
	struct name appid = {s->appid, "", "appid: "};
	struct name overflow = {GPC_OVERFLOW_TEXT, "", ""};

	page->path.n = 0;
	add_to_path(page, name_number(page, &comm));
	if (*s->appid)
		add_to_path(page, name_number(page, &appid));
	if (!s->n_frames)
		add_to_path(page, name_number(page, &overflow));
	for (uint32_t i = s->n_frames; i-- > 0;)
		add_to_path(page, frame_number(page, s->frames[i]));
}

static void put_number(struct page *page, uint64_t number)
{
	gpc_out_u64(page->out, number);
	gpc_out_bytes(page->out, ",", 1);
}

/* What the row before has in common is not written again. */
static void put_row(struct page *page, uint64_t value)
{
	const uint32_t *path = page->path.at, *last = page->last.at;
	size_t n = page->path.n, kept = 0;

	while (kept < n && kept < page->last.n && path[kept] == last[kept])
		kept++;
	put_number(page, kept);
	put_number(page, n - kept);
	for (size_t i = kept; i < n; i++)
		put_number(page, path[i]);
	gpc_out_u64(page->out, value);
}

static void swap_paths(struct page *page)
{
	__typeof__(page->last) old = page->last;

	page->last.at = page->path.at;
	page->last.n = page->path.n;
	page->last.room = page->path.room;
	page->path.at = old.at;
	page->path.n = old.n;
	page->path.room = old.room;
}

static void put_rows(struct page *page)
{
	struct gpc_stack stack = {.struct_size = sizeof stack};
	uint64_t cursor = 0;
	bool first = true;

	while (page->out->status >= 0 && !page->is_short_of_memory &&
	       gpc_profile_next(page->profile, &cursor, &stack) && stack.event == 0) {
		read_path(page, &stack);
		if (!first)
			gpc_out_bytes(page->out, ",\n", 2);
		first = false;
		put_row(page, stack.value);
		swap_paths(page);
	}
}

static bool is_java(const char *suffix)
{
	return *suffix && strchr("ji01", *suffix) && !suffix[1];
}

/* Java's signatures come with '|' where the folded format has no place for
 * their ';'. In other languages '|' is meant. */
static void put_name(struct gpc_out *o, const struct name *name)
{
	autofree char *copy = is_java(name->suffix) ? strdup(name->text) : NULL;

	for (char *at = copy; at && (at = strchr(at, '|'));)
		*at = ';';
	gpc_out_bytes(o, "\"", 1);
	gpc_out_json_text(o, name->prefix);
	gpc_out_json_text(o, copy ? copy : name->text);
	if (*name->suffix) {
		gpc_out_text(o, "_[");
		gpc_out_json_text(o, name->suffix);
		gpc_out_text(o, "]");
	}
	gpc_out_bytes(o, "\"", 1);
}

static void put_names(struct page *page)
{
	for (size_t i = 0; i < page->names.n; i++) {
		if (i)
			gpc_out_bytes(page->out, ",\n", 2);
		put_name(page->out, &page->names.at[i]);
	}
}

static void put_member(struct gpc_out *o, const char *key, const char *value)
{
	gpc_out_json(o, key);
	gpc_out_bytes(o, ":", 1);
	gpc_out_json(o, value);
	gpc_out_bytes(o, ",", 1);
}

static void put_data(struct page *page, const struct gpc_profile_info *info, const char *host)
{
	struct gpc_event event = {.struct_size = sizeof event,
				  .name = "cpu-time",
				  .unit = "samples"};
	struct gpc_out *o = page->out;
	char start[32], end[32];

	gpc_profile_event(page->profile, 0, &event);
	gpc_meta_time(info->begin_unix_ns, start);
	gpc_meta_time(info->end_unix_ns, end);
	gpc_out_text(o, "{");
	put_member(o, "host", host);
	put_member(o, "start", start);
	put_member(o, "end", end);
	put_member(o, "event", event.name);
	put_member(o, "unit", event.unit);
	gpc_out_text(o, "\"samples\":");
	gpc_out_u64(o, info->samples);
	gpc_out_text(o, ",\"rows\":[");
	put_rows(page);
	gpc_out_text(o, "],\n\"names\":[");
	put_names(page);
	gpc_out_text(o, "]}");
}

static void put_part(struct gpc_out *o, int i)
{
	gpc_out_bytes(o, gpc_page_parts[i].text, gpc_page_parts[i].n);
}

static void put_page(struct page *page, const char *host)
{
	struct gpc_profile_info info = {.struct_size = sizeof info};
	char start[32];

	gpc_profile_info(page->profile, &info);
	gpc_meta_time(info.begin_unix_ns, start);
	put_part(page->out, 0);
	gpc_out_html(page->out, *host ? host : "profile");
	gpc_out_text(page->out, ", ");
	gpc_out_text(page->out, start);
	put_part(page->out, 1);
	put_data(page, &info, host);
	put_part(page->out, 2);
}

static void page_deinit(struct page *page)
{
	vec_deinit(&page->names);
	vec_deinit(&page->last);
	vec_deinit(&page->path);
	gpc_u64map_deinit(&page->by_text);
	gpc_u64map_deinit(&page->by_frame);
}

static void drop(json_t **json)
{
	json_decref(*json);
}

static json_t *read_header(const struct gpc_profile *p)
{
	struct gpc_profile_info info = {.struct_size = sizeof info};

	gpc_profile_info(p, &info);
	return json_loads(info.header, 0, NULL);
}

gpc_status gpc_encode_html(const struct gpc_profile *p, gpc_out_fn out, void *ctx)
{
	autofree struct gpc_out *o = malloc(sizeof *o);
	autocall(drop) json_t *header = read_header(p);
	autocall(page_deinit) struct page page = {.out = o, .profile = p};
	const char *host;
	gpc_status st;

	if (!o)
		return GPC_E_NOMEM;
	host = json_string_value(json_object_get(json_object_get(header, "metadata"), "hostname"));
	gpc_out_init(o, out, ctx);
	put_page(&page, host ? host : "");
	st = gpc_out_flush(o);
	return st >= 0 && page.is_short_of_memory ? GPC_E_NOMEM : st;
}

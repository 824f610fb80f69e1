/* SPDX-License-Identifier: Apache-2.0 */
#include <gpc/gpc.h>
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
	const char *text, *suffix;
};

/* Rows that follow one another and are of one process. */
struct run {
	uint64_t rows;
	int32_t pid;
	const char *comm, *container, *appid;
};

/* One profile while it is written. */
struct data {
	struct gpc_out *out;
	const struct gpc_profile *profile;
	vec(struct name) names;
	vec(char *) made; /* texts of names */
	vec(struct run) runs;
	struct gpc_u64map by_text;  /* hash -> name */
	struct gpc_u64map by_frame; /* frame -> name */
	vec(uint32_t) last, path;   /* names of two rows, root first */
	bool is_short_of_memory;
};

static uint64_t hash_name(const struct name *name)
{
	return gpc_hash(name->text, strlen(name->text)) ^
	       (gpc_hash(name->suffix, strlen(name->suffix)) * 3);
}

static uint32_t name_number(struct data *data, const struct name *name)
{
	uint64_t hash = hash_name(name), cursor = 0, i;

	while (gpc_u64map_probe(&data->by_text, hash, &cursor, &i)) {
		const struct name *other = &data->names.at[i];

		if (strcmp(other->text, name->text) == 0 &&
		    strcmp(other->suffix, name->suffix) == 0)
			return (uint32_t)i;
	}
	i = data->names.n;
	if (!vec_reserve(&data->names, 1) || !gpc_u64map_add(&data->by_text, hash, i))
		data->is_short_of_memory = true;
	else
		data->names.at[data->names.n++] = *name;
	return (uint32_t)i;
}

static uint32_t frame_number(struct data *data, gpc_frame frame)
{
	struct gpc_frame_text text = {.struct_size = sizeof text, .function = "", .suffix = ""};
	struct name name;
	uint64_t number;
	char *made;

	if (gpc_u64map_get(&data->by_frame, frame, &number))
		return (uint32_t)number;
	gpc_profile_frame(data->profile, frame, &text);
	name.text = gpc_frame_shown(&text, &made);
	if (!name.text || (made && !vec_push(&data->made, made))) {
		free(made);
		name.text = "";
		data->is_short_of_memory = true;
	}
	name.suffix = text.suffix;
	number = name_number(data, &name);
	if (!gpc_u64map_set(&data->by_frame, frame, number))
		data->is_short_of_memory = true;
	return (uint32_t)number;
}

static void add_to_path(struct data *data, uint32_t number)
{
	if (!vec_push(&data->path, number))
		data->is_short_of_memory = true;
}

static void read_path(struct data *data, const struct gpc_stack *s)
{
	struct name overflow = {GPC_OVERFLOW_TEXT, ""};

	data->path.n = 0;
	if (!s->n_frames)
		add_to_path(data, name_number(data, &overflow));
	for (uint32_t i = s->n_frames; i-- > 0;)
		add_to_path(data, frame_number(data, s->frames[i]));
}

/* A new run begins where the process changes; the texts of one process are the
 * same pointers each time. */
static void count_row(struct data *data, const struct gpc_stack *s)
{
	struct run *run = data->runs.n ? &data->runs.at[data->runs.n - 1] : NULL;
	struct run next = {0, s->pid, s->comm, s->container, s->appid};

	if (!run || run->pid != s->pid || run->comm != s->comm || run->container != s->container ||
	    run->appid != s->appid) {
		if (!vec_push(&data->runs, next)) {
			data->is_short_of_memory = true;
			return;
		}
		run = &data->runs.at[data->runs.n - 1];
		data->last.n = 0;
	}
	run->rows++;
}

static void put_number(struct data *data, uint64_t number)
{
	gpc_out_u64(data->out, number);
	gpc_out_bytes(data->out, ",", 1);
}

/* What the row before has in common is not written again. */
static void put_row(struct data *data, uint64_t value)
{
	const uint32_t *path = data->path.at, *last = data->last.at;
	size_t n = data->path.n, kept = 0;

	while (kept < n && kept < data->last.n && path[kept] == last[kept])
		kept++;
	put_number(data, kept);
	put_number(data, n - kept);
	for (size_t i = kept; i < n; i++)
		put_number(data, path[i]);
	gpc_out_u64(data->out, value);
}

static void swap_paths(struct data *data)
{
	__typeof__(data->last) old = data->last;

	data->last.at = data->path.at;
	data->last.n = data->path.n;
	data->last.room = data->path.room;
	data->path.at = old.at;
	data->path.n = old.n;
	data->path.room = old.room;
}

static void put_rows(struct data *data)
{
	struct gpc_stack stack = {.struct_size = sizeof stack};
	uint64_t cursor = 0;
	bool first = true;

	while (data->out->status >= 0 && !data->is_short_of_memory &&
	       gpc_profile_next(data->profile, &cursor, &stack) && stack.event == 0) {
		count_row(data, &stack);
		read_path(data, &stack);
		if (!first)
			gpc_out_bytes(data->out, ",\n", 2);
		first = false;
		put_row(data, stack.value);
		swap_paths(data);
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
	gpc_out_json_text(o, copy ? copy : name->text);
	if (*name->suffix) {
		gpc_out_text(o, "_[");
		gpc_out_json_text(o, name->suffix);
		gpc_out_text(o, "]");
	}
	gpc_out_bytes(o, "\"", 1);
}

static void put_names(struct data *data)
{
	for (size_t i = 0; i < data->names.n; i++) {
		if (i)
			gpc_out_bytes(data->out, ",\n", 2);
		put_name(data->out, &data->names.at[i]);
	}
}

/* [rows, pid (0: not known), comm, container, appid if there is one] */
static void put_runs(struct data *data)
{
	struct gpc_out *o = data->out;

	for (size_t i = 0; i < data->runs.n; i++) {
		const struct run *run = &data->runs.at[i];

		gpc_out_text(o, i ? ",\n[" : "[");
		put_number(data, run->rows);
		put_number(data, run->pid > 0 ? (uint64_t)run->pid : 0);
		gpc_out_json(o, *run->comm ? run->comm : "[unknown]");
		gpc_out_bytes(o, ",", 1);
		gpc_out_json(o, run->container);
		if (*run->appid) {
			gpc_out_text(o, ",\"appid: ");
			gpc_out_json_text(o, run->appid);
			gpc_out_bytes(o, "\"", 1);
		}
		gpc_out_bytes(o, "]", 1);
	}
}

static void put_member(struct gpc_out *o, const char *key, const char *value)
{
	gpc_out_json(o, key);
	gpc_out_bytes(o, ":", 1);
	gpc_out_json(o, value);
	gpc_out_bytes(o, ",", 1);
}

static void put_data(struct data *data, const char *host)
{
	struct gpc_event event = {.struct_size = sizeof event,
				  .name = "cpu-time",
				  .unit = "samples"};
	struct gpc_profile_info info = {.struct_size = sizeof info};
	struct gpc_out *o = data->out;
	char start[32], end[32];

	gpc_profile_info(data->profile, &info);
	gpc_profile_event(data->profile, 0, &event);
	gpc_meta_time(info.begin_unix_ns, start);
	gpc_meta_time(info.end_unix_ns, end);
	gpc_out_text(o, "{");
	put_member(o, "host", host);
	put_member(o, "start", start);
	put_member(o, "end", end);
	put_member(o, "event", event.name);
	put_member(o, "unit", event.unit);
	gpc_out_text(o, "\"samples\":");
	gpc_out_u64(o, info.samples);
	gpc_out_text(o, ",\"rows\":[");
	put_rows(data);
	gpc_out_text(o, "],\n\"names\":[");
	put_names(data);
	gpc_out_text(o, "],\n\"processes\":[");
	put_runs(data);
	gpc_out_text(o, "]}");
}

static void data_deinit(struct data *data)
{
	for (size_t i = 0; i < data->made.n; i++)
		free(data->made.at[i]);
	vec_deinit(&data->made);
	vec_deinit(&data->names);
	vec_deinit(&data->runs);
	vec_deinit(&data->last);
	vec_deinit(&data->path);
	gpc_u64map_deinit(&data->by_text);
	gpc_u64map_deinit(&data->by_frame);
}

static void drop(json_t **json)
{
	json_decref(*json);
}

/* Borrowed from *header, which the caller drops. */
static const char *read_host(const struct gpc_profile *p, json_t **header)
{
	struct gpc_profile_info info = {.struct_size = sizeof info};
	const char *host;

	gpc_profile_info(p, &info);
	*header = json_loads(info.header, 0, NULL);
	host = json_string_value(json_object_get(json_object_get(*header, "metadata"), "hostname"));
	return host ? host : "";
}

static bool put_profile(struct gpc_out *o, const struct gpc_profile *p)
{
	autocall(data_deinit) struct data data = {.out = o, .profile = p};
	autocall(drop) json_t *header = NULL;

	put_data(&data, read_host(p, &header));
	return !data.is_short_of_memory;
}

static void put_title(struct gpc_out *o, const struct gpc_profile *p)
{
	struct gpc_profile_info info = {.struct_size = sizeof info};
	autocall(drop) json_t *header = NULL;
	const char *host = read_host(p, &header);
	char start[32];

	gpc_profile_info(p, &info);
	gpc_meta_time(info.begin_unix_ns, start);
	gpc_out_html(o, *host ? host : "profile");
	gpc_out_text(o, ", ");
	gpc_out_text(o, start);
}

static void put_part(struct gpc_out *o, int i)
{
	gpc_out_bytes(o, gpc_page_parts[i].text, gpc_page_parts[i].n);
}

gpc_status gpc_encode_diff_html(const struct gpc_profile *before, const struct gpc_profile *after,
				gpc_out_fn out, void *ctx)
{
	autofree struct gpc_out *o = malloc(sizeof *o);
	bool is_whole;
	gpc_status st;

	if (!o)
		return GPC_E_NOMEM;
	gpc_out_init(o, out, ctx);
	put_part(o, 0);
	put_title(o, before);
	if (after) {
		gpc_out_text(o, " \xE2\x86\x92 ");
		put_title(o, after);
	}
	put_part(o, 1);
	is_whole = put_profile(o, before);
	put_part(o, 2);
	if (after)
		is_whole = put_profile(o, after) && is_whole;
	else
		gpc_out_text(o, "null");
	put_part(o, 3);
	st = gpc_out_flush(o);
	return st >= 0 && !is_whole ? GPC_E_NOMEM : st;
}

gpc_status gpc_encode_html(const struct gpc_profile *p, gpc_out_fn out, void *ctx)
{
	return gpc_encode_diff_html(p, NULL, out, ctx);
}

gpc_status gpc_profile_diff_html(const struct gpc_profile *before, const struct gpc_profile *after,
				 gpc_out_fn out, void *ctx)
{
	return gpc_encode_diff_html(before, after, out, ctx);
}

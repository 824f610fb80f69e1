/* SPDX-License-Identifier: Apache-2.0 */
/* pprof's profile.proto, gzipped. Strings, functions and locations go out when
 * they are first used, samples as they come: the fields of a message may stand
 * in any order. */
#include "encode/pprof.h"

#include <jansson.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/vec.h"
#include "encode/encode.h"
#include "encode/gzip.h"
#include "encode/pbuf.h"
#include "encode/text.h"

struct mapping {
	uint64_t file, build_id, limit;
};

struct writer {
	const struct gpc_profile *profile;
	struct gpc_gzip gzip;
	struct gpc_names *names;       /* numbers of texts are places in the string table */
	uint64_t n_strings;            /* written so far */
	struct gpc_u64map locations;   /* frame -> number */
	struct gpc_u64map by_function; /* frame of names -> number */
	struct gpc_u64map by_module;   /* file and build-id -> number */
	vec(struct mapping) mappings;
	struct gpc_pbuf message, part, inner;
	struct gpc_pbuf locs, values; /* packed */
	struct gpc_pbuf text;
	struct gpc_out *scratch;
	uint64_t period_ns; /* of a sample of CPU time; 0 unknown */
	uint32_t n_events;
	bool is_short_of_memory;
};

static void put(struct writer *w, uint32_t field, const struct gpc_pbuf *message)
{
	gpc_pbuf_clear(&w->message);
	gpc_pbuf_part(&w->message, field, message);
	gpc_gzip_write(&w->gzip, w->message.bytes.at, w->message.bytes.n);
}

static void put_number(struct writer *w, uint32_t field, uint64_t number)
{
	gpc_pbuf_clear(&w->message);
	gpc_pbuf_u64(&w->message, field, number);
	gpc_gzip_write(&w->gzip, w->message.bytes.at, w->message.bytes.n);
}

/* ---- strings ----------------------------------------------------------------- */

static uint64_t string_n(struct writer *w, const char *s, size_t n)
{
	uint64_t number = n ? gpc_names_str(w->names, s, n) : 0;

	if (n && !number)
		w->is_short_of_memory = true;
	if (number <= w->n_strings)
		return number;
	w->n_strings = number;
	s = gpc_names_text(w->names, (gpc_str)number, &n);
	gpc_pbuf_clear(&w->message);
	gpc_pbuf_bytes(&w->message, GPC_PPROF_STRING, s, n);
	gpc_gzip_write(&w->gzip, w->message.bytes.at, w->message.bytes.n);
	return number;
}

static uint64_t string(struct writer *w, const char *s)
{
	return string_n(w, s, strlen(s));
}

static gpc_status collect(void *ctx, const void *bytes, uint64_t n)
{
	struct writer *w = ctx;

	if (!vec_reserve(&w->text.bytes, n))
		return GPC_E_NOMEM;
	memcpy(w->text.bytes.at + w->text.bytes.n, bytes, n);
	w->text.bytes.n += n;
	return GPC_OK;
}

static uint64_t collected(struct writer *w)
{
	if (gpc_out_flush(w->scratch) < 0)
		w->is_short_of_memory = true;
	return string_n(w, (const char *)w->text.bytes.at, w->text.bytes.n);
}

static struct gpc_out *scratch(struct writer *w)
{
	gpc_pbuf_clear(&w->text);
	gpc_out_init(w->scratch, collect, w);
	return w->scratch;
}

/* A name of unknown bytes, as .col has it. */
static uint64_t clean(struct writer *w, const char *s)
{
	gpc_out_field(scratch(w), s);
	return collected(w);
}

static uint64_t folded(struct writer *w, const struct gpc_frame_text *text)
{
	gpc_frame_folded(scratch(w), text);
	return collected(w);
}

/* ---- locations ----------------------------------------------------------------- */

static uint64_t mapping_of(struct writer *w, const struct gpc_frame_text *text)
{
	struct mapping m = {.file = clean(w, text->module), .build_id = string(w, text->build_id)};
	uint64_t number = w->mappings.n;

	if (!m.file)
		return 0;
	if (!gpc_u64map_get(&w->by_module, m.file << 32 | m.build_id, &number) &&
	    (!gpc_u64map_set(&w->by_module, m.file << 32 | m.build_id, number) ||
	     !vec_push(&w->mappings, m))) {
		w->is_short_of_memory = true;
		return 0;
	}
	if (text->address >= w->mappings.at[number].limit)
		w->mappings.at[number].limit = text->address + 1;
	return number + 1;
}

/* Programs measure the functions of a profile by name; the ones with one name
 * and file are one. */
static uint64_t function_of(struct writer *w, const struct gpc_frame_text *text)
{
	struct gpc_frame_entry entry = {.function = (gpc_str)folded(w, text),
					.file = (gpc_str)clean(w, text->file)};
	gpc_frame frame = gpc_names_frame(w->names, &entry);
	uint64_t number = w->by_function.n;

	if (gpc_u64map_get(&w->by_function, frame, &number))
		return number + 1;
	if (!frame || !gpc_u64map_set(&w->by_function, frame, number))
		w->is_short_of_memory = true;
	gpc_pbuf_clear(&w->part);
	gpc_pbuf_u64(&w->part, GPC_PPROF_FUNCTION_ID, number + 1);
	gpc_pbuf_u64(&w->part, GPC_PPROF_FUNCTION_NAME, entry.function);
	gpc_pbuf_u64(&w->part, GPC_PPROF_FUNCTION_FILE, entry.file);
	put(w, GPC_PPROF_FUNCTION, &w->part);
	return number + 1;
}

static uint64_t add_location(struct writer *w, gpc_frame frame, const struct gpc_frame_text *text)
{
	uint64_t number = w->locations.n + 1;
	uint64_t function = function_of(w, text), mapping = mapping_of(w, text);

	gpc_pbuf_clear(&w->inner);
	gpc_pbuf_u64(&w->inner, GPC_PPROF_LINE_FUNCTION, function);
	gpc_pbuf_u64(&w->inner, GPC_PPROF_LINE_NUMBER, text->line);
	gpc_pbuf_clear(&w->part);
	gpc_pbuf_u64(&w->part, GPC_PPROF_LOCATION_ID, number);
	gpc_pbuf_u64(&w->part, GPC_PPROF_LOCATION_MAPPING, mapping);
	gpc_pbuf_u64(&w->part, GPC_PPROF_LOCATION_ADDRESS, text->address);
	gpc_pbuf_part(&w->part, GPC_PPROF_LOCATION_LINE, &w->inner);
	put(w, GPC_PPROF_LOCATION, &w->part);
	if (!gpc_u64map_set(&w->locations, frame, number))
		w->is_short_of_memory = true;
	return number;
}

/* Frame 0 is the one of rows that have none. */
static uint64_t location_of(struct writer *w, gpc_frame frame)
{
	struct gpc_frame_text text = {.struct_size = sizeof text,
				      .function = frame ? "" : GPC_OVERFLOW_TEXT,
				      .file = "",
				      .module = "",
				      .suffix = "",
				      .build_id = ""};
	uint64_t number;

	if (gpc_u64map_get(&w->locations, frame, &number))
		return number;
	if (frame)
		gpc_profile_frame(w->profile, frame, &text);
	return add_location(w, frame, &text);
}

/* ---- samples ------------------------------------------------------------------- */

static void put_label(struct writer *w, const char *key, uint64_t text, uint64_t number)
{
	if (!text && !number)
		return;
	gpc_pbuf_clear(&w->inner);
	gpc_pbuf_u64(&w->inner, GPC_PPROF_LABEL_KEY, string(w, key));
	gpc_pbuf_u64(&w->inner, GPC_PPROF_LABEL_TEXT, text);
	gpc_pbuf_u64(&w->inner, GPC_PPROF_LABEL_NUMBER, number);
	gpc_pbuf_part(&w->part, GPC_PPROF_SAMPLE_LABEL, &w->inner);
}

static void put_labels(struct writer *w, const struct gpc_stack *s)
{
	put_label(w, "container", clean(w, s->container), 0);
	put_label(w, "container_id", clean(w, s->container_id), 0);
	put_label(w, "pod", clean(w, s->pod), 0);
	put_label(w, "namespace", clean(w, s->pod_namespace), 0);
	put_label(w, "comm", clean(w, s->comm), 0);
	put_label(w, "appid", clean(w, s->appid), 0);
	put_label(w, "pid", 0, s->pid > 0 ? (uint64_t)s->pid : 0);
	if (s->pid <= 0) /* out of a .col file: else equal processes would be one */
		put_label(w, "process", 0, s->process);
	put_label(w, "tid", 0, (uint64_t)s->tid);
	put_label(w, "thread", clean(w, s->thread), 0);
	put_label(w, "metadata", 0, s->metadata);
}

static uint64_t times(uint64_t a, uint64_t b)
{
	uint64_t product;

	return __builtin_mul_overflow(a, b, &product) || product > INT64_MAX ? INT64_MAX : product;
}

/* Every event is a sample type; the first one of CPU time is two. */
static void pack_values(struct writer *w, const struct gpc_stack *s)
{
	gpc_pbuf_clear(&w->values);
	for (uint32_t i = 0; i < w->n_events; i++) {
		uint64_t value = i == s->event ? times(s->value, 1) : 0;

		gpc_pbuf_varint(&w->values, value);
		if (i == 0 && w->period_ns)
			gpc_pbuf_varint(&w->values, times(value, w->period_ns));
	}
}

static void put_sample(struct writer *w, const struct gpc_stack *s)
{
	gpc_pbuf_clear(&w->locs);
	for (uint32_t i = 0; i < s->n_frames; i++)
		gpc_pbuf_varint(&w->locs, location_of(w, s->frames[i]));
	if (!s->n_frames)
		gpc_pbuf_varint(&w->locs, location_of(w, 0));
	pack_values(w, s);
	gpc_pbuf_clear(&w->part);
	gpc_pbuf_part(&w->part, GPC_PPROF_SAMPLE_LOCATIONS, &w->locs);
	gpc_pbuf_part(&w->part, GPC_PPROF_SAMPLE_VALUES, &w->values);
	put_labels(w, s);
	put(w, GPC_PPROF_SAMPLE, &w->part);
}

static void put_samples(struct writer *w)
{
	struct gpc_stack stack = {.struct_size = sizeof stack};
	uint64_t cursor = 0;

	while (w->gzip.out->status >= 0 && !w->is_short_of_memory &&
	       gpc_profile_next(w->profile, &cursor, &stack))
		put_sample(w, &stack);
}

/* ---- the profile ------------------------------------------------------------------ */

static void put_type(struct writer *w, uint32_t field, const char *name, const char *unit)
{
	uint64_t n = string(w, name), u = string(w, unit);

	gpc_pbuf_clear(&w->part);
	gpc_pbuf_u64(&w->part, GPC_PPROF_TYPE_NAME, n);
	gpc_pbuf_u64(&w->part, GPC_PPROF_TYPE_UNIT, u);
	put(w, field, &w->part);
}

static void put_types(struct writer *w)
{
	struct gpc_event event = {.struct_size = sizeof event};

	for (uint32_t i = 0; gpc_profile_event(w->profile, i, &event); i++) {
		bool is_count = strcmp(event.unit, "samples") == 0;

		put_type(w, GPC_PPROF_SAMPLE_TYPE, i == 0 && w->period_ns ? "samples" : event.name,
			 is_count ? "count" : event.unit);
		if (i == 0 && w->period_ns)
			put_type(w, GPC_PPROF_SAMPLE_TYPE, "cpu", "nanoseconds");
	}
	if (!w->period_ns)
		return;
	put_type(w, GPC_PPROF_PERIOD_TYPE, "cpu", "nanoseconds");
	put_number(w, GPC_PPROF_PERIOD, w->period_ns);
	put_number(w, GPC_PPROF_DEFAULT_TYPE, string(w, "cpu"));
}

/* Addresses are as linked, so each mapping begins at 0. */
static void put_mappings(struct writer *w)
{
	for (size_t i = 0; i < w->mappings.n; i++) {
		const struct mapping *m = &w->mappings.at[i];

		gpc_pbuf_clear(&w->part);
		gpc_pbuf_u64(&w->part, GPC_PPROF_MAPPING_ID, i + 1);
		gpc_pbuf_u64(&w->part, GPC_PPROF_MAPPING_LIMIT, m->limit);
		gpc_pbuf_u64(&w->part, GPC_PPROF_MAPPING_FILE, m->file);
		gpc_pbuf_u64(&w->part, GPC_PPROF_MAPPING_BUILD_ID, m->build_id);
		gpc_pbuf_u64(&w->part, GPC_PPROF_MAPPING_HAS_FUNCTIONS, 1);
		put(w, GPC_PPROF_MAPPING, &w->part);
	}
}

static void drop(json_t **json)
{
	json_decref(*json);
}

/* What one sample of the first event stands for, if that is CPU time. */
static uint64_t find_period(const struct gpc_profile *p, const char *text)
{
	autocall(drop) json_t *header = json_loads(text, JSON_ALLOW_NUL, NULL);
	struct gpc_event event = {.struct_size = sizeof event, .name = "", .unit = ""};
	const char *mode = json_string_value(json_object_get(header, "sampling_mode"));
	json_int_t hz = json_integer_value(json_object_get(header, "sampling_frequency"));

	gpc_profile_event(p, 0, &event);
	if (strcmp(event.name, "cpu-time") != 0 || strcmp(event.unit, "samples") != 0 ||
	    (mode && strcmp(mode, "frequency") != 0) || hz <= 0)
		return 0;
	return (GPC_SECOND_NS + (uint64_t)hz / 2) / (uint64_t)hz;
}

/* What .col has in its first line. Other readers skip a field they do not know;
 * a comment would be shown by pprof each time. */
static void put_header(struct writer *w, const char *header)
{
	gpc_pbuf_clear(&w->message);
	gpc_pbuf_bytes(&w->message, GPC_PPROF_HEADER, header, strlen(header));
	gpc_gzip_write(&w->gzip, w->message.bytes.at, w->message.bytes.n);
}

static void put_profile(struct writer *w)
{
	struct gpc_profile_info info = {.struct_size = sizeof info};

	gpc_profile_info(w->profile, &info);
	w->n_events = info.n_events;
	w->period_ns = find_period(w->profile, info.header);
	gpc_pbuf_clear(&w->message);
	gpc_pbuf_bytes(&w->message, GPC_PPROF_STRING, "", 0);
	gpc_gzip_write(&w->gzip, w->message.bytes.at, w->message.bytes.n);
	put_types(w);
	put_number(w, GPC_PPROF_TIME_NS, (uint64_t)info.begin_unix_ns);
	put_number(w, GPC_PPROF_DURATION_NS, info.duration_ns);
	put_header(w, info.header);
	put_samples(w);
	put_mappings(w);
	gpc_gzip_finish(&w->gzip);
}

static void writer_deinit(struct writer *w)
{
	gpc_names_put(w->names);
	gpc_u64map_deinit(&w->locations);
	gpc_u64map_deinit(&w->by_function);
	gpc_u64map_deinit(&w->by_module);
	vec_deinit(&w->mappings);
	gpc_pbuf_deinit(&w->message);
	gpc_pbuf_deinit(&w->part);
	gpc_pbuf_deinit(&w->inner);
	gpc_pbuf_deinit(&w->locs);
	gpc_pbuf_deinit(&w->values);
	gpc_pbuf_deinit(&w->text);
	gpc_gzip_deinit(&w->gzip);
	free(w->scratch);
}

static bool is_short_of_memory(const struct writer *w)
{
	return w->is_short_of_memory || w->message.is_short_of_memory ||
	       w->part.is_short_of_memory || w->inner.is_short_of_memory ||
	       w->locs.is_short_of_memory || w->values.is_short_of_memory;
}

gpc_status gpc_encode_pprof(const struct gpc_profile *p, gpc_out_fn out, void *ctx)
{
	autofree struct gpc_out *o = malloc(sizeof *o);
	autocall(writer_deinit) struct writer w = {.profile = p, .names = gpc_names_new(1)};

	w.scratch = malloc(sizeof *w.scratch);
	if (!o || !w.names || !w.scratch)
		return GPC_E_NOMEM;
	gpc_out_init(o, out, ctx);
	gpc_try(gpc_gzip_init(&w.gzip, o));
	put_profile(&w);
	if (is_short_of_memory(&w))
		return GPC_E_NOMEM;
	return gpc_out_flush(o);
}

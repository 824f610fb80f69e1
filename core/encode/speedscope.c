/* SPDX-License-Identifier: Apache-2.0 */
/* speedscope's file format: for each event one "sampled" profile. The keys of an
 * object may stand in any order, so the frames come last, when all are known. */
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/vec.h"
#include "encode/encode.h"
#include "encode/text.h"

/* What stands at a number of the table of frames. */
struct entry {
	enum { FRAME, COMM, APPID, OVERFLOW } kind;
	gpc_frame frame;
	struct gpc_stack process; /* COMM, APPID: its texts; frames are not valid */
};

struct writer {
	struct gpc_out *out;
	const struct gpc_profile *profile;
	vec(struct entry) entries;
	struct gpc_u64map frames, processes; /* -> number */
	uint64_t overflow;                   /* its number + 1; 0: not used */
	bool is_short_of_memory;
};

static uint64_t add_entry(struct writer *w, const struct entry *entry)
{
	if (!vec_push(&w->entries, *entry))
		w->is_short_of_memory = true;
	return w->entries.n ? w->entries.n - 1 : 0;
}

static uint64_t number_of_frame(struct writer *w, gpc_frame frame)
{
	struct entry entry = {.kind = FRAME, .frame = frame};
	uint64_t number;

	if (gpc_u64map_get(&w->frames, frame, &number))
		return number;
	number = add_entry(w, &entry);
	if (!gpc_u64map_set(&w->frames, frame, number))
		w->is_short_of_memory = true;
	return number;
}

/* The appid of a process stands behind the process. */
static uint64_t number_of_process(struct writer *w, const struct gpc_stack *s)
{
	struct entry entry = {.kind = COMM, .process = *s};
	uint64_t number;

	if (gpc_u64map_get(&w->processes, s->process, &number))
		return number;
	number = add_entry(w, &entry);
	entry.kind = APPID;
	if (*s->appid)
		add_entry(w, &entry);
	if (!gpc_u64map_set(&w->processes, s->process, number))
		w->is_short_of_memory = true;
	return number;
}

static uint64_t number_of_overflow(struct writer *w)
{
	struct entry entry = {.kind = OVERFLOW};

	if (!w->overflow)
		w->overflow = add_entry(w, &entry) + 1;
	return w->overflow - 1;
}

/* ---- rows ---------------------------------------------------------------------- */

static void put_sample(struct writer *w, const struct gpc_stack *s)
{
	uint64_t process = number_of_process(w, s);

	gpc_out_bytes(w->out, "[", 1);
	gpc_out_u64(w->out, process);
	if (*s->appid) {
		gpc_out_bytes(w->out, ",", 1);
		gpc_out_u64(w->out, process + 1);
	}
	for (uint32_t i = s->n_frames; i-- > 0;) {
		gpc_out_bytes(w->out, ",", 1);
		gpc_out_u64(w->out, number_of_frame(w, s->frames[i]));
	}
	if (!s->n_frames) {
		gpc_out_bytes(w->out, ",", 1);
		gpc_out_u64(w->out, number_of_overflow(w));
	}
	gpc_out_bytes(w->out, "]", 1);
}

/* What JSON readers take for a number. */
static uint64_t bounded(uint64_t value)
{
	return value < INT64_MAX ? value : INT64_MAX;
}

static void put_weight(struct writer *w, const struct gpc_stack *s)
{
	gpc_out_u64(w->out, bounded(s->value));
}

/* One array of the event's rows, from *cursor on, which it moves. */
static uint64_t put_rows(struct writer *w, uint32_t event, uint64_t *cursor,
			 void (*put)(struct writer *w, const struct gpc_stack *s))
{
	struct gpc_stack stack = {.struct_size = sizeof stack};
	uint64_t next = *cursor, total = 0;
	const char *between = "";

	while (w->out->status >= 0 && !w->is_short_of_memory &&
	       gpc_profile_next(w->profile, &next, &stack) && stack.event == event) {
		gpc_out_text(w->out, between);
		put(w, &stack);
		total = bounded(total + bounded(stack.value));
		between = ",\n";
		*cursor = next;
	}
	return total;
}

static const char *unit_of(const char *unit)
{
	return strcmp(unit, "bytes") == 0 || strcmp(unit, "nanoseconds") == 0 ? unit : "none";
}

static void put_event(struct writer *w, uint32_t i, const struct gpc_event *event, uint64_t *cursor)
{
	uint64_t again = *cursor, total;

	gpc_out_text(w->out, i ? ",\n" : "");
	gpc_out_text(w->out, "{\"type\":\"sampled\",\"name\":");
	gpc_out_json(w->out, event->name);
	gpc_out_text(w->out, ",\"unit\":");
	gpc_out_json(w->out, unit_of(event->unit));
	gpc_out_text(w->out, ",\"startValue\":0,\"samples\":[");
	put_rows(w, i, cursor, put_sample);
	gpc_out_text(w->out, "],\n\"weights\":[");
	total = put_rows(w, i, &again, put_weight);
	gpc_out_text(w->out, "],\"endValue\":");
	gpc_out_u64(w->out, total);
	gpc_out_text(w->out, "}");
}

/* ---- frames -------------------------------------------------------------------- */

static void put_name(struct writer *w, const struct gpc_frame_text *text)
{
	autofree char *made = NULL;
	const char *name = gpc_frame_shown(text, &made);

	gpc_out_text(w->out, "\"");
	gpc_out_json_text(w->out, name ? name : text->function);
	if (*text->suffix) {
		gpc_out_text(w->out, "_[");
		gpc_out_json_text(w->out, text->suffix);
		gpc_out_text(w->out, "]");
	}
	gpc_out_text(w->out, "\"");
}

static void put_frame(struct writer *w, gpc_frame frame)
{
	struct gpc_frame_text text = {
		.struct_size = sizeof text, .function = "", .file = "", .module = "", .suffix = ""};
	const char *file;

	gpc_profile_frame(w->profile, frame, &text);
	put_name(w, &text);
	file = *text.file ? text.file : text.module;
	if (*file) {
		gpc_out_text(w->out, ",\"file\":");
		gpc_out_json(w->out, file);
	}
	if (text.line) {
		gpc_out_text(w->out, ",\"line\":");
		gpc_out_u64(w->out, text.line);
	}
}

static void put_entry(struct writer *w, const struct entry *e)
{
	gpc_out_text(w->out, "{\"name\":");
	switch (e->kind) {
	case FRAME:
		put_frame(w, e->frame);
		break;
	case COMM:
		gpc_out_json(w->out, *e->process.comm ? e->process.comm : "[unknown]");
		break;
	case APPID:
		gpc_out_text(w->out, "\"appid: ");
		gpc_out_json_text(w->out, e->process.appid);
		gpc_out_text(w->out, "\"");
		break;
	case OVERFLOW:
		gpc_out_json(w->out, GPC_OVERFLOW_TEXT);
		break;
	}
	gpc_out_text(w->out, "}");
}

/* Which frames are processes, and what else is known of them. */
static void put_process(struct writer *w, size_t number, const struct gpc_stack *s)
{
	gpc_out_text(w->out, "{\"frame\":");
	gpc_out_u64(w->out, number);
	gpc_out_text(w->out, ",\"pid\":");
	gpc_out_u64(w->out, s->pid > 0 ? (uint64_t)s->pid : 0);
	gpc_out_text(w->out, ",\"container\":");
	gpc_out_json(w->out, s->container);
	gpc_out_text(w->out, ",\"appid\":");
	gpc_out_json(w->out, s->appid);
	gpc_out_text(w->out, ",\"metadata\":");
	gpc_out_u64(w->out, s->metadata);
	gpc_out_text(w->out, "}");
}

static void put_processes(struct writer *w)
{
	const char *between = "";

	for (size_t i = 0; i < w->entries.n; i++) {
		if (w->entries.at[i].kind != COMM)
			continue;
		gpc_out_text(w->out, between);
		put_process(w, i, &w->entries.at[i].process);
		between = ",\n";
	}
}

static void put_file(struct writer *w)
{
	struct gpc_profile_info info = {.struct_size = sizeof info};
	struct gpc_event event = {.struct_size = sizeof event};
	uint64_t cursor = 0;

	gpc_profile_info(w->profile, &info);
	gpc_out_text(w->out, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
			     "\"exporter\":\"gprofiler-core@" GPC_VERSION "\","
			     "\"activeProfileIndex\":0,\"profiles\":[");
	for (uint32_t i = 0; gpc_profile_event(w->profile, i, &event); i++)
		put_event(w, i, &event, &cursor);
	gpc_out_text(w->out, "],\n\"shared\":{\"frames\":[");
	for (size_t i = 0; i < w->entries.n; i++) {
		gpc_out_text(w->out, i ? ",\n" : "");
		put_entry(w, &w->entries.at[i]);
	}
	gpc_out_text(w->out, "]},\n\"gprofiler_core\":{\"processes\":[");
	put_processes(w);
	gpc_out_text(w->out, "],\n\"units\":[");
	for (uint32_t i = 0; gpc_profile_event(w->profile, i, &event); i++) {
		gpc_out_text(w->out, i ? "," : "");
		gpc_out_json(w->out, event.unit);
	}
	gpc_out_text(w->out, "],\n\"header\":");
	gpc_out_text(w->out, info.header);
	gpc_out_text(w->out, "}}\n");
}

static void writer_deinit(struct writer *w)
{
	vec_deinit(&w->entries);
	gpc_u64map_deinit(&w->frames);
	gpc_u64map_deinit(&w->processes);
}

gpc_status gpc_encode_speedscope(const struct gpc_profile *p, gpc_out_fn out, void *ctx)
{
	autofree struct gpc_out *o = malloc(sizeof *o);
	autocall(writer_deinit) struct writer w = {.out = o, .profile = p};

	if (!o)
		return GPC_E_NOMEM;
	gpc_out_init(o, out, ctx);
	put_file(&w);
	if (w.is_short_of_memory)
		return GPC_E_NOMEM;
	return gpc_out_flush(o);
}

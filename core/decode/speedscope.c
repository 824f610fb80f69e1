/* SPDX-License-Identifier: Apache-2.0 */
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "decode/decode.h"
#include "decode/draft.h"

#define JSON_MAX ((size_t)128 << 20) /* in memory it is several times as large */
#define APPID    "appid: "

struct reader {
	struct gpc_draft draft;
	json_t *file, *ours; /* ours: what our own files say more */
	vec(gpc_frame) frames;
	struct gpc_u64map processes; /* frame -> process */
	struct gpc_u64map appids;    /* processes that have one */
	vec(size_t) path;            /* of an evented profile: frames that are open */
	size_t profile;              /* the one being read, for messages */
};

static void drop(json_t **json)
{
	json_decref(*json);
}

static void reader_deinit(struct reader *r)
{
	gpc_draft_deinit(&r->draft);
	vec_deinit(&r->frames);
	vec_deinit(&r->path);
	gpc_u64map_deinit(&r->processes);
	gpc_u64map_deinit(&r->appids);
}

static struct gpc_draft_text text_of(const json_t *string)
{
	const char *s = json_string_value(string);

	return (struct gpc_draft_text){s ? s : "", s ? json_string_length(string) : 0};
}

static gpc_status expected(const struct reader *r, const char *what, struct gpc_err *err)
{
	return gpc_err_set(err, GPC_E_CORRUPT, "profiles[%zu]: expected %s", r->profile, what);
}

/* ---- frames -------------------------------------------------------------------------- */

static gpc_status read_frame(struct reader *r, size_t i, const json_t *frame, struct gpc_err *err)
{
	const json_t *name = json_object_get(frame, "name");
	json_int_t line = json_integer_value(json_object_get(frame, "line"));
	struct gpc_frame_entry entry = {0};
	gpc_frame made;

	if (!json_is_string(name))
		return gpc_err_set(err, GPC_E_CORRUPT, "shared.frames[%zu]: expected a name", i);
	if (line > 0 && line <= UINT32_MAX)
		entry.line = (uint32_t)line;
	gpc_try(gpc_draft_str(&r->draft, text_of(json_object_get(frame, "file")), &entry.file,
			      err));
	gpc_try(gpc_draft_frame(&r->draft, text_of(name), &entry, &made, err));
	return vec_push(&r->frames, made) ? GPC_OK : gpc_err_nomem(err);
}

static gpc_status read_frames(struct reader *r, struct gpc_err *err)
{
	const json_t *frames = json_object_get(json_object_get(r->file, "shared"), "frames");

	if (!json_is_array(frames))
		return gpc_err_set(err, GPC_E_CORRUPT, "expected an array at shared.frames");
	for (size_t i = 0; i < json_array_size(frames); i++)
		gpc_try(read_frame(r, i, json_array_get(frames, i), err));
	return GPC_OK;
}

/* ---- processes ------------------------------------------------------------------------- */

static uint32_t small(const json_t *number, json_int_t max)
{
	json_int_t value = json_integer_value(number);

	return value > 0 && value <= max ? (uint32_t)value : 0;
}

static gpc_status read_process(struct reader *r, size_t i, const json_t *from, struct gpc_err *err)
{
	json_int_t frame = json_integer_value(json_object_get(from, "frame"));
	struct gpc_draft_process p = {.twin = i};
	struct gpc_frame_text text = {0};
	uint64_t id;

	if (frame < 0 || (size_t)frame >= r->frames.n)
		return gpc_err_set(err, GPC_E_CORRUPT,
				   "gprofiler_core.processes[%zu]: expected the number of a frame",
				   i);
	gpc_names_frame_text(r->draft.names, r->frames.at[frame], &text);
	p.pid = (int32_t)small(json_object_get(from, "pid"), INT32_MAX);
	p.metadata = small(json_object_get(from, "metadata"), UINT32_MAX);
	gpc_try(gpc_draft_str(&r->draft, text_of(json_object_get(from, "container")), &p.container,
			      err));
	gpc_try(gpc_draft_str(&r->draft, text_of(json_object_get(from, "appid")), &p.appid, err));
	gpc_try(gpc_draft_str(
		&r->draft,
		text_of(json_object_get(json_array_get(json_object_get(json_object_get(r->file,
										       "shared"),
								       "frames"),
						       (size_t)frame),
					"name")),
		&p.comm, err));
	gpc_try(gpc_draft_process(&r->draft, &p, &id, err));
	if (!gpc_u64map_set(&r->processes, (uint64_t)frame, id) ||
	    (p.appid && !gpc_u64map_set(&r->appids, id, 1)))
		return gpc_err_nomem(err);
	return GPC_OK;
}

static gpc_status read_ours(struct reader *r, struct gpc_err *err)
{
	const json_t *processes = json_object_get(r->ours, "processes");
	json_t *header = json_object_get(r->ours, "header");
	autofree char *text = NULL;

	for (size_t i = 0; i < json_array_size(processes); i++)
		gpc_try(read_process(r, i, json_array_get(processes, i), err));
	if (!json_is_object(header))
		return GPC_OK;
	text = json_dumps(header, JSON_ENSURE_ASCII | JSON_REAL_PRECISION(15));
	if (!text)
		return gpc_err_nomem(err);
	return gpc_draft_header(&r->draft, (struct gpc_draft_text){text, strlen(text)}, err);
}

/* A file of somebody else has no processes: its profiles are threads. */
static gpc_status default_process(struct reader *r, const json_t *profile, uint64_t *ret,
				  struct gpc_err *err)
{
	struct gpc_draft_process p = {0};
	struct gpc_draft_text name = text_of(json_object_get(profile, "name"));

	if (!name.n)
		name = (struct gpc_draft_text){"[unknown]", 9};
	gpc_try(gpc_draft_str(&r->draft, name, &p.comm, err));
	return gpc_draft_process(&r->draft, &p, ret, err);
}

/* ---- events ---------------------------------------------------------------------------- */

struct scale {
	const char *unit, *event, *ours;
	double factor;
};

static const struct scale scales[] = {
	{"none", "cpu-time", "samples", 1},           {"bytes", "bytes", "bytes", 1},
	{"nanoseconds", "time", "nanoseconds", 1},    {"microseconds", "time", "nanoseconds", 1e3},
	{"milliseconds", "time", "nanoseconds", 1e6}, {"seconds", "time", "nanoseconds", 1e9},
};

static const struct scale *scale_of(const json_t *profile)
{
	const char *unit = json_string_value(json_object_get(profile, "unit"));

	for (size_t i = 0; unit && i < sizeof scales / sizeof *scales; i++)
		if (strcmp(scales[i].unit, unit) == 0)
			return &scales[i];
	return NULL;
}

/* Ours has one profile for each event; others' profiles of one unit are one. */
static gpc_status find_event(struct reader *r, const json_t *profile, const struct scale *scale,
			     size_t *ret, struct gpc_err *err)
{
	struct gpc_draft_text name = {scale->event, strlen(scale->event)},
			      unit = {scale->ours, strlen(scale->ours)};
	const json_t *own = json_array_get(json_object_get(r->ours, "units"), r->profile);

	if (json_is_string(own)) {
		name = text_of(json_object_get(profile, "name"));
		unit = text_of(own);
	}
	for (size_t i = 0; !own && i < r->draft.events.n; i++)
		if (strcmp(gpc_names_text(r->draft.names, r->draft.events.at[i].unit, NULL),
			   scale->ours) == 0) {
			*ret = i;
			return GPC_OK;
		}
	*ret = r->draft.events.n;
	return gpc_draft_event(&r->draft, name, unit, err);
}

/* ---- rows ------------------------------------------------------------------------------ */

struct target {
	size_t event;
	uint64_t process; /* of stacks that do not begin with one */
	double factor;
};

static gpc_status value_of(const struct reader *r, const json_t *weight, double factor,
			   uint64_t *ret, struct gpc_err *err)
{
	double value;

	if (json_is_integer(weight) && json_integer_value(weight) >= 0 && !(factor > 1)) {
		*ret = (uint64_t)json_integer_value(weight);
		return GPC_OK;
	}
	value = json_is_number(weight) ? json_number_value(weight) * factor : -1;
	if (!(value >= 0) || value > 1e18)
		return expected(r, "weights from 0 to 1e18", err);
	*ret = (uint64_t)(value + 0.5);
	return GPC_OK;
}

static bool is_appid(const struct reader *r, uint64_t process, gpc_frame frame)
{
	struct gpc_frame_text text;
	uint64_t has;

	return gpc_u64map_get(&r->appids, process, &has) &&
	       gpc_names_frame_text(r->draft.names, frame, &text) &&
	       strncmp(text.function, APPID, strlen(APPID)) == 0;
}

/* r->path, root first, as a row. */
static gpc_status add_path(struct reader *r, const struct target *t, uint64_t value,
			   struct gpc_err *err)
{
	uint64_t process = t->process;
	size_t from = 0;

	if (r->path.n && gpc_u64map_get(&r->processes, r->path.at[0], &process)) {
		from = 1;
		if (r->path.n > 1 && is_appid(r, process, r->frames.at[r->path.at[1]]))
			from = 2;
	}
	r->draft.stack.n = 0;
	for (size_t i = r->path.n; i-- > from;)
		gpc_try(gpc_draft_push(&r->draft, r->frames.at[r->path.at[i]], err));
	return gpc_draft_row(&r->draft, t->event, process, value, err);
}

static gpc_status push_frame(struct reader *r, const json_t *number, struct gpc_err *err)
{
	json_int_t frame = json_integer_value(number);

	if (!json_is_integer(number) || frame < 0 || (size_t)frame >= r->frames.n)
		return expected(r, "numbers of frames that the file has", err);
	return vec_push(&r->path, (size_t)frame) ? GPC_OK : gpc_err_nomem(err);
}

static gpc_status read_sampled(struct reader *r, const json_t *profile, const struct target *t,
			       struct gpc_err *err)
{
	const json_t *samples = json_object_get(profile, "samples"),
		     *weights = json_object_get(profile, "weights");

	if (!json_is_array(samples) || json_array_size(samples) != json_array_size(weights))
		return expected(r, "as many samples as weights", err);
	for (size_t i = 0; i < json_array_size(samples); i++) {
		const json_t *sample = json_array_get(samples, i);
		uint64_t value = 0;

		if (!json_is_array(sample))
			return expected(r, "samples that are arrays", err);
		gpc_try(value_of(r, json_array_get(weights, i), t->factor, &value, err));
		r->path.n = 0;
		for (size_t k = 0; k < json_array_size(sample); k++)
			gpc_try(push_frame(r, json_array_get(sample, k), err));
		gpc_try(add_path(r, t, value, err));
	}
	return GPC_OK;
}

/* Frames open and close; what is open between two events was running. */
static gpc_status read_event(struct reader *r, const json_t *event, struct gpc_err *err)
{
	const char *type = json_string_value(json_object_get(event, "type"));
	const json_t *frame = json_object_get(event, "frame");

	if (type && strcmp(type, "O") == 0)
		return push_frame(r, frame, err);
	if (!type || strcmp(type, "C") != 0 || !r->path.n ||
	    json_integer_value(frame) != (json_int_t)r->path.at[r->path.n - 1])
		return expected(r, "events that close the frame opened last", err);
	r->path.n--;
	return GPC_OK;
}

static gpc_status read_evented(struct reader *r, const json_t *profile, const struct target *t,
			       struct gpc_err *err)
{
	const json_t *events = json_object_get(profile, "events");
	double last = 0;

	if (!json_is_array(events))
		return expected(r, "an array of events", err);
	r->path.n = 0;
	for (size_t i = 0; i < json_array_size(events); i++) {
		const json_t *event = json_array_get(events, i);
		double at = json_number_value(json_object_get(event, "at")), value;

		value = (at - last) * t->factor;
		if (r->path.n && (!(value >= 0) || value > 1e18))
			return expected(r, "events in the order of time", err);
		if (r->path.n)
			gpc_try(add_path(r, t, (uint64_t)(value + 0.5), err));
		last = at;
		gpc_try(read_event(r, event, err));
	}
	return GPC_OK;
}

static gpc_status read_profile(struct reader *r, const json_t *profile, struct gpc_err *err)
{
	const struct scale *scale = scale_of(profile);
	const char *type = json_string_value(json_object_get(profile, "type"));
	struct target t;

	if (!scale)
		return expected(r, "a unit that speedscope knows", err);
	t.factor = scale->factor;
	gpc_try(find_event(r, profile, scale, &t.event, err));
	gpc_try(default_process(r, profile, &t.process, err));
	if (type && strcmp(type, "sampled") == 0)
		return read_sampled(r, profile, &t, err);
	if (type && strcmp(type, "evented") == 0)
		return read_evented(r, profile, &t, err);
	return expected(r, "type \"sampled\" or \"evented\"", err);
}

static gpc_status read_file(struct reader *r, struct gpc_err *err)
{
	const json_t *profiles = json_object_get(r->file, "profiles");

	if (!json_is_array(profiles))
		return gpc_err_set(err, GPC_E_CORRUPT,
				   "expected an array at profiles: is it a speedscope file?");
	r->ours = json_object_get(r->file, "gprofiler_core");
	gpc_try(read_frames(r, err));
	gpc_try(read_ours(r, err));
	for (r->profile = 0; r->profile < json_array_size(profiles); r->profile++)
		gpc_try(read_profile(r, json_array_get(profiles, r->profile), err));
	return GPC_OK;
}

gpc_status gpc_decode_speedscope(const char *text, size_t n, struct gpc_profile **ret,
				 struct gpc_err *err)
{
	autocall(reader_deinit) struct reader r = {0};
	autocall(drop) json_t *file = NULL;
	json_error_t error;

	if (n > JSON_MAX)
		return gpc_err_set(err, GPC_E_BUDGET, "JSON of more than %zu MB", JSON_MAX >> 20);
	file = json_loadb(text, n, 0, &error);
	if (!file)
		return gpc_err_set(err, GPC_E_CORRUPT, "line %d, column %d: expected JSON: %s",
				   error.line, error.column, error.text);
	r.file = file;
	gpc_try(gpc_draft_init(&r.draft, err));
	gpc_try(read_file(&r, err));
	return gpc_draft_finish(&r.draft, ret, err);
}

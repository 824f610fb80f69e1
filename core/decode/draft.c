/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/draft.h"

#include <ctype.h>
#include <jansson.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "encode/encode.h"

static void drop(json_t **json)
{
	json_decref(*json);
}

static void put_profile(struct gpc_profile **p)
{
	gpc_profile_put(*p);
}

gpc_status gpc_draft_init(struct gpc_draft *d, struct gpc_err *err)
{
	*d = (struct gpc_draft){.names = gpc_names_new(1), .has_container = true};
	return d->names ? GPC_OK : gpc_err_nomem(err);
}

void gpc_draft_deinit(struct gpc_draft *d)
{
	for (size_t i = 0; i < d->events.n; i++)
		gpc_stacks_free(d->events.at[i].stacks);
	vec_deinit(&d->events);
	vec_deinit(&d->processes);
	vec_deinit(&d->stack);
	gpc_u64map_deinit(&d->process_index);
	gpc_u64map_deinit(&d->threads);
	gpc_names_put(take(d->names));
	free(take(d->header));
}

gpc_status gpc_draft_str(struct gpc_draft *d, struct gpc_draft_text text, gpc_str *ret,
			 struct gpc_err *err)
{
	gpc_str s = text.n ? gpc_names_str(d->names, text.at, text.n) : 0;

	if (text.n && *text.at && !s)
		return gpc_err_nomem(err);
	*ret = s;
	return GPC_OK;
}

/* Where "_[suffix]" begins; text.n when there is none. Only what is written
 * back as it was counts as one. */
static size_t find_suffix(struct gpc_draft_text text)
{
	size_t at = text.n;

	if (text.n < 5 || text.at[text.n - 1] != ']')
		return text.n;
	for (at = text.n - 1; at > 0 && isalnum((unsigned char)text.at[at - 1]); at--)
		;
	if (at == text.n - 1 || at < 3 || text.at[at - 1] != '[' || text.at[at - 2] != '_')
		return text.n;
	return at - 2;
}

gpc_status gpc_draft_frame(struct gpc_draft *d, struct gpc_draft_text text,
			   struct gpc_frame_entry *entry, gpc_frame *ret, struct gpc_err *err)
{
	size_t at = find_suffix(text);
	gpc_frame frame;

	gpc_try(gpc_draft_str(d, (struct gpc_draft_text){text.at, at}, &entry->function, err));
	if (at < text.n)
		gpc_try(gpc_draft_str(d, (struct gpc_draft_text){text.at + at + 2, text.n - at - 3},
				      &entry->suffix, err));
	if (at + 4 == text.n && text.at[at + 2] == 'k')
		entry->flags |= GPC_FRAME_KERNEL;
	frame = gpc_names_frame(d->names, entry);
	if (!frame)
		return gpc_err_nomem(err);
	*ret = frame;
	return GPC_OK;
}

gpc_status gpc_draft_process(struct gpc_draft *d, const struct gpc_draft_process *process,
			     uint64_t *ret, struct gpc_err *err)
{
	uint64_t hash = gpc_hash(process, sizeof *process), cursor = 0, i;

	while (gpc_u64map_probe(&d->process_index, hash, &cursor, &i))
		if (memcmp(&d->processes.at[i], process, sizeof *process) == 0) {
			*ret = i + 1;
			return GPC_OK;
		}
	if (!vec_reserve(&d->processes, 1) ||
	    !gpc_u64map_add(&d->process_index, hash, d->processes.n))
		return gpc_err_nomem(err);
	d->processes.at[d->processes.n++] = *process;
	*ret = d->processes.n;
	return GPC_OK;
}

gpc_status gpc_draft_event(struct gpc_draft *d, struct gpc_draft_text name,
			   struct gpc_draft_text unit, struct gpc_err *err)
{
	struct gpc_draft_event event = {0};

	if (d->events.n == GPC_DRAFT_EVENTS)
		return gpc_err_set(err, GPC_E_BUDGET, "more than %d events", GPC_DRAFT_EVENTS);
	gpc_try(gpc_draft_str(d, name, &event.name, err));
	gpc_try(gpc_draft_str(d, unit, &event.unit, err));
	if (!vec_reserve(&d->events, 1))
		return gpc_err_nomem(err);
	gpc_try(gpc_stacks_new(GPC_DRAFT_STACK_BYTES, &event.stacks, err));
	d->events.at[d->events.n++] = event;
	return GPC_OK;
}

gpc_status gpc_draft_push(struct gpc_draft *d, gpc_frame frame, struct gpc_err *err)
{
	if (d->stack.n == GPC_DRAFT_FRAMES)
		return gpc_err_set(err, GPC_E_BUDGET, "a stack of more than %d frames",
				   GPC_DRAFT_FRAMES);
	return vec_push(&d->stack, frame) ? GPC_OK : gpc_err_nomem(err);
}

/* A file may have empty stacks; in memory those mean something else. */
static gpc_status push_unknown(struct gpc_draft *d, struct gpc_err *err)
{
	struct gpc_frame_entry entry = {0};
	gpc_frame frame = 0;

	gpc_try(gpc_draft_frame(d, (struct gpc_draft_text){"[unknown]", 9}, &entry, &frame, err));
	return gpc_draft_push(d, frame, err);
}

/* A stack that only says that it was not kept has no frames in memory. */
static bool is_overflow(struct gpc_draft *d)
{
	struct gpc_frame_text text;

	return d->stack.n == 1 && gpc_names_frame_text(d->names, d->stack.at[0], &text) &&
	       !*text.suffix && strcmp(text.function, GPC_OVERFLOW_TEXT) == 0;
}

gpc_status gpc_draft_row(struct gpc_draft *d, size_t event, uint64_t key, uint64_t value,
			 struct gpc_err *err)
{
	gpc_status st;
	uint32_t n;

	if (!d->stack.n)
		gpc_try(push_unknown(d, err));
	n = is_overflow(d) ? 0 : (uint32_t)d->stack.n;
	st = gpc_stacks_add(d->events.at[event].stacks, key, d->stack.at, n, value);
	if (st == GPC_E_BUDGET)
		return gpc_err_set(err, st, "more than %zu MB of stacks",
				   GPC_DRAFT_STACK_BYTES >> 20);
	return st < 0 ? gpc_err_nomem(err) : GPC_OK;
}

/* ---- the header ------------------------------------------------------------------ */

static void read_times(struct gpc_draft *d, const json_t *header)
{
	const char *end = json_string_value(
		json_object_get(json_object_get(header, "metadata"), "current_time"));
	double seconds = json_number_value(
		json_object_get(json_object_get(header, "gprofiler_core"), "seconds"));
	struct tm tm = {0};
	int64_t ns;

	if (seconds > 0 && seconds < 1e9)
		d->span.duration_ns = (uint64_t)(seconds * 1e9 + 0.5);
	if (!end || !strptime(end, "%Y-%m-%dT%H:%M:%S", &tm))
		return;
	/* The year is anybody's word. */
	if (__builtin_mul_overflow((int64_t)timegm(&tm), (int64_t)GPC_SECOND_NS, &ns) || ns < 0)
		return;
	d->span.end_unix_ns = ns;
	d->span.begin_unix_ns = ns - (int64_t)d->span.duration_ns;
}

static bool is_v1(const json_t *version)
{
	return json_is_string(version) && strcmp(json_string_value(version), "v1") == 0;
}

/* With --profile-api-version v1 stacks begin with the process. The arguments are not there
 * with --disable-metadata-collection: our own part tells it too. */
static void read_prefix(struct gpc_draft *d, const json_t *header)
{
	const json_t *metadata = json_object_get(header, "metadata");
	const json_t *arguments = json_object_get(metadata, "run_arguments");
	const json_t *ours = json_object_get(header, "gprofiler_core");
	bool is_plain = is_v1(json_object_get(arguments, "profile_api_version")) ||
			is_v1(json_object_get(ours, "profile_api_version"));

	d->has_container = !is_plain;
	d->has_index =
		!is_plain && json_is_true(json_object_get(header, "application_metadata_enabled"));
}

gpc_status gpc_draft_header(struct gpc_draft *d, struct gpc_draft_text json, struct gpc_err *err)
{
	json_error_t error;
	autocall(drop) json_t *header = json_loadb(json.at, json.n, JSON_ALLOW_NUL, &error);
	char *copy;

	if (!json_is_object(header))
		return gpc_err_set(err, GPC_E_CORRUPT,
				   "byte %d: expected the header, a JSON object: %s",
				   header ? 0 : error.position, header ? "no object" : error.text);
	/* Kept as it is written, unless that does not fit on one line. */
	if (*json.at == '{' && !memchr(json.at, '\n', json.n) && !memchr(json.at, '\r', json.n))
		copy = strndup(json.at, json.n);
	else
		copy = json_dumps(header, JSON_ENSURE_ASCII);
	if (!copy)
		return gpc_err_nomem(err);
	free(d->header);
	d->header = copy;
	read_prefix(d, header);
	read_times(d, header);
	return GPC_OK;
}

gpc_status gpc_draft_header_event(struct gpc_draft *d, struct gpc_err *err)
{
	autocall(drop) json_t *header =
		d->header ? json_loads(d->header, JSON_ALLOW_NUL, NULL) : NULL;
	const char *name = json_string_value(json_object_get(header, "sampling_event"));

	if (!name || !*name)
		name = "cpu-time";
	return gpc_draft_event(d, (struct gpc_draft_text){name, strlen(name)},
			       (struct gpc_draft_text){"samples", 7}, err);
}

/* ---- the profile ------------------------------------------------------------------- */

static const char *text_of(const struct gpc_draft *d, gpc_str s)
{
	return gpc_names_text(d->names, s, NULL);
}

static gpc_status add_processes(const struct gpc_draft *d, struct gpc_profile *p,
				struct gpc_err *err)
{
	for (size_t i = 0; i < d->processes.n; i++) {
		const struct gpc_draft_process *from = &d->processes.at[i];
		struct gpc_profile_process to = {.id = i + 1,
						 .pid = from->pid,
						 .comm = text_of(d, from->comm),
						 .container = text_of(d, from->container),
						 .appid = text_of(d, from->appid),
						 .metadata = from->metadata,
						 .pod = text_of(d, from->pod),
						 .pod_namespace = text_of(d, from->pod_namespace),
						 .container_id = text_of(d, from->container_id)};

		gpc_try(gpc_profile_add_process(p, &to, err));
	}
	for (size_t i = 0; i < d->threads.room; i++) {
		const struct gpc_map_slot *slot = &d->threads.slots[i];

		if (slot->value)
			gpc_try(gpc_profile_add_thread(p, slot->key,
						       text_of(d, (gpc_str)slot->value - 1), err));
	}
	return GPC_OK;
}

gpc_status gpc_draft_finish(struct gpc_draft *d, struct gpc_profile **ret, struct gpc_err *err)
{
	autocall(put_profile) struct gpc_profile *p = NULL;

	gpc_try(gpc_profile_new(d->names, &d->span, &p, err));
	gpc_try(add_processes(d, p, err));
	for (size_t i = 0; i < d->events.n; i++)
		gpc_try(gpc_profile_add_event(p, text_of(d, d->events.at[i].name),
					      text_of(d, d->events.at[i].unit),
					      take(d->events.at[i].stacks), err));
	if (d->header)
		gpc_try(gpc_profile_set_header(p, d->header, err));
	/* As a reader of the header, "{}" where there was none, will expect it. */
	gpc_profile_set_prefix(p, d->has_index, d->has_container || !d->header);
	gpc_profile_set_wants(p, d->wants);
	*ret = take(p);
	return GPC_OK;
}

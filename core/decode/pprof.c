/* SPDX-License-Identifier: Apache-2.0 */
/* profile.proto. Its tables may stand anywhere in the file: they are read first,
 * then the samples. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "decode/decode.h"
#include "decode/draft.h"
#include "decode/inflate.h"
#include "decode/pprof_tables.h"
#include "encode/pprof.h"

/* What a sample says of its process. */
struct labels {
	struct gpc_draft_process process;
	gpc_str thread;
	int32_t tid;
};

struct reader {
	struct gpc_draft draft;
	struct gpc_pprof_tables tables;
	vec(int) event_of; /* for each sample type; -1: another one says the same */
	struct gpc_numbers locations, values;
	gpc_str comm; /* of samples that name none */
};

static void reader_deinit(struct reader *r)
{
	gpc_draft_deinit(&r->draft);
	gpc_pprof_tables_deinit(&r->tables);
	vec_deinit(&r->event_of);
	vec_deinit(&r->locations.list);
	vec_deinit(&r->values.list);
}

static bool is_type(const struct gpc_pprof_tables *t, size_t i, const char *name, const char *unit)
{
	return i < t->types.n && gpc_pprof_is(t, t->types.at[i].name, name) &&
	       gpc_pprof_is(t, t->types.at[i].unit, unit);
}

/* Samples counted and the time they stand for are one event of ours. */
static gpc_status add_events(struct reader *r, struct gpc_err *err)
{
	const struct gpc_pprof_tables *t = &r->tables;

	for (size_t i = 0; i < t->types.n; i++) {
		bool is_pair = is_type(t, i, "samples", "count") &&
			       is_type(t, i + 1, "cpu", "nanoseconds");
		struct gpc_draft_text name = gpc_pprof_text(t, t->types.at[i].name),
				      unit = gpc_pprof_text(t, t->types.at[i].unit);

		if (!vec_push(&r->event_of, (int)r->draft.events.n))
			return gpc_err_nomem(err);
		if (is_pair) {
			name = (struct gpc_draft_text){"cpu-time", 8};
			unit = (struct gpc_draft_text){"samples", 7};
			if (!vec_push(&r->event_of, -1))
				return gpc_err_nomem(err);
			i++;
		}
		gpc_try(gpc_draft_event(&r->draft, name, unit, err));
	}
	return GPC_OK;
}

/* ---- samples ----------------------------------------------------------------------- */

static gpc_status use_label(struct reader *r, const uint64_t *label, struct labels *to,
			    struct gpc_err *err)
{
	const struct gpc_pprof_tables *t = &r->tables;
	uint64_t key = label[GPC_PPROF_LABEL_KEY], number = label[GPC_PPROF_LABEL_NUMBER];
	struct gpc_draft_text text = gpc_pprof_text(t, label[GPC_PPROF_LABEL_TEXT]);

	if (gpc_pprof_is(t, key, "comm"))
		return gpc_draft_str(&r->draft, text, &to->process.comm, err);
	if (gpc_pprof_is(t, key, "container"))
		return gpc_draft_str(&r->draft, text, &to->process.container, err);
	if (gpc_pprof_is(t, key, "appid"))
		return gpc_draft_str(&r->draft, text, &to->process.appid, err);
	if (gpc_pprof_is(t, key, "container_id"))
		return gpc_draft_str(&r->draft, text, &to->process.container_id, err);
	if (gpc_pprof_is(t, key, "pod"))
		return gpc_draft_str(&r->draft, text, &to->process.pod, err);
	if (gpc_pprof_is(t, key, "namespace"))
		return gpc_draft_str(&r->draft, text, &to->process.pod_namespace, err);
	if (gpc_pprof_is(t, key, "thread"))
		return gpc_draft_str(&r->draft, text, &to->thread, err);
	if (gpc_pprof_is(t, key, "pid") && number <= INT32_MAX)
		to->process.pid = (int32_t)number;
	if (gpc_pprof_is(t, key, "process"))
		to->process.twin = number;
	if (gpc_pprof_is(t, key, "tid") && number <= GPC_KEY_TID_MAX)
		to->tid = (int32_t)number;
	if (gpc_pprof_is(t, key, "metadata") && number <= UINT32_MAX)
		to->process.metadata = (uint32_t)number;
	return GPC_OK;
}

static gpc_status read_label(struct reader *r, const struct gpc_pbfield *f, struct labels *to,
			     struct gpc_err *err)
{
	uint64_t label[GPC_PPROF_LABEL_NUMBER + 1] = {0};
	struct gpc_pbread part;

	gpc_try(gpc_pbfield_part(f, &part, err));
	gpc_try(gpc_pprof_numbers(&part, label, GPC_PPROF_LABEL_NUMBER, err));
	return use_label(r, label, to, err);
}

static gpc_status read_sample(struct reader *r, struct gpc_pbread part, struct labels *labels,
			      struct gpc_err *err)
{
	struct gpc_pbfield f;
	gpc_status st;

	r->locations.list.n = r->values.list.n = 0;
	while ((st = gpc_pbread_next(&part, &f, err)) > 0) {
		if (f.number == GPC_PPROF_SAMPLE_LOCATIONS)
			gpc_try(gpc_pbfield_numbers(&f, &r->locations, err));
		else if (f.number == GPC_PPROF_SAMPLE_VALUES)
			gpc_try(gpc_pbfield_numbers(&f, &r->values, err));
		else if (f.number == GPC_PPROF_SAMPLE_LABEL)
			gpc_try(read_label(r, &f, labels, err));
	}
	return st;
}

static gpc_status expected(const struct gpc_pbread *at, const char *what, struct gpc_err *err)
{
	return gpc_err_set(err, GPC_E_CORRUPT, "sample at byte %zu: expected %s",
			   (size_t)(at->at - at->begin), what);
}

static gpc_status push_location(struct reader *r, uint64_t id, const struct gpc_pbread *at,
				struct gpc_err *err)
{
	uint64_t place;

	if (!gpc_u64map_get(&r->tables.location_index, id, &place))
		return expected(at, "locations that the file has", err);
	for (size_t i = 0; i < r->tables.locations.at[place].n; i++)
		gpc_try(gpc_draft_push(
			&r->draft,
			r->tables.frames.at[r->tables.locations.at[place].first_frame + i], err));
	return GPC_OK;
}

static gpc_status add_rows(struct reader *r, const struct labels *labels,
			   const struct gpc_pbread *at, struct gpc_err *err)
{
	uint64_t id, key;

	gpc_try(gpc_draft_process(&r->draft, &labels->process, &id, err));
	key = gpc_key(id, labels->tid);
	if (labels->tid && labels->thread &&
	    !gpc_u64map_set(&r->draft.threads, key, labels->thread))
		return gpc_err_nomem(err);
	if (labels->tid)
		r->draft.wants |= GPC_WANT_THREADS;
	for (size_t i = 0; i < r->values.list.n; i++) {
		int64_t value = (int64_t)r->values.list.at[i];

		if (value < 0)
			return expected(at, "values that are not negative", err);
		if (r->event_of.at[i] >= 0)
			gpc_try(gpc_draft_row(&r->draft, (size_t)r->event_of.at[i], key,
					      (uint64_t)value, err));
	}
	return GPC_OK;
}

static gpc_status add_sample(struct reader *r, struct gpc_pbread part, struct gpc_err *err)
{
	struct labels labels = {0};

	gpc_try(read_sample(r, part, &labels, err));
	if (r->values.list.n != r->event_of.n)
		return expected(&part, "one value for each sample type", err);
	if (!labels.process.comm)
		labels.process.comm = r->comm;
	r->draft.stack.n = 0;
	for (size_t i = 0; i < r->locations.list.n; i++)
		gpc_try(push_location(r, r->locations.list.at[i], &part, err));
	return add_rows(r, &labels, &part, err);
}

static gpc_status add_samples(struct reader *r, struct gpc_pbread file, struct gpc_err *err)
{
	struct gpc_pbread part;
	struct gpc_pbfield f;
	gpc_status st;

	while ((st = gpc_pbread_next(&file, &f, err)) > 0) {
		if (f.number != GPC_PPROF_SAMPLE)
			continue;
		gpc_try(gpc_pbfield_part(&f, &part, err));
		gpc_try(add_sample(r, part, err));
	}
	return st;
}

/* ---- the profile ------------------------------------------------------------------- */

/* Ours have the header; a foreign file says at least how often
 * it sampled. */
static gpc_status read_header(struct reader *r, struct gpc_err *err)
{
	const struct gpc_pprof_tables *t = &r->tables;
	uint64_t period = t->numbers[GPC_PPROF_PERIOD];
	char text[160];
	int n;

	if (t->header.n)
		return gpc_draft_header(&r->draft, t->header, err);
	if (!gpc_pprof_is(t, t->period.unit, "nanoseconds") || !period || period > GPC_SECOND_NS)
		return GPC_OK;
	n = snprintf(text, sizeof text,
		     "{\"sampling_event\": \"cpu-time\", \"sampling_mode\": \"frequency\", "
		     "\"sampling_frequency\": %llu}",
		     (unsigned long long)((GPC_SECOND_NS + period / 2) / period));
	return gpc_draft_header(&r->draft, (struct gpc_draft_text){text, (size_t)n}, err);
}

static void read_span(struct reader *r)
{
	const uint64_t *numbers = r->tables.numbers;
	struct gpc_profile_span *span = &r->draft.span;

	if (numbers[GPC_PPROF_DURATION_NS] <= INT64_MAX)
		span->duration_ns = numbers[GPC_PPROF_DURATION_NS];
	span->begin_unix_ns = (int64_t)numbers[GPC_PPROF_TIME_NS];
	if (__builtin_add_overflow(span->begin_unix_ns, (int64_t)span->duration_ns,
				   &span->end_unix_ns))
		span->end_unix_ns = span->begin_unix_ns;
}

/* Without a label the process is called as its program. */
static gpc_status find_comm(struct reader *r, struct gpc_err *err)
{
	const struct gpc_pprof_tables *t = &r->tables;
	struct gpc_draft_text file = {"[unknown]", 9};

	if (t->mappings.n)
		file = gpc_pprof_base_name(gpc_pprof_text(t, t->mappings.at[0].file));
	return gpc_draft_str(&r->draft, file, &r->comm, err);
}

static gpc_status read_profile(struct reader *r, struct gpc_pbread file, struct gpc_profile **ret,
			       struct gpc_err *err)
{
	gpc_try(gpc_draft_init(&r->draft, err));
	gpc_try(gpc_pprof_tables_read(&r->tables, file, &r->draft, err));
	gpc_try(read_header(r, err));
	read_span(r);
	gpc_try(find_comm(r, err));
	gpc_try(add_events(r, err));
	gpc_try(add_samples(r, file, err));
	return gpc_draft_finish(&r->draft, ret, err);
}

gpc_status gpc_decode_pprof(const char *bytes, size_t n, struct gpc_profile **ret,
			    struct gpc_err *err)
{
	autocall(reader_deinit) struct reader r = {0};
	autofree char *plain = NULL;

	if (n > 1 && memcmp(bytes, "\x1f\x8b", 2) == 0) {
		gpc_try(gpc_inflate(bytes, n, GPC_DECODE_INFLATED_MAX, &plain, &n, err));
		bytes = plain;
	}
	if (!n)
		return gpc_err_set(err, GPC_E_CORRUPT, "byte 0: expected a profile, not nothing");
	return read_profile(&r, gpc_pbread_of(bytes, n), ret, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The Firefox Profiler's processed format, version 60: what threads share comes
 * last, when all of it is known. Threads need their rows together, so rows are
 * put in order by their place first (16 bytes a row). */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/map.h"
#include "encode/encode.h"
#include "encode/firefox_tables.h"
#include "encode/text.h"

struct place {
	uint32_t process, thread; /* numbers in order of appearance */
	uint64_t cursor;
};

struct writer {
	struct gpc_out *out;
	const struct gpc_profile *profile;
	struct gpc_firefox_tables tables;
	vec(struct place) places;
	struct gpc_u64map processes, threads; /* process, its threads -> number */
	struct gpc_u64map pids;               /* pid -> images seen so far */
	double duration_ms;
	bool is_short_of_memory;
};

static uint32_t number_in(struct writer *w, struct gpc_u64map *map, uint64_t key)
{
	uint64_t number = map->n;

	if (!gpc_u64map_get(map, key, &number) && !gpc_u64map_set(map, key, number))
		w->is_short_of_memory = true;
	return (uint32_t)number;
}

static int compare_places(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->cursor < y->cursor ? -1 : x->cursor > y->cursor;
}

/* Only the first event: a thread has one kind of samples. */
static void find_places(struct writer *w)
{
	struct gpc_stack stack = {.struct_size = sizeof stack};
	uint64_t cursor = 0, next = 0;

	while (!w->is_short_of_memory && gpc_profile_next(w->profile, &next, &stack) &&
	       stack.event == 0) {
		struct place place = {.cursor = cursor};

		place.process = number_in(w, &w->processes, stack.process);
		place.thread = number_in(w, &w->threads, gpc_key(place.process, stack.tid));
		if (!vec_push(&w->places, place))
			w->is_short_of_memory = true;
		cursor = next;
	}
	if (w->places.n)
		qsort(w->places.at, w->places.n, sizeof *w->places.at, compare_places);
}

static void read_row(const struct writer *w, size_t i, struct gpc_stack *ret)
{
	uint64_t cursor = w->places.at[i].cursor;

	*ret = (struct gpc_stack){.struct_size = sizeof *ret};
	gpc_profile_next(w->profile, &cursor, ret);
}

/* ---- a thread --------------------------------------------------------------------- */

static void put_real(struct gpc_out *o, double value)
{
	char text[64];

	if (!(value > 0)) /* a file may say that it was before 1970 */
		value = 0;
	/* The decimal sign must not follow the embedder's locale. */
	snprintf(text, sizeof text, "%" PRIu64 ".%03u", (uint64_t)value,
		 (unsigned)((value - (double)(uint64_t)value) * 1000));
	gpc_out_text(o, text);
}

static void put_separator(struct writer *w, bool is_first)
{
	if (!is_first)
		gpc_out_bytes(w->out, ",", 1);
}

static void put_stacks(struct writer *w, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++) {
		struct gpc_stack stack;

		read_row(w, i, &stack);
		put_separator(w, i == from);
		gpc_out_u64(w->out, gpc_firefox_stack(&w->tables, &stack));
	}
}

/* When a stack was seen is not known: they are spread evenly. */
static void put_times(struct writer *w, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++) {
		put_separator(w, i == from);
		put_real(w->out, w->duration_ms * ((double)(i - from) + 0.5) / (double)(to - from));
	}
}

static void put_weights(struct writer *w, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++) {
		struct gpc_stack stack;

		read_row(w, i, &stack);
		put_separator(w, i == from);
		gpc_out_u64(w->out, stack.value);
	}
}

static void put_samples(struct writer *w, size_t from, size_t to)
{
	gpc_out_text(w->out, "\"samples\":{\"stack\":[");
	put_stacks(w, from, to);
	gpc_out_text(w->out, "],\n\"time\":[");
	put_times(w, from, to);
	gpc_out_text(w->out, "],\n\"weight\":[");
	put_weights(w, from, to);
	gpc_out_text(w->out, "],\"weightType\":\"samples\",\"length\":");
	gpc_out_u64(w->out, to - from);
	gpc_out_text(w->out, "}");
}

/* Images of one pid are processes of their own. */
static void make_pid(struct writer *w, const struct gpc_stack *s, bool is_first, char ret[32])
{
	uint64_t images = 0, pid = (uint32_t)s->pid;

	gpc_u64map_get(&w->pids, pid, &images);
	images += is_first;
	if (!gpc_u64map_set(&w->pids, pid, images))
		w->is_short_of_memory = true;
	if (images > 1)
		snprintf(ret, 32, "%" PRIi32 ".%" PRIu64, s->pid, images - 1);
	else
		snprintf(ret, 32, "%" PRIi32, s->pid);
}

static void put_member(struct writer *w, const char *key, const char *value)
{
	gpc_out_json(w->out, key);
	gpc_out_bytes(w->out, ":", 1);
	gpc_out_json(w->out, value);
	gpc_out_bytes(w->out, ",", 1);
}

static void put_process_name(struct writer *w, const struct gpc_stack *s)
{
	gpc_out_text(w->out, "\"processName\":\"");
	gpc_out_json_text(w->out, *s->comm ? s->comm : "[unknown]");
	if (*s->container) {
		gpc_out_text(w->out, " (");
		gpc_out_json_text(w->out, s->container);
		gpc_out_text(w->out, ")");
	}
	gpc_out_text(w->out, "\",");
}

static void put_thread(struct writer *w, size_t from, size_t to)
{
	bool is_first = !from || w->places.at[from].process != w->places.at[from - 1].process;
	struct gpc_stack stack;
	char pid[32];

	read_row(w, from, &stack);
	make_pid(w, &stack, is_first, pid);
	gpc_out_text(w->out, from ? ",\n{" : "{");
	put_member(w, "processType", "default");
	put_process_name(w, &stack);
	put_member(w, "name",
		   *stack.thread ? stack.thread
		   : *stack.comm ? stack.comm
				 : "[unknown]");
	put_member(w, "pid", pid);
	gpc_out_text(w->out, "\"tid\":");
	gpc_out_u64(w->out, stack.tid ? (uint32_t)stack.tid : (uint32_t)stack.pid);
	gpc_out_text(w->out, is_first ? ",\"isMainThread\":true" : ",\"isMainThread\":false");
	gpc_out_text(w->out, ",\"processStartupTime\":0,\"processShutdownTime\":null,"
			     "\"registerTime\":0,\"unregisterTime\":null,\"pausedRanges\":[],"
			     "\"markers\":{\"data\":[],\"name\":[],\"startTime\":[],\"endTime\":[],"
			     "\"phase\":[],\"category\":[],\"length\":0},\n");
	put_samples(w, from, to);
	gpc_out_text(w->out, "}");
}

static void put_threads(struct writer *w)
{
	const struct place *at = w->places.at;
	size_t n = w->places.n;

	gpc_out_text(w->out, "\"threads\":[");
	for (size_t from = 0, to; from < n && w->out->status >= 0; from = to) {
		for (to = from; to < n && at[to].process == at[from].process &&
				at[to].thread == at[from].thread;)
			to++;
		put_thread(w, from, to);
	}
	gpc_out_text(w->out, "]");
}

/* ---- the file ------------------------------------------------------------------------ */

static void drop(json_t **json)
{
	json_decref(*json);
}

static void put_meta(struct writer *w, const struct gpc_profile_info *info)
{
	autocall(drop) json_t *header = json_loads(info->header, JSON_ALLOW_NUL, NULL);
	json_int_t hz = json_integer_value(json_object_get(header, "sampling_frequency"));
	const char *host =
		json_string_value(json_object_get(json_object_get(header, "metadata"), "hostname"));

	gpc_out_text(w->out, "\"meta\":{\"version\":31,\"preprocessedProfileVersion\":60,"
			     "\"processType\":0,\"stackwalk\":1,\"debug\":false,"
			     "\"symbolicated\":true,\"usesOnlyOneStackType\":true,"
			     "\"sourceCodeIsNotOnSearchfox\":true,\"markerSchema\":[],");
	put_member(w, "product", host && *host ? host : "gprofiler-core");
	put_member(w, "importedFrom", "gprofiler-core " GPC_VERSION);
	gpc_out_text(w->out, "\"interval\":");
	put_real(w->out, hz > 0 ? 1000.0 / (double)hz : 1);
	gpc_out_text(w->out, ",\"startTime\":");
	put_real(w->out, (double)info->begin_unix_ns / 1e6);
	gpc_out_text(w->out, ",\"profilingStartTime\":0,\"profilingEndTime\":");
	put_real(w->out, w->duration_ms);
	gpc_out_text(w->out, ",\"categories\":");
	gpc_firefox_put_categories(w->out);
	gpc_out_text(w->out, "}");
}

static void put_file(struct writer *w)
{
	struct gpc_profile_info info = {.struct_size = sizeof info};

	gpc_profile_info(w->profile, &info);
	w->duration_ms = (double)info.duration_ns / 1e6;
	find_places(w);
	gpc_out_text(w->out, "{");
	put_meta(w, &info);
	gpc_out_text(w->out, ",\n");
	put_threads(w);
	gpc_out_text(w->out, ",\n");
	gpc_firefox_put_tables(&w->tables, w->out);
	gpc_out_text(w->out, "}\n");
}

static void writer_deinit(struct writer *w)
{
	gpc_firefox_tables_deinit(&w->tables);
	vec_deinit(&w->places);
	gpc_u64map_deinit(&w->processes);
	gpc_u64map_deinit(&w->threads);
	gpc_u64map_deinit(&w->pids);
}

gpc_status gpc_encode_firefox(const struct gpc_profile *p, gpc_out_fn out, void *ctx)
{
	autofree struct gpc_out *o = malloc(sizeof *o);
	autocall(writer_deinit) struct writer w = {.out = o, .profile = p};

	if (!o || !gpc_firefox_tables_init(&w.tables, p))
		return GPC_E_NOMEM;
	gpc_out_init(o, out, ctx);
	put_file(&w);
	if (w.is_short_of_memory || w.tables.is_short_of_memory)
		return GPC_E_NOMEM;
	return gpc_out_flush(o);
}

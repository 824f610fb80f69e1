/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/profile.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/vec.h"

/* A cursor of next(): the event above, the row below. */
#define ROW_BITS 40

struct process {
	gpc_str comm, container, appid;
	gpc_str pod, pod_namespace, container_id;
	int32_t pid;
	uint32_t metadata;
};

struct event {
	gpc_str name, unit;
	struct gpc_stacks *stacks;
};

struct gpc_profile {
	atomic_uint refs;
	struct gpc_names *names;
	/* Texts of processes and threads. They go with the profile: on a machine
	 * where processes with ever new names come and go, names would keep them. */
	struct gpc_names *labels;
	struct gpc_profile_span span;
	vec(struct process) processes;
	struct gpc_u64map index;   /* process id -> place in processes */
	struct gpc_u64map threads; /* key -> name */
	uint32_t wants;
	vec(struct event) events;
	char *header;
	bool prefix_index, prefix_container;
};

static gpc_status intern(struct gpc_profile *p, const char *text, gpc_str *ret, struct gpc_err *err)
{
	size_t len = text ? strlen(text) : 0;

	*ret = len ? gpc_names_str(p->labels, text, len) : 0;
	return len && !*ret ? gpc_err_nomem(err) : GPC_OK;
}

static const char *text_of(const struct gpc_profile *p, gpc_str s)
{
	return gpc_names_text(p->labels, s, NULL);
}

/* The caller's struct may be older or newer than ours. */
static void fill(void *ret, const void *from, size_t size)
{
	uint32_t theirs;

	memcpy(&theirs, ret, sizeof theirs);
	if (theirs < size)
		size = theirs;
	if (size > sizeof theirs)
		memcpy((char *)ret + sizeof theirs, (const char *)from + sizeof theirs,
		       size - sizeof theirs);
}

static gpc_status check_rows(const struct gpc_profile *p, const struct gpc_stacks *stacks,
			     struct gpc_err *err)
{
	uint64_t place;

	for (size_t i = 0; i < gpc_stacks_rows(stacks); i++) {
		uint64_t process = gpc_key_process(gpc_stacks_row(stacks, i).process);

		if (!gpc_u64map_get(&p->index, process, &place))
			return gpc_err_set(err, GPC_E_INTERNAL, "stacks of unknown process %llu",
					   (unsigned long long)process);
	}
	return GPC_OK;
}

static void fill_stack(const struct gpc_profile *p, uint32_t event, const struct gpc_stack_row *row,
		       struct gpc_stack *ret)
{
	struct gpc_stack stack = {.n_frames = row->n_frames,
				  .frames = row->frames,
				  .value = row->value,
				  .event = event,
				  .process = gpc_key_process(row->process),
				  .tid = gpc_key_tid(row->process)};
	const struct process *process;
	uint64_t place = 0, thread = 0;

	gpc_u64map_get(&p->index, stack.process, &place);
	if (stack.tid)
		gpc_u64map_get(&p->threads, row->process, &thread);
	process = &p->processes.at[place];
	stack.pid = process->pid;
	stack.comm = text_of(p, process->comm);
	stack.container = text_of(p, process->container);
	stack.appid = text_of(p, process->appid);
	stack.metadata = process->metadata;
	stack.pod = text_of(p, process->pod);
	stack.pod_namespace = text_of(p, process->pod_namespace);
	stack.container_id = text_of(p, process->container_id);
	stack.thread = text_of(p, (gpc_str)thread);
	fill(ret, &stack, sizeof stack);
}

static void free_stacks(struct gpc_stacks **s)
{
	gpc_stacks_free(*s);
}

gpc_status gpc_profile_new(struct gpc_names *names, const struct gpc_profile_span *span,
			   struct gpc_profile **ret, struct gpc_err *err)
{
	struct gpc_profile *p = calloc(1, sizeof *p);

	if (p)
		p->labels = gpc_names_new(0);
	if (!p || !p->labels) {
		free(p);
		return gpc_err_nomem(err);
	}
	atomic_init(&p->refs, 1);
	p->names = gpc_names_get(names);
	p->span = *span;
	p->prefix_index = p->prefix_container = true;
	*ret = p;
	return GPC_OK;
}

struct gpc_profile *gpc_profile_get(struct gpc_profile *p)
{
	atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
	return p;
}

void gpc_profile_put(struct gpc_profile *p)
{
	if (!p || atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) != 1)
		return;
	for (size_t i = 0; i < p->events.n; i++)
		gpc_stacks_free(p->events.at[i].stacks);
	vec_deinit(&p->events);
	vec_deinit(&p->processes);
	gpc_u64map_deinit(&p->index);
	gpc_u64map_deinit(&p->threads);
	free(p->header);
	gpc_names_put(p->labels);
	gpc_names_put(p->names);
	free(p);
}

gpc_status gpc_profile_add_process(struct gpc_profile *p, const struct gpc_profile_process *proc,
				   struct gpc_err *err)
{
	struct process process = {.pid = proc->pid, .metadata = proc->metadata};
	uint64_t place;

	if (gpc_u64map_get(&p->index, proc->id, &place))
		return gpc_err_set(err, GPC_E_INTERNAL, "process %llu is there already",
				   (unsigned long long)proc->id);
	gpc_try(intern(p, proc->comm, &process.comm, err));
	gpc_try(intern(p, proc->container, &process.container, err));
	gpc_try(intern(p, proc->appid, &process.appid, err));
	gpc_try(intern(p, proc->pod, &process.pod, err));
	gpc_try(intern(p, proc->pod_namespace, &process.pod_namespace, err));
	gpc_try(intern(p, proc->container_id, &process.container_id, err));
	if (!vec_reserve(&p->processes, 1) || !gpc_u64map_set(&p->index, proc->id, p->processes.n))
		return gpc_err_nomem(err);
	p->processes.at[p->processes.n++] = process;
	return GPC_OK;
}

gpc_status gpc_profile_add_event(struct gpc_profile *p, const char *name, const char *unit,
				 struct gpc_stacks *stacks, struct gpc_err *err)
{
	autocall(free_stacks) struct gpc_stacks *taken = stacks;
	struct event event = {0};

	gpc_try(check_rows(p, stacks, err));
	gpc_try(intern(p, name, &event.name, err));
	gpc_try(intern(p, unit, &event.unit, err));
	if (!vec_reserve(&p->events, 1))
		return gpc_err_nomem(err);
	event.stacks = take(taken);
	p->events.at[p->events.n++] = event;
	return GPC_OK;
}

gpc_status gpc_profile_add_thread(struct gpc_profile *p, uint64_t key, const char *name,
				  struct gpc_err *err)
{
	gpc_str text;

	gpc_try(intern(p, name, &text, err));
	return gpc_u64map_set(&p->threads, key, text) ? GPC_OK : gpc_err_nomem(err);
}

gpc_status gpc_profile_set_header(struct gpc_profile *p, const char *json, struct gpc_err *err)
{
	char *copy;

	if (*json != '{' || strpbrk(json, "\r\n"))
		return gpc_err_set(err, GPC_E_CONFIG, "the header is no JSON object on one line");
	copy = strdup(json);
	if (!copy)
		return gpc_err_nomem(err);
	free(p->header);
	p->header = copy;
	return GPC_OK;
}

void gpc_profile_set_prefix(struct gpc_profile *p, bool metadata_index, bool container)
{
	p->prefix_index = metadata_index;
	p->prefix_container = container;
}

bool gpc_profile_prefix_index(const struct gpc_profile *p)
{
	return p->prefix_index;
}

bool gpc_profile_prefix_container(const struct gpc_profile *p)
{
	return p->prefix_container;
}

/* ---- without details --------------------------------------------------------- */

struct flattening {
	struct gpc_profile *from;
	struct gpc_u64map frames; /* frame -> its plain one */
	vec(gpc_frame) stack;
};

static void flattening_deinit(struct flattening *f)
{
	gpc_u64map_deinit(&f->frames);
	vec_deinit(&f->stack);
}

static gpc_frame plain_frame(struct flattening *f, gpc_frame frame)
{
	struct gpc_names *names = f->from->names;
	struct gpc_frame_entry entry;
	uint64_t plain = frame;

	if (gpc_u64map_get(&f->frames, frame, &plain))
		return plain;
	if (gpc_names_entry(names, frame, &entry) &&
	    (entry.address || entry.build_id || (!entry.suffix && entry.line))) {
		entry.address = 0;
		entry.build_id = 0;
		if (!entry.suffix) { /* of native code; with runtimes' frames they stay */
			entry.line = 0;
			entry.file = 0;
		}
		plain = gpc_names_frame(names, &entry);
	}
	/* Without memory for it the frame is looked up again. */
	gpc_u64map_set(&f->frames, frame, plain);
	return plain;
}

static gpc_status flatten(struct flattening *f, const struct gpc_stacks *stacks,
			  struct gpc_stacks *to, struct gpc_err *err)
{
	for (size_t i = 0; i < gpc_stacks_rows(stacks); i++) {
		struct gpc_stack_row row = gpc_stacks_row(stacks, i);

		f->stack.n = 0;
		if (!vec_reserve(&f->stack, row.n_frames))
			return gpc_err_nomem(err);
		for (uint32_t k = 0; k < row.n_frames; k++)
			f->stack.at[k] = plain_frame(f, row.frames[k]);
		if (gpc_stacks_add(to, gpc_key_process(row.process), f->stack.at, row.n_frames,
				   row.value) < 0)
			return gpc_err_nomem(err);
	}
	return GPC_OK;
}

static gpc_status add_flat_event(struct flattening *f, const struct event *event,
				 struct gpc_profile *to, struct gpc_err *err)
{
	autocall(free_stacks) struct gpc_stacks *stacks = NULL;

	gpc_try(gpc_stacks_new(0, &stacks, err));
	gpc_try(flatten(f, event->stacks, stacks, err));
	return gpc_profile_add_event(to, text_of(f->from, event->name),
				     text_of(f->from, event->unit), take(stacks), err);
}

/* The same processes under the same numbers. */
static gpc_status copy_frame_of(const struct gpc_profile *from, struct gpc_profile *to,
				struct gpc_err *err)
{
	if (!vec_reserve(&to->processes, from->processes.n))
		return gpc_err_nomem(err);
	if (from->processes.n)
		memcpy(to->processes.at, from->processes.at,
		       from->processes.n * sizeof *from->processes.at);
	to->processes.n = from->processes.n;
	gpc_names_put(to->labels);
	to->labels = gpc_names_get(from->labels);
	for (size_t i = 0; i < from->index.room; i++) {
		const struct gpc_map_slot *slot = &from->index.slots[i];

		if (slot->value && !gpc_u64map_set(&to->index, slot->key, slot->value - 1))
			return gpc_err_nomem(err);
	}
	to->prefix_index = from->prefix_index;
	to->prefix_container = from->prefix_container;
	return from->header ? gpc_profile_set_header(to, from->header, err) : GPC_OK;
}

static void put_profile(struct gpc_profile **p)
{
	gpc_profile_put(*p);
}

void gpc_profile_set_wants(struct gpc_profile *p, uint32_t wants)
{
	p->wants = wants;
}

gpc_status gpc_profile_plain(struct gpc_profile *p, struct gpc_profile **ret, struct gpc_err *err)
{
	autocall(flattening_deinit) struct flattening f = {.from = p};
	autocall(put_profile) struct gpc_profile *to = NULL;

	if (!p->wants) {
		*ret = gpc_profile_get(p);
		return GPC_OK;
	}
	gpc_try(gpc_profile_new(p->names, &p->span, &to, err));
	gpc_try(copy_frame_of(p, to, err));
	for (size_t i = 0; i < p->events.n; i++)
		gpc_try(add_flat_event(&f, &p->events.at[i], to, err));
	*ret = take(to);
	return GPC_OK;
}

/* ---- reading ------------------------------------------------------------------ */

void gpc_profile_info(const struct gpc_profile *p, struct gpc_profile_info *ret)
{
	struct gpc_profile_info info = {
		.seq = p->span.seq,
		.begin_unix_ns = p->span.begin_unix_ns,
		.end_unix_ns = p->span.end_unix_ns,
		.duration_ns = p->span.duration_ns,
		.n_events = (uint32_t)p->events.n,
		.n_processes = (uint32_t)p->processes.n,
		.samples = p->events.n ? gpc_stacks_total(p->events.at[0].stacks) : 0,
		.header = p->header ? p->header : "{}",
	};

	fill(ret, &info, sizeof info);
}

int32_t gpc_profile_frame(const struct gpc_profile *p, gpc_frame f, struct gpc_frame_text *ret)
{
	struct gpc_frame_text text;

	if (!gpc_names_frame_text(p->names, f, &text))
		return 0;
	fill(ret, &text, sizeof text);
	return 1;
}

int32_t gpc_profile_event(const struct gpc_profile *p, uint32_t index, struct gpc_event *ret)
{
	struct gpc_event event = {.id = (uint16_t)index};

	if (index >= p->events.n)
		return 0;
	event.name = text_of(p, p->events.at[index].name);
	event.unit = text_of(p, p->events.at[index].unit);
	fill(ret, &event, sizeof event);
	return 1;
}

int32_t gpc_profile_next(const struct gpc_profile *p, uint64_t *cursor, struct gpc_stack *ret)
{
	uint64_t event = *cursor >> ROW_BITS, i = *cursor & ((UINT64_C(1) << ROW_BITS) - 1);
	struct gpc_stack_row row;

	while (event < p->events.n && i >= gpc_stacks_rows(p->events.at[event].stacks)) {
		event++;
		i = 0;
	}
	if (event >= p->events.n)
		return 0;
	row = gpc_stacks_row(p->events.at[event].stacks, i);
	*cursor = event << ROW_BITS | (i + 1);
	fill_stack(p, (uint32_t)event, &row, ret);
	return 1;
}

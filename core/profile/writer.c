/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/writer.h"

#include <stdlib.h>
#include <string.h>

#define BATCH_BYTES   ((size_t)32 * 1024)
#define LARGEST_BATCH ((size_t)1024 * 1024) /* a record of 65,535 frames fits */

struct gpc_batch_writer {
	struct gpc_writer base;
	struct gpc_names *names;
	gpc_str *suffixes;
	unsigned n_suffixes;
	uint8_t *batch; /* NULL until the first record */
	size_t room;
	uint64_t budget, used, refused; /* used: bytes handed on in this window */
	struct gpc_batch_sink sink;
};

static uint64_t budget_left(const struct gpc_batch_writer *w)
{
	if (!w->budget)
		return UINT64_MAX;
	return w->used < w->budget ? w->budget - w->used : 0;
}

/* An empty batch that ends where the budget does. */
static void start_batch(struct gpc_batch_writer *w)
{
	uint64_t left = budget_left(w);

	w->base.pos = w->base.end = w->batch;
	if (w->batch)
		w->base.end += left < w->room ? (size_t)left & ~(size_t)7 : w->room;
}

static gpc_status grow(struct gpc_batch_writer *w, size_t bytes)
{
	size_t room = w->room ? w->room : BATCH_BYTES;
	uint8_t *batch;

	while (room < bytes)
		room *= 2;
	if (room == w->room)
		return GPC_OK;
	batch = realloc(w->batch, room);
	if (!batch)
		return GPC_E_NOMEM;
	w->batch = batch;
	w->room = room;
	return GPC_OK;
}

static gpc_status room(struct gpc_writer *base, uint32_t bytes)
{
	struct gpc_batch_writer *w = base->impl;
	gpc_status st;

	gpc_batch_writer_flush(w);
	if (bytes > budget_left(w)) {
		w->refused++;
		return GPC_E_BUDGET;
	}
	if (bytes > LARGEST_BATCH)
		return GPC_E_BUDGET;
	st = grow(w, bytes);
	start_batch(w);
	return st;
}

static gpc_str str(struct gpc_writer *base, const char *s, uint32_t len)
{
	const struct gpc_batch_writer *w = base->impl;

	return gpc_names_collected_str(w->names, s, len);
}

static gpc_frame frame(struct gpc_writer *base, const struct gpc_frame_desc *f)
{
	const struct gpc_batch_writer *w = base->impl;
	struct gpc_frame_desc desc = {0};
	struct gpc_frame_entry entry = {0};

	memcpy(&desc, f, f->struct_size < sizeof desc ? f->struct_size : sizeof desc);
	entry.function = desc.function;
	entry.file = desc.file;
	entry.module = desc.module;
	entry.line = desc.line;
	entry.flags = desc.flags;
	if (desc.suffix && desc.suffix <= w->n_suffixes)
		entry.suffix = w->suffixes[desc.suffix - 1];
	return gpc_names_collected_frame(w->names, &entry);
}

static void set_names(struct gpc_batch_writer *w, struct gpc_names *names, const gpc_str *suffixes)
{
	struct gpc_names *old = w->names;

	w->names = gpc_names_get(names);
	gpc_names_put(old);
	if (w->n_suffixes)
		memcpy(w->suffixes, suffixes, w->n_suffixes * sizeof *suffixes);
	w->base.epoch = gpc_names_epoch(names);
}

gpc_status gpc_batch_writer_new(struct gpc_names *names, const gpc_str *suffixes,
				unsigned n_suffixes, uint64_t budget_bytes,
				const struct gpc_batch_sink *sink, struct gpc_batch_writer **ret,
				struct gpc_err *err)
{
	struct gpc_batch_writer *w = calloc(1, sizeof *w);

	if (!w)
		return gpc_err_nomem(err);
	w->suffixes = calloc(n_suffixes + 1, sizeof *w->suffixes);
	if (!w->suffixes) {
		free(w);
		return gpc_err_nomem(err);
	}
	w->n_suffixes = n_suffixes;
	w->budget = budget_bytes;
	w->sink = *sink;
	w->base = (struct gpc_writer){
		.struct_size = sizeof w->base, .impl = w, .room = room, .str = str, .frame = frame};
	set_names(w, names, suffixes);
	*ret = w;
	return GPC_OK;
}

void gpc_batch_writer_free(struct gpc_batch_writer *w)
{
	if (!w)
		return;
	gpc_names_put(w->names);
	free(w->suffixes);
	free(w->batch);
	free(w);
}

struct gpc_writer *gpc_batch_writer_get(struct gpc_batch_writer *w)
{
	return &w->base;
}

void gpc_batch_writer_flush(struct gpc_batch_writer *w)
{
	size_t n = w->batch ? (size_t)(w->base.pos - w->batch) : 0;

	if (n && n <= w->room) {
		w->used += n;
		w->sink.batch(w->sink.ctx, w->batch, n);
	}
	start_batch(w);
}

void gpc_batch_writer_window(struct gpc_batch_writer *w, struct gpc_names *names,
			     const gpc_str *suffixes)
{
	gpc_batch_writer_flush(w);
	w->used = w->refused = 0;
	set_names(w, names, suffixes);
	start_batch(w);
}

uint64_t gpc_batch_writer_refused(const struct gpc_batch_writer *w)
{
	return w->refused;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/stacks.h"

#include <string.h>

#include "base/map.h"
#include "base/vec.h"

#define CHUNK_SMALLEST ((size_t)4 * 1024)
#define CHUNK_LARGEST  ((size_t)256 * 1024)

/* A row and its frames lie together: a known stack costs one cache miss to
 * compare. Rows never move. */
struct row {
	uint64_t process, value;
	uint32_t n_frames;
	gpc_frame frames[];
};

struct chunk {
	char *mem;
	size_t used, room;
};

struct gpc_stacks {
	size_t max_bytes, chunk_bytes;
	uint64_t total, overflow;
	vec(struct chunk) chunks;
	size_t current; /* chunk that is being filled; those after it are empty */
	vec(struct row *) rows;
	struct gpc_u64map index; /* hash -> address of the row */
};

static uint64_t add_saturating(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t hash_stack(uint64_t process, const gpc_frame *frames, uint32_t n_frames)
{
	uint64_t hash = n_frames ? gpc_hash(frames, n_frames * sizeof *frames) : 0;

	return hash ^ ((process + 1) * UINT64_C(0xD6E8FEB86659FD93));
}

static struct row *find_row(const struct gpc_stacks *s, uint64_t hash,
			    const struct gpc_stack_row *want)
{
	uint64_t cursor = 0, at;

	while (gpc_u64map_probe(&s->index, hash, &cursor, &at)) {
		struct row *row = (struct row *)(uintptr_t)at;

		if (row->process == want->process && row->n_frames == want->n_frames &&
		    (!want->n_frames ||
		     memcmp(row->frames, want->frames, want->n_frames * sizeof *want->frames) == 0))
			return row;
	}
	return NULL;
}

static size_t bytes_of(const struct gpc_stacks *s)
{
	return sizeof *s + s->chunk_bytes + s->index.room * sizeof(struct gpc_map_slot) +
	       s->rows.room * sizeof *s->rows.at;
}

static bool fits(const struct gpc_stacks *s, size_t more)
{
	size_t bytes = bytes_of(s);

	return !s->max_bytes || (bytes <= s->max_bytes && more <= s->max_bytes - bytes);
}

/* Later chunks are larger, so that a small table stays small. The last one
 * takes what the cap leaves. */
static size_t chunk_size(const struct gpc_stacks *s, size_t need)
{
	size_t size = s->chunks.n ? s->chunks.at[s->chunks.n - 1].room * 2 : CHUNK_SMALLEST;

	if (size > CHUNK_LARGEST)
		size = CHUNK_LARGEST;
	if (size < need)
		size = need;
	if (!fits(s, size) && fits(s, need))
		size = s->max_bytes - bytes_of(s);
	return size & ~(size_t)7;
}

/* The next chunk with room for need bytes becomes the current one. */
static gpc_status next_chunk(struct gpc_stacks *s, size_t need, bool over_cap)
{
	struct chunk chunk = {0};

	while (s->current + 1 < s->chunks.n)
		if (s->chunks.at[++s->current].room >= need)
			return GPC_OK;
	chunk.room = over_cap && !fits(s, need) ? CHUNK_SMALLEST : chunk_size(s, need);
	if (!over_cap && !fits(s, chunk.room))
		return GPC_E_BUDGET;
	chunk.mem = malloc(chunk.room);
	if (!chunk.mem)
		return GPC_E_NOMEM;
	if (!vec_push(&s->chunks, chunk)) {
		free(chunk.mem);
		return GPC_E_NOMEM;
	}
	s->chunk_bytes += chunk.room;
	s->current = s->chunks.n - 1;
	return GPC_OK;
}

static gpc_status alloc_row(struct gpc_stacks *s, size_t size, bool over_cap, struct row **ret)
{
	struct chunk *chunk = s->chunks.n ? &s->chunks.at[s->current] : NULL;

	if (!chunk || chunk->room - chunk->used < size) {
		gpc_try(next_chunk(s, size, over_cap));
		chunk = &s->chunks.at[s->current];
	}
	*ret = (struct row *)(void *)(chunk->mem + chunk->used);
	chunk->used += size;
	return GPC_OK;
}

/* Bytes that the index and the list of rows will grow by for one more row. */
static size_t growth(const struct gpc_stacks *s)
{
	size_t more = 0;

	if (s->index.n * 4 >= s->index.room * 3)
		more += (s->index.room ? s->index.room : 16) * sizeof(struct gpc_map_slot);
	if (s->rows.n == s->rows.room)
		more += (s->rows.room / 2 + 4) * sizeof *s->rows.at;
	return more;
}

static gpc_status add_row(struct gpc_stacks *s, uint64_t hash, const struct gpc_stack_row *want,
			  bool over_cap)
{
	size_t frames_bytes = want->n_frames * sizeof *want->frames;
	struct row *row;

	if (!over_cap && !fits(s, growth(s)))
		return GPC_E_BUDGET;
	gpc_try(alloc_row(s, sizeof *row + frames_bytes, over_cap, &row));
	if (!vec_reserve(&s->rows, 1) || !gpc_u64map_add(&s->index, hash, (uint64_t)(uintptr_t)row))
		return GPC_E_NOMEM; /* the bytes in the chunk stay unused */
	*row = (struct row){.process = want->process,
			    .value = want->value,
			    .n_frames = want->n_frames};
	if (frames_bytes)
		memcpy(row->frames, want->frames, frames_bytes);
	s->rows.at[s->rows.n++] = row;
	return GPC_OK;
}

static gpc_status add_stack(struct gpc_stacks *s, const struct gpc_stack_row *want, bool over_cap)
{
	uint64_t hash = hash_stack(want->process, want->frames, want->n_frames);
	struct row *row = find_row(s, hash, want);

	if (row)
		row->value = add_saturating(row->value, want->value);
	else
		gpc_try(add_row(s, hash, want, over_cap));
	s->total = add_saturating(s->total, want->value);
	return GPC_OK;
}

gpc_status gpc_stacks_new(size_t max_bytes, struct gpc_stacks **ret, struct gpc_err *err)
{
	struct gpc_stacks *s = calloc(1, sizeof *s);

	if (!s)
		return gpc_err_nomem(err);
	s->max_bytes = max_bytes;
	*ret = s;
	return GPC_OK;
}

void gpc_stacks_free(struct gpc_stacks *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->chunks.n; i++)
		free(s->chunks.at[i].mem);
	vec_deinit(&s->chunks);
	vec_deinit(&s->rows);
	gpc_u64map_deinit(&s->index);
	free(s);
}

void gpc_stacks_reset(struct gpc_stacks *s, size_t keep_bytes)
{
	size_t kept = 0;

	s->chunk_bytes = 0;
	gpc_u64map_clear(&s->index);
	s->rows.n = 0;
	if (bytes_of(s) > keep_bytes) {
		gpc_u64map_deinit(&s->index);
		vec_deinit(&s->rows);
	}
	for (size_t i = 0; i < s->chunks.n; i++) {
		struct chunk chunk = s->chunks.at[i];

		if (bytes_of(s) + chunk.room > keep_bytes) {
			free(chunk.mem);
			continue;
		}
		s->chunk_bytes += chunk.room;
		chunk.used = 0;
		s->chunks.at[kept++] = chunk;
	}
	s->chunks.n = kept;
	s->current = 0;
	s->total = s->overflow = 0;
}

gpc_status gpc_stacks_add(struct gpc_stacks *s, uint64_t process, const gpc_frame *frames,
			  uint32_t n_frames, uint64_t value)
{
	struct gpc_stack_row want = {process, frames, n_frames, value};
	gpc_status st;

	if (!value)
		return GPC_OK;
	st = add_stack(s, &want, false);
	if (st != GPC_E_BUDGET)
		return st;
	want.process = gpc_key_process(process);
	want.frames = NULL;
	want.n_frames = 0;
	gpc_try(add_stack(s, &want, true));
	s->overflow = add_saturating(s->overflow, value);
	return GPC_E_BUDGET;
}

size_t gpc_stacks_rows(const struct gpc_stacks *s)
{
	return s->rows.n;
}

struct gpc_stack_row gpc_stacks_row(const struct gpc_stacks *s, size_t index)
{
	const struct row *row = s->rows.at[index];

	return (struct gpc_stack_row){row->process, row->frames, row->n_frames, row->value};
}

size_t gpc_stacks_bytes(const struct gpc_stacks *s)
{
	return bytes_of(s);
}

uint64_t gpc_stacks_total(const struct gpc_stacks *s)
{
	return s->total;
}

uint64_t gpc_stacks_overflow(const struct gpc_stacks *s)
{
	return s->overflow;
}

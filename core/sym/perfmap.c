/* SPDX-License-Identifier: Apache-2.0 */
#include "sym/perfmap.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/vec.h"

#define CHUNK     65536
#define MAX_NAMES UINT32_MAX

/* Code that was written to several times is described by several lines: the
 * entries are cut so that none overlaps another. */
struct entry {
	uint64_t start;
	uint32_t size, name;
};

struct gpc_perfmap {
	vec(struct entry) entries; /* by start */
	vec(char) names;
};

struct line {
	uint64_t start, end;
	uint32_t name, order; /* larger: newer */
};

struct reader {
	vec(struct line) lines;
	vec(char) names;
	bool no_memory;
};

static void reader_deinit(struct reader *r)
{
	vec_deinit(&r->lines);
	vec_deinit(&r->names);
}

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 32;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* A number and the blanks after it; NULL when there is none. */
static const char *read_hex(const char *at, const char *end, uint64_t *ret)
{
	const char *first;

	if (end - at > 2 && at[0] == '0' && (at[1] | 32) == 'x')
		at += 2;
	first = at;
	for (*ret = 0; at < end && digit_of(*at) >= 0; at++)
		*ret = *ret << 4 | (unsigned)digit_of(*at);
	if (at == first || at - first > 16 || at == end || *at != ' ')
		return NULL;
	while (at < end && *at == ' ')
		at++;
	return at;
}

/* False: no memory. Lines that are none are left out. */
static bool read_line(struct reader *r, const char *at, const char *end)
{
	struct line line = {.order = (uint32_t)r->lines.n};
	uint64_t size;
	size_t n;

	if (at < end && end[-1] == '\r')
		end--;
	if (!(at = read_hex(at, end, &line.start)) || !(at = read_hex(at, end, &size)))
		return true;
	n = strnlen(at, (size_t)(end - at));
	if (!n || !size || r->names.n + n + 1 > MAX_NAMES || r->lines.n == UINT32_MAX)
		return true;
	if (size > UINT32_MAX)
		size = UINT32_MAX;
	line.end = line.start + size < line.start ? UINT64_MAX : line.start + size;
	if (!vec_reserve(&r->names, n + 1))
		return false;
	line.name = (uint32_t)r->names.n;
	memcpy(r->names.at + r->names.n, at, n);
	r->names.at[r->names.n + n] = '\0';
	r->names.n += n + 1;
	return vec_push(&r->lines, line);
}

/* Reads the whole lines of text; returns how much that was. */
static size_t read_lines(struct reader *r, const char *text, size_t n)
{
	const char *at = text, *end;

	while (!r->no_memory && n && (end = memchr(at, '\n', n - (size_t)(at - text)))) {
		r->no_memory = !read_line(r, at, end);
		at = end + 1;
	}
	return (size_t)(at - text);
}

static int by_start(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

/* The lines that cover the place where the sweep is, newest first: a heap. */
struct heap {
	const struct line **at;
	size_t n;
};

static void swap(struct heap *h, size_t a, size_t b)
{
	const struct line *kept = h->at[a];

	h->at[a] = h->at[b];
	h->at[b] = kept;
}

static void heap_push(struct heap *h, const struct line *line)
{
	size_t i = h->n++;

	h->at[i] = line;
	for (; i && h->at[(i - 1) / 2]->order < h->at[i]->order; i = (i - 1) / 2)
		swap(h, i, (i - 1) / 2);
}

static void heap_pop(struct heap *h)
{
	size_t i = 0;

	h->at[0] = h->at[--h->n];
	for (;;) {
		size_t newest = i;

		for (size_t child = 2 * i + 1; child <= 2 * i + 2 && child < h->n; child++)
			if (h->at[child]->order > h->at[newest]->order)
				newest = child;
		if (newest == i)
			return;
		swap(h, i, newest);
		i = newest;
	}
}

/* Adds [start, end) of line, joined to what it continues. */
static bool add_piece(struct gpc_perfmap *map, const struct line *line, uint64_t start,
		      uint64_t end)
{
	struct entry *last = map->entries.n ? &map->entries.at[map->entries.n - 1] : NULL;
	struct entry piece = {start, (uint32_t)(end - start), line->name};

	if (last && last->name == line->name && last->start + last->size == start) {
		last->size += piece.size;
		return true;
	}
	return vec_push(&map->entries, piece);
}

/* Sweeps over the lines from low to high addresses: the newest one that covers
 * a place owns it, up to where it ends or another line begins. */
static bool cut(struct gpc_perfmap *map, const struct reader *r, struct heap *heap)
{
	size_t next = 0;
	uint64_t at = 0;

	while (next < r->lines.n || heap->n) {
		uint64_t stop;

		if (!heap->n)
			at = r->lines.at[next].start;
		while (next < r->lines.n && r->lines.at[next].start <= at)
			heap_push(heap, &r->lines.at[next++]);
		while (heap->n && heap->at[0]->end <= at)
			heap_pop(heap);
		if (!heap->n)
			continue;
		stop = heap->at[0]->end;
		if (next < r->lines.n && r->lines.at[next].start < stop)
			stop = r->lines.at[next].start;
		if (!add_piece(map, heap->at[0], at, stop))
			return false;
		at = stop;
	}
	return true;
}

static gpc_status build(struct reader *r, struct gpc_perfmap **ret, struct gpc_err *err)
{
	struct gpc_perfmap *map = calloc(1, sizeof *map);
	autofree const struct line **room = malloc((r->lines.n + 1) * sizeof *room);
	struct heap heap = {room, 0};
	void *names;

	if (r->lines.n)
		qsort(r->lines.at, r->lines.n, sizeof *r->lines.at, by_start);
	if (r->no_memory || !map || !room || !cut(map, r, &heap)) {
		gpc_perfmap_free(map);
		return gpc_err_nomem(err);
	}
	names = r->names.n ? realloc(r->names.at, r->names.n) : NULL;
	map->names.at = names ? names : r->names.at;
	map->names.n = map->names.room = r->names.n;
	r->names.at = NULL;
	*ret = map;
	return GPC_OK;
}

/* Where to begin so that no more than max is read: the newest lines are last. */
static off_t first_offset(int fd, size_t max)
{
	struct stat st;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || (uint64_t)st.st_size <= max)
		return 0;
	return st.st_size - (off_t)max;
}

/* Reads what whole lines a chunk has; returns how much can be forgotten. Lines
 * longer than a chunk are skipped. */
static size_t consume(struct reader *r, const char *text, size_t n, bool *is_within_line)
{
	size_t used = 0;

	if (*is_within_line) {
		const char *end = memchr(text, '\n', n);

		if (!end)
			return n;
		used = (size_t)(end - text) + 1;
		*is_within_line = false;
	}
	used += read_lines(r, text + used, n - used);
	if (used || n < CHUNK)
		return used;
	*is_within_line = true;
	return n;
}

static gpc_status read_file(struct reader *r, int fd, size_t max, struct gpc_err *err)
{
	autofree char *text = malloc(CHUNK);
	off_t offset = first_offset(fd, max);
	bool is_within_line = offset > 0;
	size_t n = 0;

	if (!text)
		return gpc_err_nomem(err);
	while (max && !r->no_memory) {
		size_t want = max < CHUNK - n ? max : CHUNK - n, used;
		ssize_t got = pread(fd, text + n, want, offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return gpc_err_sys(err, "read");
		if (got == 0)
			break;
		max -= (size_t)got;
		offset += got;
		n += (size_t)got;
		used = consume(r, text, n, &is_within_line);
		memmove(text, text + used, n - used);
		n -= used;
	}
	return GPC_OK;
}

gpc_status gpc_perfmap_load(int fd, size_t max_bytes, struct gpc_perfmap **ret, struct gpc_err *err)
{
	struct reader autocall(reader_deinit) r = {0};

	gpc_try(read_file(&r, fd, max_bytes, err));
	return build(&r, ret, err);
}

gpc_status gpc_perfmap_parse(const char *text, size_t n, struct gpc_perfmap **ret,
			     struct gpc_err *err)
{
	struct reader autocall(reader_deinit) r = {0};

	read_lines(&r, text, n);
	return build(&r, ret, err);
}

void gpc_perfmap_free(struct gpc_perfmap *map)
{
	if (!map)
		return;
	vec_deinit(&map->entries);
	vec_deinit(&map->names);
	free(map);
}

const char *gpc_perfmap_find(const struct gpc_perfmap *map, uint64_t address)
{
	size_t low = 0, high = map->entries.n;
	const struct entry *e;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (map->entries.at[mid].start <= address)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low)
		return NULL;
	e = &map->entries.at[low - 1];
	return address - e->start < e->size ? map->names.at + e->name : NULL;
}

size_t gpc_perfmap_bytes(const struct gpc_perfmap *map)
{
	return sizeof *map + map->entries.room * sizeof *map->entries.at + map->names.room;
}

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
#include "sym/codemap.h"

#define CHUNK     65536
#define MAX_NAMES UINT32_MAX

struct gpc_perfmap {
	struct gpc_codemap code; /* values: where in names */
	vec(char) names;
};

struct reader {
	vec(struct gpc_code) lines; /* values: where in names */
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
	struct gpc_code line = {.order = (uint32_t)r->lines.n};
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
	line.value = (uint32_t)r->names.n;
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

static gpc_status build(struct reader *r, struct gpc_perfmap **ret, struct gpc_err *err)
{
	struct gpc_perfmap *map = calloc(1, sizeof *map);
	void *names;

	if (r->no_memory || !map || !gpc_codemap_init(&map->code, r->lines.at, r->lines.n)) {
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
	gpc_codemap_deinit(&map->code);
	vec_deinit(&map->names);
	free(map);
}

const char *gpc_perfmap_find(const struct gpc_perfmap *map, uint64_t address)
{
	uint32_t name;

	return gpc_codemap_find(&map->code, address, &name) ? map->names.at + name : NULL;
}

size_t gpc_perfmap_bytes(const struct gpc_perfmap *map)
{
	return sizeof *map + map->code.entries.room * sizeof *map->code.entries.at +
	       map->names.room;
}

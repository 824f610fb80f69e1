/* SPDX-License-Identifier: Apache-2.0 */
#include "sym/jitdump.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/vec.h"
#include "sym/codemap.h"

#define MAGIC        0x4a695444 /* "JiTD" */
#define NONE         UINT32_MAX
#define LONGEST      16384
#define MAX_LINES    (1u << 20) /* of one piece of code */
#define HEADER_LEAST 40

/* Records that are read at one go, or what takes as long: a second's worth. What is
 * skipped costs no memory, but time. */
#define WORK_MAX  (1u << 24)
#define WORK_FILL 512 /* for each window that is read */

enum { LOAD = 0, MOVE = 1, DEBUG_INFO = 2, CLOSE = 3, UNWINDING_INFO = 4 };

/* A piece of code where it was put, or moved to. */
struct piece {
	uint64_t base, size;
	uint32_t name; /* in texts */
	uint32_t first_line, n_lines;
	uint32_t unwind; /* NONE: there is none */
};

struct line {
	uint64_t distance; /* from where the code was loaded */
	uint32_t line, file;
};

struct unwind {
	uint64_t offset, size, header_size;
};

struct gpc_jitdump {
	enum gpc_jitdump_part part;
	size_t max;
	vec(struct piece) pieces;
	vec(struct line) lines;
	vec(struct unwind) unwinds;
	vec(char) texts;
	struct gpc_codemap code; /* values: pieces */
	/* For what is still to come. */
	vec(struct gpc_code) list;
	struct gpc_u64map by_index; /* number of the code → its newest piece */
	uint64_t at;                /* the first record that was not read */
	uint64_t lines_of;          /* what came before the code it belongs to */
	uint32_t first_line, unwind;
	bool is_over; /* closed, or full */
};

struct reader {
	struct gpc_jitdump *d;
	int fd;
	uint32_t work; /* left */
	/* read so far */
	uint64_t at, window, limit;
	size_t n;
	bool no_memory;
	uint8_t bytes[32768];
};

struct prefix {
	uint32_t id, size;
	uint64_t time;
};

/* ---- reading ------------------------------------------------------------------- */

static size_t fill(struct reader *r)
{
	ssize_t got;

	r->window = r->at;
	r->n = 0;
	r->work -= r->work < WORK_FILL ? r->work : WORK_FILL;
	do
		got = pread(r->fd, r->bytes + r->n, sizeof r->bytes - r->n, (off_t)(r->at + r->n));
	while ((got < 0 && errno == EINTR) || (got > 0 && (r->n += (size_t)got) < sizeof r->bytes));
	return r->n;
}

/* The next n bytes, at most those of the window; NULL: they are not there. */
static const uint8_t *peek(struct reader *r, size_t n)
{
	if (r->at >= r->window && r->at - r->window <= r->n && n <= r->n - (r->at - r->window))
		return r->bytes + (r->at - r->window);
	return r->at < INT64_MAX / 2 && fill(r) >= n ? r->bytes : NULL;
}

static bool get(struct reader *r, uint64_t end, void *ret, size_t n)
{
	const uint8_t *at = n <= end - r->at ? peek(r, n) : NULL;

	if (!at)
		return false;
	memcpy(ret, at, n);
	r->at += n;
	return true;
}

/* A text up to its NUL, which is put among the others where names are wanted. */
static bool get_text(struct reader *r, uint64_t end, uint32_t *ret)
{
	struct gpc_jitdump *d = r->d;
	size_t room = end - r->at < LONGEST ? (size_t)(end - r->at) : LONGEST, n;
	const uint8_t *at = peek(r, room);

	n = at ? strnlen((const char *)at, room) : 0;
	if (!at || n == room)
		return false;
	*ret = 0;
	r->at += n + 1;
	if (d->part == GPC_JITDUMP_FRAMES)
		return true;
	if (d->texts.n + n + 1 > UINT32_MAX || !vec_reserve(&d->texts, n + 1)) {
		r->no_memory = true;
		return false;
	}
	*ret = (uint32_t)d->texts.n;
	memcpy(d->texts.at + d->texts.n, at, n + 1);
	d->texts.n += n + 1;
	return true;
}

/* ---- records ------------------------------------------------------------------- */

static void add_piece(struct reader *r, const struct piece *piece, uint64_t index)
{
	struct gpc_jitdump *d = r->d;
	struct gpc_code code = {.start = piece->base,
				.end = piece->base + piece->size,
				.value = (uint32_t)d->pieces.n,
				.order = (uint32_t)d->list.n};

	if (!piece->size || piece->size > UINT32_MAX || code.end < code.start)
		return;
	if (!vec_push(&d->pieces, *piece) || !vec_push(&d->list, code) ||
	    !gpc_u64map_set(&d->by_index, index, code.value))
		r->no_memory = true;
}

static void read_load(struct reader *r, uint64_t end)
{
	struct gpc_jitdump *d = r->d;
	struct {
		uint32_t pid, tid;
		uint64_t vma, address, size, index;
	} head;
	struct piece piece = {.first_line = d->first_line, .unwind = d->unwind};

	if (!get(r, end, &head, sizeof head) || !get_text(r, end, &piece.name))
		return;
	piece.base = head.address;
	piece.size = head.size;
	if (d->lines_of == head.address)
		piece.n_lines = (uint32_t)(d->lines.n - d->first_line);
	d->first_line = (uint32_t)d->lines.n;
	d->lines_of = 0;
	d->unwind = NONE;
	add_piece(r, &piece, head.index);
}

/* Where it was it stays until something else comes there: samples were taken
 * before it moved, too. */
static void read_move(struct reader *r, uint64_t end)
{
	struct {
		uint32_t pid, tid;
		uint64_t vma, from, to, size, index;
	} head;
	struct piece piece;
	uint64_t place;

	if (!get(r, end, &head, sizeof head) ||
	    !gpc_u64map_get(&r->d->by_index, head.index, &place))
		return;
	piece = r->d->pieces.at[place];
	piece.base = head.to;
	if (head.size)
		piece.size = head.size;
	add_piece(r, &piece, head.index);
}

static void read_lines(struct reader *r, uint64_t end)
{
	struct gpc_jitdump *d = r->d;
	struct {
		uint64_t address, n;
	} head;
	struct {
		uint64_t address;
		uint32_t line, column;
	} entry;
	uint32_t file = NONE;

	if (d->part == GPC_JITDUMP_FRAMES || !get(r, end, &head, sizeof head))
		return;
	d->lines.n = d->first_line; /* those of code that never came */
	d->lines_of = head.address;
	for (uint64_t i = 0; i < head.n && i < MAX_LINES && !r->no_memory; i++) {
		uint32_t text;

		if (!get(r, end, &entry, sizeof entry) || !get_text(r, end, &text))
			return;
		/* "\xff" stands for the name before. */
		if (strcmp(d->texts.at + text, "\xff") == 0)
			d->texts.n = text;
		else
			file = text;
		if (entry.address < head.address)
			continue;
		if (!vec_push(&d->lines, (struct line){.distance = entry.address - head.address,
						       .line = entry.line,
						       .file = file}))
			r->no_memory = true;
	}
}

static void read_unwind(struct reader *r, uint64_t end)
{
	struct gpc_jitdump *d = r->d;
	struct {
		uint64_t size, header_size, mapped_size;
	} head;
	struct unwind u;

	if (!get(r, end, &head, sizeof head) || head.size > end - r->at ||
	    head.header_size > head.size)
		return;
	u = (struct unwind){r->at, head.size, head.header_size};
	d->unwind = (uint32_t)d->unwinds.n;
	if (!vec_push(&d->unwinds, u))
		r->no_memory = true;
}

static size_t bytes_of(const struct gpc_jitdump *d)
{
	return sizeof *d + d->pieces.room * sizeof *d->pieces.at +
	       d->lines.room * sizeof *d->lines.at + d->unwinds.room * sizeof *d->unwinds.at +
	       d->texts.room + d->code.entries.room * sizeof *d->code.entries.at +
	       d->list.room * sizeof *d->list.at + d->by_index.room * sizeof *d->by_index.slots;
}

static void read_body(struct reader *r, uint32_t id, uint64_t end)
{
	switch (id) {
	case LOAD:
		read_load(r, end);
		break;
	case MOVE:
		read_move(r, end);
		break;
	case DEBUG_INFO:
		read_lines(r, end);
		break;
	case UNWINDING_INFO:
		read_unwind(r, end);
		break;
	default:
		break;
	}
}

/* False: there is nothing more that is whole, or no room for it. */
static bool read_record(struct reader *r)
{
	struct gpc_jitdump *d = r->d;
	uint64_t start = r->at, end;
	struct prefix p;

	if (!r->work || !get(r, r->limit, &p, sizeof p) || p.size < sizeof p ||
	    p.size > r->limit - start)
		return false;
	r->work -= r->work > 0;
	end = start + p.size;
	if (p.id != CLOSE)
		read_body(r, p.id, end);
	r->at = d->at = end;
	d->is_over = p.id == CLOSE || bytes_of(d) >= d->max;
	return !r->no_memory && !d->is_over;
}

static bool read_header(struct reader *r)
{
	struct {
		uint32_t magic, version, size, machine, pad, pid;
		uint64_t time, flags;
	} head;

	if (!get(r, r->limit, &head, sizeof head) || head.magic != MAGIC || head.size < sizeof head)
		return false;
	r->at = r->d->at = head.size;
	return true;
}

bool gpc_jitdump_is(const char *path)
{
	const char *slash = strrchr(path, '/'), *at = slash ? slash + 1 : path;
	size_t digits;

	if (strncmp(at, "jit-", 4) != 0)
		return false;
	digits = strspn(at + 4, "0123456789");
	/* The kernel marks a file that was removed. */
	return digits && (strcmp(at + 4 + digits, ".dump") == 0 ||
			  strcmp(at + 4 + digits, ".dump (deleted)") == 0);
}

/* The map is made anew, since newer code may stand where older was. */
static gpc_status make_map(struct gpc_jitdump *d, struct gpc_err *err)
{
	struct gpc_codemap code;

	if (!gpc_codemap_init(&code, d->list.at, d->list.n))
		return gpc_err_nomem(err);
	gpc_codemap_deinit(&d->code);
	d->code = code;
	return GPC_OK;
}

gpc_status gpc_jitdump_more(struct gpc_jitdump *d, int fd, bool *has_more, struct gpc_err *err)
{
	autofree struct reader *r = NULL;
	size_t before = d->list.n;
	struct stat st;

	*has_more = false;
	if (fstat(fd, &st) < 0)
		return gpc_err_sys(err, "jitdump file");
	/* Not even its header may have been written. */
	if (d->is_over || (uint64_t)st.st_size <= d->at || st.st_size < HEADER_LEAST)
		return GPC_OK;
	r = calloc(1, sizeof *r);
	if (!r)
		return gpc_err_nomem(err);
	r->d = d;
	r->fd = fd;
	r->work = WORK_MAX;
	r->at = d->at;
	r->limit = (uint64_t)st.st_size;
	if (!d->at && !read_header(r))
		return gpc_err_set(err, GPC_E_UNSUPPORTED, "not a jitdump file of this machine");
	while (read_record(r))
		;
	if (r->no_memory)
		return gpc_err_nomem(err);
	*has_more = d->list.n != before;
	return *has_more ? make_map(d, err) : GPC_OK;
}

struct gpc_jitdump *gpc_jitdump_new(enum gpc_jitdump_part part, size_t max_bytes)
{
	struct gpc_jitdump *d = calloc(1, sizeof *d);

	if (!d)
		return NULL;
	d->part = part;
	d->max = max_bytes;
	d->unwind = NONE;
	return d;
}

static void cleanup_dump(struct gpc_jitdump **d)
{
	gpc_jitdump_free(*d);
}

gpc_status gpc_jitdump_load(int fd, size_t max_bytes, struct gpc_jitdump **ret, struct gpc_err *err)
{
	autocall(cleanup_dump) struct gpc_jitdump *d =
		gpc_jitdump_new(GPC_JITDUMP_NAMES, max_bytes);
	bool has_more;

	if (!d)
		return gpc_err_nomem(err);
	gpc_try(gpc_jitdump_more(d, fd, &has_more, err));
	if (!d->at)
		return gpc_err_set(err, GPC_E_UNSUPPORTED, "an empty jitdump file");
	*ret = take(d);
	return GPC_OK;
}

void gpc_jitdump_free(struct gpc_jitdump *d)
{
	if (!d)
		return;
	vec_deinit(&d->pieces);
	vec_deinit(&d->lines);
	vec_deinit(&d->unwinds);
	vec_deinit(&d->texts);
	vec_deinit(&d->list);
	gpc_u64map_deinit(&d->by_index);
	gpc_codemap_deinit(&d->code);
	free(d);
}

/* ---- asking ------------------------------------------------------------------------ */

static const struct piece *piece_at(const struct gpc_jitdump *d, uint64_t address)
{
	uint32_t place;

	return gpc_codemap_find(&d->code, address, &place) ? &d->pieces.at[place] : NULL;
}

bool gpc_jitdump_find(const struct gpc_jitdump *d, uint64_t address, struct gpc_jit_symbol *ret)
{
	const struct piece *p = piece_at(d, address);
	const struct line *best = NULL;

	*ret = (struct gpc_jit_symbol){0};
	if (!p)
		return false;
	ret->name = d->texts.at + p->name;
	for (uint32_t i = 0; i < p->n_lines; i++) {
		const struct line *l = &d->lines.at[p->first_line + i];

		if (l->distance <= address - p->base && (!best || l->distance >= best->distance))
			best = l;
	}
	if (best) {
		ret->line = best->line;
		ret->file = best->file == NONE ? NULL : d->texts.at + best->file;
	}
	return true;
}

bool gpc_jitdump_unwind(const struct gpc_jitdump *d, size_t *i, struct gpc_jit_unwind *ret)
{
	while (*i < d->code.entries.n) {
		const struct gpc_codemap_entry *e = &d->code.entries.at[(*i)++];
		const struct piece *p = &d->pieces.at[e->value];
		const struct unwind *u;

		if (p->unwind == NONE)
			continue;
		u = &d->unwinds.at[p->unwind];
		*ret = (struct gpc_jit_unwind){.start = e->start,
					       .end = e->start + e->size,
					       .code = p->base,
					       .offset = u->offset,
					       .size = u->size - u->header_size};
		return true;
	}
	return false;
}

bool gpc_jitdump_has_unwind(const struct gpc_jitdump *d)
{
	return d->unwinds.n > 0 || !d->pieces.n;
}

size_t gpc_jitdump_bytes(const struct gpc_jitdump *d)
{
	return bytes_of(d);
}

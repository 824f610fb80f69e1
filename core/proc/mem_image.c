/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/mem_image.h"

#include <errno.h>
#include <fcntl.h>
#include <msgpack.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "base/cleanup.h"
#include "base/vec.h"

#define LIST_MAX 65536 /* mappings, threads */

struct segment {
	uint64_t at;
	size_t n;
	uint8_t *bytes;
};

struct gpc_mem_image {
	struct gpc_target target;
	vec(struct gpc_map) maps;
	vec(struct gpc_mem_image_thread) threads;
	vec(struct segment) memory; /* sorted by at */
	vec(char *) texts;          /* what target and maps point to */
	const char *stacks;
	uint64_t bytes, max_bytes;
	bool has_head, has_end;
	struct token { /* of MessagePack, as far as it was seen */
		uint8_t head[5];
		uint8_t n;
		uint64_t skip; /* bytes of its value that are to come */
	} token;
};

void gpc_mem_image_free(struct gpc_mem_image *i)
{
	if (!i)
		return;
	for (size_t k = 0; k < i->memory.n; k++)
		free(i->memory.at[k].bytes);
	for (size_t k = 0; k < i->texts.n; k++)
		free(i->texts.at[k]);
	vec_deinit(&i->memory);
	vec_deinit(&i->texts);
	vec_deinit(&i->maps);
	vec_deinit(&i->threads);
	free(i);
}

/* ---- values ----------------------------------------------------------------------- */

static const msgpack_object *member(const msgpack_object *map, const char *key)
{
	for (uint32_t k = 0; map->type == MSGPACK_OBJECT_MAP && k < map->via.map.size; k++) {
		const msgpack_object_kv *kv = &map->via.map.ptr[k];

		if (kv->key.type == MSGPACK_OBJECT_STR && kv->key.via.str.size == strlen(key) &&
		    memcmp(kv->key.via.str.ptr, key, strlen(key)) == 0)
			return &kv->val;
	}
	return NULL;
}

static uint64_t number(const msgpack_object *map, const char *key)
{
	const msgpack_object *v = member(map, key);

	return v && v->type == MSGPACK_OBJECT_POSITIVE_INTEGER ? v->via.u64 : 0;
}

/* A copy that the image owns; "" for what is no text. */
static const char *text(struct gpc_mem_image *i, const msgpack_object *map, const char *key)
{
	const msgpack_object *v = member(map, key);
	char *copy;

	if (!v || v->type != MSGPACK_OBJECT_STR)
		return "";
	copy = strndup(v->via.str.ptr, v->via.str.size);
	if (!copy)
		return "";
	if (vec_push(&i->texts, copy))
		return copy;
	free(copy);
	return "";
}

/* ---- the head ------------------------------------------------------------------------ */

static gpc_status read_maps(struct gpc_mem_image *i, const msgpack_object *list,
			    struct gpc_err *err)
{
	if (!list || list->type != MSGPACK_OBJECT_ARRAY || list->via.array.size > LIST_MAX)
		return gpc_err_set(err, GPC_E_CORRUPT, "the image has no list of mappings");
	for (uint32_t k = 0; k < list->via.array.size; k++) {
		const msgpack_object *o = &list->via.array.ptr[k];
		struct gpc_map m = {.start = number(o, "start"),
				    .end = number(o, "end"),
				    .offset = number(o, "offset"),
				    .inode = number(o, "inode"),
				    .prot = (uint32_t)number(o, "prot"),
				    .path = text(i, o, "path")};

		if (m.start < m.end && !vec_push(&i->maps, m))
			return gpc_err_nomem(err);
	}
	i->target.maps = i->maps.at;
	i->target.n_maps = (uint32_t)i->maps.n;
	i->target.map_stride = sizeof *i->maps.at;
	return GPC_OK;
}

static gpc_status read_threads(struct gpc_mem_image *i, const msgpack_object *list,
			       struct gpc_err *err)
{
	if (!list || list->type != MSGPACK_OBJECT_ARRAY || list->via.array.size > LIST_MAX)
		return gpc_err_set(err, GPC_E_CORRUPT, "the image has no list of threads");
	for (uint32_t k = 0; k < list->via.array.size; k++) {
		const msgpack_object *o = &list->via.array.ptr[k];
		struct gpc_mem_image_thread th = {.tid = (int32_t)number(o, "tid"),
						  .ns_tid = (int32_t)number(o, "ns_tid"),
						  .pc = number(o, "pc"),
						  .sp = number(o, "sp"),
						  .state = text(i, o, "state")[0]};

		strncpy(th.comm, text(i, o, "comm"), sizeof th.comm - 1);
		if (!vec_push(&i->threads, th))
			return gpc_err_nomem(err);
	}
	return GPC_OK;
}

static gpc_status read_head(struct gpc_mem_image *i, const msgpack_object *o, struct gpc_err *err)
{
	if (strcmp(text(i, o, "format"), "gpc-memory-image") != 0 || number(o, "version") != 1)
		return gpc_err_set(err, GPC_E_UNSUPPORTED, "this is no memory image of version 1");
	i->target.struct_size = sizeof i->target;
	i->target.id = 1;
	i->target.pid = (int32_t)number(o, "pid");
	i->target.ns_pid = (int32_t)number(o, "ns_pid");
	i->target.machine = (uint16_t)number(o, "machine");
	i->target.pidfd = -1;
	i->target.comm = text(i, o, "comm");
	i->target.exe = text(i, o, "exe");
	i->target.cgroup = i->target.container = i->target.cmdline = "";
	i->stacks = text(i, o, "stacks");
	gpc_try(read_maps(i, member(o, "maps"), err));
	gpc_try(read_threads(i, member(o, "threads"), err));
	i->has_head = true;
	return GPC_OK;
}

/* ---- memory ----------------------------------------------------------------------------- */

static gpc_status add_segment(struct gpc_mem_image *i, const msgpack_object *o, struct gpc_err *err)
{
	const msgpack_object *v = member(o, "bytes");
	struct segment s = {.at = number(o, "at")};

	if (!v || v->type != MSGPACK_OBJECT_BIN || !v->via.bin.size)
		return gpc_err_set(err, GPC_E_CORRUPT, "a piece of memory has no bytes");
	s.n = v->via.bin.size;
	if (s.at > UINT64_MAX - s.n ||
	    (i->memory.n &&
	     s.at < i->memory.at[i->memory.n - 1].at + i->memory.at[i->memory.n - 1].n))
		return gpc_err_set(err, GPC_E_CORRUPT, "pieces of memory are not in order");
	i->bytes += s.n;
	if (i->bytes > i->max_bytes)
		return gpc_err_set(err, GPC_E_BUDGET, "the image has more memory than %llu bytes",
				   (unsigned long long)i->max_bytes);
	s.bytes = malloc(s.n);
	if (!s.bytes || !vec_push(&i->memory, s)) {
		free(s.bytes);
		return gpc_err_nomem(err);
	}
	memcpy(s.bytes, v->via.bin.ptr, s.n);
	return GPC_OK;
}

static gpc_status take_object(struct gpc_mem_image *i, const msgpack_object *o, struct gpc_err *err)
{
	if (i->has_end || o->type != MSGPACK_OBJECT_MAP)
		return gpc_err_set(err, GPC_E_CORRUPT, "the image has something behind its end");
	if (!i->has_head)
		return read_head(i, o, err);
	if (member(o, "at"))
		return add_segment(i, o, err);
	i->has_end = member(o, "end") != NULL;
	return i->has_end ? GPC_OK
			  : gpc_err_set(err, GPC_E_CORRUPT, "the image has an unknown part");
}

/* ---- counts -------------------------------------------------------------------------------- */

/* The unpacker makes room for all elements that a list or a map promises, which
 * five bytes can make 96 GiB: so promises are looked at before it sees them. */

/* For the types 0xc4 to 0xdf: bytes that tell a length, bytes beside that. */
static const uint8_t shapes[][2] = {
	{1, 0}, {2, 0}, {4, 0}, {1, 1}, {2, 1},  {4, 1},                 /* bin, ext */
	{0, 4}, {0, 8}, {0, 1}, {0, 2}, {0, 4},  {0, 8},                 /* float, uint */
	{0, 1}, {0, 2}, {0, 4}, {0, 8},                                  /* int */
	{0, 2}, {0, 3}, {0, 5}, {0, 9}, {0, 17}, {1, 0}, {2, 0}, {4, 0}, /* fixext, str */
	{2, 0}, {4, 0}, {2, 0}, {4, 0},                                  /* array, map */
};
#define SHAPED      0xc4
#define FIRST_ARRAY 0xdc
#define LAST_MAP    0xdf

/* True when the token was read as far as its value. */
static bool token_is_full(const struct token *t)
{
	uint8_t type = t->head[0];

	return type < SHAPED || type > LAST_MAP || t->n == 1 + shapes[type - SHAPED][0];
}

static bool begin_value(struct token *t)
{
	uint8_t type = t->head[0];
	uint64_t told = 0;

	for (uint8_t k = 1; k < t->n; k++)
		told = told << 8 | t->head[k];
	t->n = 0;
	t->skip = 0;
	if (type >= FIRST_ARRAY && type <= LAST_MAP)
		return told <= LIST_MAX;
	if (type >= SHAPED && type < FIRST_ARRAY)
		t->skip = told + shapes[type - SHAPED][1];
	else if (type >= 0xa0 && type < 0xc0)
		t->skip = type & 31;
	return true;
}

static bool are_counts_possible(struct token *t, const uint8_t *bytes, size_t n)
{
	for (size_t at = 0; at < n;) {
		uint64_t skip = t->skip < n - at ? t->skip : n - at;

		t->skip -= skip;
		at += skip;
		if (skip || at == n)
			continue;
		t->head[t->n++] = bytes[at++];
		if (token_is_full(t) && !begin_value(t))
			return false;
	}
	return true;
}

/* ---- the stream ---------------------------------------------------------------------------- */

static gpc_status take_ready(struct gpc_mem_image *i, msgpack_unpacker *u, struct gpc_err *err)
{
	msgpack_unpacked result;
	msgpack_unpack_return got;
	gpc_status st = GPC_OK;

	msgpack_unpacked_init(&result);
	while (st == GPC_OK &&
	       (got = msgpack_unpacker_next(u, &result)) != MSGPACK_UNPACK_CONTINUE) {
		if (got != MSGPACK_UNPACK_SUCCESS)
			st = gpc_err_set(err, GPC_E_CORRUPT, "the image is damaged");
		else
			st = take_object(i, &result.data, err);
	}
	msgpack_unpacked_destroy(&result);
	return st;
}

static gpc_status feed(struct gpc_mem_image *i, msgpack_unpacker *u, const void *bytes, size_t n,
		       struct gpc_err *err)
{
	if (!are_counts_possible(&i->token, bytes, n))
		return gpc_err_set(err, GPC_E_CORRUPT, "the image has a list of more than %d",
				   LIST_MAX);
	/* One object that does not end would be kept for ever. */
	if (msgpack_unpacker_message_size(u) > i->max_bytes + (64u << 20))
		return gpc_err_set(err, GPC_E_BUDGET, "a part of the image is too large");
	if (!msgpack_unpacker_reserve_buffer(u, n))
		return gpc_err_nomem(err);
	memcpy(msgpack_unpacker_buffer(u), bytes, n);
	msgpack_unpacker_buffer_consumed(u, n);
	return take_ready(i, u, err);
}

static gpc_status finish(struct gpc_mem_image *i, struct gpc_mem_image **ret, struct gpc_err *err)
{
	if (!i->has_end)
		return gpc_err_set(err, GPC_E_CORRUPT, "the image ends too early");
	*ret = i;
	return GPC_OK;
}

/* All that a piece of the file becomes; *left 0: the file may end here. */
static gpc_status inflate_piece(struct gpc_mem_image *i, msgpack_unpacker *u, ZSTD_DCtx *zstd,
				ZSTD_inBuffer *in, size_t *left, struct gpc_err *err)
{
	char to[32768];

	/* zstd holds the last byte back until all that came before it was given. */
	while (in->pos < in->size) {
		ZSTD_outBuffer out = {to, sizeof to, 0};

		*left = ZSTD_decompressStream(zstd, &out, in);
		if (ZSTD_isError(*left))
			return gpc_err_set(err, GPC_E_CORRUPT, "zstd: %s",
					   ZSTD_getErrorName(*left));
		gpc_try(feed(i, u, to, out.pos, err));
	}
	return GPC_OK;
}

static gpc_status decompress(struct gpc_mem_image *i, int fd, msgpack_unpacker *u,
			     struct gpc_err *err)
{
	ZSTD_DCtx *zstd = ZSTD_createDCtx();
	autofree char *from = malloc(65536);
	gpc_status st = zstd && from ? GPC_OK : gpc_err_nomem(err);
	size_t left = 1;
	ssize_t n = 0;

	while (st == GPC_OK && (n = read(fd, from, 65536)) > 0) {
		ZSTD_inBuffer in = {from, (size_t)n, 0};

		st = inflate_piece(i, u, zstd, &in, &left, err);
	}
	if (st == GPC_OK && n < 0)
		st = gpc_err_sys(err, "read");
	if (st == GPC_OK && left)
		st = gpc_err_set(err, GPC_E_CORRUPT, "the image ends too early");
	ZSTD_freeDCtx(zstd);
	return st;
}

static gpc_status new_image(uint64_t max_bytes, struct gpc_mem_image **ret, msgpack_unpacker *u,
			    struct gpc_err *err)
{
	struct gpc_mem_image *i = calloc(1, sizeof *i);

	if (!i || !msgpack_unpacker_init(u, 131072)) {
		free(i);
		return gpc_err_nomem(err);
	}
	i->max_bytes = max_bytes;
	i->stacks = "";
	*ret = i;
	return GPC_OK;
}

gpc_status gpc_mem_image_load(const char *path, uint64_t max_bytes, struct gpc_mem_image **ret,
			      struct gpc_err *err)
{
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
	msgpack_unpacker u;
	struct gpc_mem_image *i = NULL;
	gpc_status st;

	if (fd < 0)
		return gpc_err_sys(err, "open %s", path);
	gpc_try(new_image(max_bytes, &i, &u, err));
	st = decompress(i, fd, &u, err);
	if (st == GPC_OK)
		st = finish(i, ret, err);
	msgpack_unpacker_destroy(&u);
	if (st < 0) {
		gpc_mem_image_free(i);
		gpc_err_prefix(err, "%s", path);
	}
	return st;
}

gpc_status gpc_mem_image_parse(const void *bytes, size_t n, uint64_t max_bytes,
			       struct gpc_mem_image **ret, struct gpc_err *err)
{
	msgpack_unpacker u;
	struct gpc_mem_image *i = NULL;
	gpc_status st;

	gpc_try(new_image(max_bytes, &i, &u, err));
	st = feed(i, &u, bytes, n, err);
	if (st == GPC_OK)
		st = finish(i, ret, err);
	msgpack_unpacker_destroy(&u);
	if (st < 0)
		gpc_mem_image_free(i);
	return st;
}

/* ---- looking ----------------------------------------------------------------------------------
 */

const struct gpc_target *gpc_mem_image_target(const struct gpc_mem_image *i)
{
	return &i->target;
}

uint32_t gpc_mem_image_threads(const struct gpc_mem_image *i)
{
	return (uint32_t)i->threads.n;
}

const struct gpc_mem_image_thread *gpc_mem_image_thread(const struct gpc_mem_image *i,
							uint32_t index)
{
	return index < i->threads.n ? &i->threads.at[index] : NULL;
}

const char *gpc_mem_image_stacks(const struct gpc_mem_image *i)
{
	return i->stacks;
}

static const struct segment *segment_at(const struct gpc_mem_image *i, uint64_t addr)
{
	size_t from = 0, to = i->memory.n;

	while (from < to) {
		size_t mid = from + (to - from) / 2;

		if (i->memory.at[mid].at + i->memory.at[mid].n <= addr)
			from = mid + 1;
		else
			to = mid;
	}
	return from < i->memory.n && i->memory.at[from].at <= addr ? &i->memory.at[from] : NULL;
}

int64_t gpc_mem_image_read(const struct gpc_mem_image *i, uint64_t addr, void *buf, uint64_t len)
{
	uint64_t done = 0;

	while (done < len) {
		const struct segment *s = segment_at(i, addr + done);
		uint64_t skip, n;

		if (!s)
			break;
		skip = addr + done - s->at;
		n = s->n - skip < len - done ? s->n - skip : len - done;
		memcpy((uint8_t *)buf + done, s->bytes + skip, n);
		done += n;
	}
	return done || !len ? (int64_t)done : GPC_E_CORRUPT;
}

static int64_t replay(void *ctx, uint64_t target, uint64_t addr, void *buf, uint64_t len)
{
	(void)target;
	return gpc_mem_image_read(ctx, addr, buf, len);
}

struct gpc_mem_replay gpc_mem_image_replay(struct gpc_mem_image *i)
{
	return (struct gpc_mem_replay){.ctx = i, .read = replay};
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/unpack.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include "base/cleanup.h"

#define CHUNK    16384
#define XZ_LEAST 65536
/* xz -6, its default and what packagers use, takes 8 MiB of dictionary. */
#define XZ_MEMORY ((uint64_t)24 << 20)

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

struct packed {
	const struct gpc_elf_source *source;
	uint64_t at, left;
	uint8_t chunk[CHUNK];
};

/* The next bytes, as many as fit; 0 at the end. */
static size_t next_chunk(struct packed *p)
{
	size_t n = p->left < CHUNK ? (size_t)p->left : CHUNK;

	n = gpc_elf_read_array(p->source, p->at, p->chunk, 1, n);
	p->at += n;
	p->left -= n;
	return n;
}

/* ---- xz ---------------------------------------------------------------------- */

static bool grow(uint8_t **bytes, size_t *room, size_t max)
{
	size_t want = *room ? *room * 2 : XZ_LEAST;
	uint8_t *grown;

	if (*room >= max)
		return false;
	if (want > max)
		want = max;
	grown = realloc(*bytes, want);
	if (!grown)
		return false;
	*bytes = grown;
	*room = want;
	return true;
}

static gpc_status run_xz(lzma_stream *z, struct packed *p, size_t max, uint8_t **bytes,
			 struct gpc_err *err)
{
	lzma_ret got = LZMA_OK;
	size_t room = 0;

	while (got == LZMA_OK) {
		if (z->avail_in == 0) {
			z->next_in = p->chunk;
			z->avail_in = next_chunk(p);
		}
		if (z->avail_out == 0) {
			size_t done = room;

			if (!grow(bytes, &room, max))
				return gpc_err_set(err, GPC_E_BUDGET, "more than %zu bytes", max);
			z->next_out = *bytes + done;
			z->avail_out = room - done;
		}
		got = lzma_code(z, p->left || z->avail_in ? LZMA_RUN : LZMA_FINISH);
	}
	if (got != LZMA_STREAM_END)
		return gpc_err_set(err, got == LZMA_MEMLIMIT_ERROR ? GPC_E_BUDGET : GPC_E_CORRUPT,
				   "xz: error %d", (int)got);
	return GPC_OK;
}

gpc_status gpc_elf_unpack_xz(const struct gpc_elf_source *source,
			     const struct gpc_elf_range *packed, size_t max, uint8_t **bytes,
			     size_t *n, struct gpc_err *err)
{
	autofree struct packed *p = malloc(sizeof *p);
	autofree uint8_t *out = NULL;
	lzma_stream z = LZMA_STREAM_INIT;
	gpc_status st;

	if (!p || lzma_stream_decoder(&z, XZ_MEMORY, 0) != LZMA_OK)
		return gpc_err_nomem(err);
	p->source = source;
	p->at = packed->offset;
	p->left = packed->size;
	st = run_xz(&z, p, max, &out, err);
	*n = (size_t)z.total_out;
	lzma_end(&z);
	if (st < 0)
		return st;
	*bytes = take(out);
	return GPC_OK;
}

gpc_status gpc_elf_mini(const struct gpc_elf *elf, uint8_t **bytes, size_t *n, struct gpc_err *err)
{
	const struct gpc_elf_section *s = gpc_elf_section_named(elf, ".gnu_debugdata");
	struct gpc_elf_range packed;
	gpc_status st;

	if (!s || s->type == SHT_NOBITS || !s->size)
		return gpc_err_set(err, GPC_E_GONE, "no .gnu_debugdata");
	packed = (struct gpc_elf_range){s->offset, s->size};
	gpc_elf_clamp(&elf->source, &packed);
	st = gpc_elf_unpack_xz(&elf->source, &packed, GPC_ELF_MINI_MAX, bytes, n, err);
	if (st < 0)
		gpc_err_prefix(err, ".gnu_debugdata");
	return st;
}

/* ---- sections ------------------------------------------------------------------ */

static bool inflate_to(struct packed *p, uint8_t *out, size_t n)
{
	z_stream z = {.next_out = out, .avail_out = (uInt)n};
	int got = Z_OK;

	if (inflateInit(&z) != Z_OK)
		return false;
	while (got == Z_OK) {
		if (!z.avail_in) {
			z.next_in = p->chunk;
			z.avail_in = (uInt)next_chunk(p);
		}
		if (!z.avail_in)
			break;
		got = inflate(&z, Z_NO_FLUSH);
	}
	inflateEnd(&z);
	return z.avail_out == 0;
}

static bool unzstd_to(struct packed *p, uint8_t *out, size_t n)
{
	ZSTD_DCtx *z = ZSTD_createDCtx();
	ZSTD_outBuffer to = {out, n, 0};
	ZSTD_inBuffer from = {p->chunk, 0, 0};
	size_t got = 1;

	while (z && got && !ZSTD_isError(got) && to.pos < n) {
		if (from.pos == from.size)
			from = (ZSTD_inBuffer){p->chunk, next_chunk(p), 0};
		if (!from.size)
			break;
		got = ZSTD_decompressStream(z, &to, &from);
	}
	ZSTD_freeDCtx(z);
	return to.pos == n;
}

/* What a section says of its own compression: how, how much, and behind how
 * many bytes it begins. */
struct compression {
	uint32_t type, head;
	uint64_t size;
};

static bool read_header(const struct gpc_elf *elf, const struct gpc_elf_section *s, bool is_old,
			struct compression *ret)
{
	uint8_t old[12];
	Elf64_Chdr wide;
	Elf32_Chdr h;

	if (is_old) { /* "ZLIB", then the size, big endian */
		if (!gpc_elf_read(&elf->source, s->offset, old, sizeof old) ||
		    memcmp(old, "ZLIB", 4) != 0)
			return false;
		*ret = (struct compression){.type = ELFCOMPRESS_ZLIB, .head = sizeof old};
		for (int i = 4; i < 12; i++)
			ret->size = ret->size << 8 | old[i];
		return true;
	}
	if (elf->is64) {
		*ret = (struct compression){.head = sizeof wide};
		if (!gpc_elf_read(&elf->source, s->offset, &wide, sizeof wide))
			return false;
		ret->type = wide.ch_type;
		ret->size = wide.ch_size;
		return true;
	}
	*ret = (struct compression){.head = sizeof h};
	if (!gpc_elf_read(&elf->source, s->offset, &h, sizeof h))
		return false;
	ret->type = h.ch_type;
	ret->size = h.ch_size;
	return true;
}

static gpc_status unpack(const struct gpc_elf *elf, const struct gpc_elf_section *s,
			 const struct compression *c, size_t *room, struct gpc_elf_part *ret,
			 struct gpc_err *err)
{
	autofree struct packed *p = malloc(sizeof *p);
	autofree uint8_t *out = NULL;
	struct gpc_elf_range packed = {s->offset + c->head, s->size - c->head};
	bool is_done;

	if (s->size < c->head || (c->type != ELFCOMPRESS_ZLIB && c->type != ELFCOMPRESS_ZSTD))
		return gpc_err_set(err, GPC_E_UNSUPPORTED, "compression %u", c->type);
	if (c->size > *room)
		return gpc_err_set(err, GPC_E_BUDGET, "%llu bytes unpacked",
				   (unsigned long long)c->size);
	/* zlib packs to a thousandth at best, zstd seldom to less: a larger claim
	 * is not worth the memory. */
	gpc_elf_clamp(&elf->source, &packed);
	if (c->size / 4096 > packed.size + 1)
		return gpc_err_set(err, GPC_E_CORRUPT, "claims %llu bytes",
				   (unsigned long long)c->size);
	out = malloc(c->size ? (size_t)c->size : 1);
	if (!p || !out)
		return gpc_err_nomem(err);
	p->source = &elf->source;
	p->at = packed.offset;
	p->left = packed.size;
	is_done = c->type == ELFCOMPRESS_ZSTD ? unzstd_to(p, out, (size_t)c->size)
					      : inflate_to(p, out, (size_t)c->size);
	if (!is_done)
		return gpc_err_set(err, GPC_E_CORRUPT, "compressed section is damaged");
	*room -= (size_t)c->size;
	ret->source = gpc_elf_source_memory(out, (size_t)c->size);
	ret->range = (struct gpc_elf_range){0, c->size};
	ret->unpacked = take(out);
	return GPC_OK;
}

gpc_status gpc_elf_part_init(const struct gpc_elf *elf, const char *name, size_t *room,
			     struct gpc_elf_part *ret, struct gpc_err *err)
{
	const struct gpc_elf_section *s;
	struct compression c;
	bool is_old = false;
	gpc_status st;
	char full[40];

	*ret = (struct gpc_elf_part){.source = elf->source};
	snprintf(full, sizeof full, ".debug_%s", name);
	s = gpc_elf_section_named(elf, full);
	if (!s) {
		snprintf(full, sizeof full, ".zdebug_%s", name);
		s = gpc_elf_section_named(elf, full);
		is_old = s != NULL;
	}
	if (!s || s->type == SHT_NOBITS)
		return GPC_OK;
	if (is_old || s->flags & SHF_COMPRESSED) {
		if (!read_header(elf, s, is_old, &c))
			return gpc_err_set(err, GPC_E_CORRUPT, "%s is damaged", full);
		st = unpack(elf, s, &c, room, ret, err);
		if (st < 0)
			gpc_err_prefix(err, "%s", full);
		return st;
	}
	ret->range = (struct gpc_elf_range){s->offset, s->size};
	gpc_elf_clamp(&elf->source, &ret->range);
	return GPC_OK;
}

void gpc_elf_part_deinit(struct gpc_elf_part *part)
{
	free(part->unpacked);
	*part = (struct gpc_elf_part){0};
}

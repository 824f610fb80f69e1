/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/jit.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "unwind/cfi.h"

#define DUMP_MAX   (4u << 20)  /* bytes of what is kept of the file */
#define PIECE_MAX  (64u << 10) /* of one piece's .eh_frame; real ones have some hundred */
#define PLACES_MAX (1u << 20)
#define BYTES_MAX  (32u << 20)      /* read for one table */
#define LEAST_NS   (50 * GPC_MS_NS) /* between two looks */
#define SHARE      50               /* and so many times what the last one took */
#define NOTHING_NS (5 * GPC_SECOND_NS)
#define SOMEWHERE  (UINT64_C(1) << 40) /* far from where addresses wrap */

void gpc_unwind_jit_deinit(struct gpc_unwind_jit *j)
{
	gpc_jitdump_free(j->dump);
	if (j->fd >= 0)
		close(j->fd);
	*j = (struct gpc_unwind_jit){.fd = -1};
}

struct build {
	int fd;
	uint8_t *bytes; /* PIECE_MAX */
	gpc_unwind_places places;
	struct gpc_rules rules;
	size_t left;         /* of BYTES_MAX */
	uint64_t start, end; /* the piece, as far as it still stands there */
	bool no_memory;
};

static void build_deinit(struct build *b)
{
	free(b->bytes);
	vec_deinit(&b->places);
	gpc_rules_deinit(&b->rules);
}

/* ---- places --------------------------------------------------------------------- */

static bool add_place(struct build *b, uint64_t pc, uint16_t rule)
{
	gpc_unwind_places *p = &b->places;

	if (p->n && p->at[p->n - 1].pc >= pc) {
		p->at[p->n - 1].rule = rule;
		return true;
	}
	b->no_memory = p->n >= PLACES_MAX ||
		       !vec_push(p, ((struct gpc_unwind_place){.pc = pc, .rule = rule}));
	return !b->no_memory;
}

static bool on_row(void *ctx, uint64_t pc, uint16_t rule)
{
	struct build *b = ctx;

	return pc < b->end && add_place(b, pc < b->start ? b->start : pc, rule);
}

/* ---- pieces --------------------------------------------------------------------- */

/* Where the first of the functions begins, by what the entries say. */
static bool find_lowest(const struct gpc_cfi_section *s, uint64_t *ret)
{
	struct gpc_cfi_entry e;
	bool has_one = false;

	for (size_t at = 0; gpc_cfi_next(s, &at, &e);) {
		if (e.start == e.end || (has_one && e.start >= *ret))
			continue;
		*ret = e.start;
		has_one = true;
	}
	return has_one;
}

/* Entries say how far before them their code is, and how far behind it they are to be
 * thought is for each runtime to decide (V8 rounds the size of the code up to 8 bytes,
 * CPython to 16). But code begins with its first function. */
static void add_piece(struct build *b, const struct gpc_jit_unwind *u)
{
	struct gpc_cfi_section s = {b->bytes, u->size, SOMEWHERE, true};
	struct gpc_cfi_entry e;
	uint64_t lowest = 0;

	if (!u->size || u->size > PIECE_MAX || u->size > b->left)
		return;
	b->left -= u->size;
	if (pread(b->fd, b->bytes, u->size, (off_t)u->offset) != (ssize_t)u->size ||
	    !find_lowest(&s, &lowest))
		return;
	b->start = u->start;
	b->end = u->end;
	for (size_t at = 0; !b->no_memory && gpc_cfi_next(&s, &at, &e);) {
		e.start += u->code - lowest;
		e.end += u->code - lowest;
		if (e.start >= e.end || e.start >= b->end || e.end <= b->start)
			continue;
		gpc_cfi_run(gpc_unwind_arch_here(), &s, &e, &b->rules, on_row, b);
		if (e.end < b->end)
			add_place(b, e.end, GPC_NO_RULE);
	}
	add_place(b, b->end, GPC_NO_RULE);
}

static gpc_status build(struct gpc_unwind_jit *j, struct gpc_unwind_table **ret,
			struct gpc_err *err)
{
	autocall(build_deinit) struct build b = {.fd = j->fd,
						 .bytes = malloc(PIECE_MAX),
						 .left = BYTES_MAX};
	struct gpc_jit_unwind u;

	if (!b.bytes)
		return gpc_err_nomem(err);
	for (size_t i = 0; !b.no_memory && gpc_jitdump_unwind(j->dump, &i, &u);)
		add_piece(&b, &u);
	return gpc_unwind_table_pack(NULL, &b.places, &b.rules, ret, err);
}

gpc_status gpc_unwind_jit_update(struct gpc_unwind_jit *j, bool has_table,
				 struct gpc_unwind_table **ret, struct gpc_err *err)
{
	uint64_t begin = gpc_clock_ns(CLOCK_THREAD_CPUTIME_ID), took;
	uint64_t now = gpc_now_ns();
	bool has_more;
	gpc_status st;

	*ret = NULL;
	if (!j->dump)
		j->dump = gpc_jitdump_new(GPC_JITDUMP_FRAMES, DUMP_MAX);
	if (!j->dump)
		return gpc_err_nomem(err);
	st = gpc_jitdump_more(j->dump, j->fd, &has_more, err);
	if (st == GPC_OK && (has_more || !has_table))
		st = build(j, ret, err);
	took = gpc_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
	j->read_ns = now;
	j->due_ns = now + (gpc_jitdump_has_unwind(j->dump) ? LEAST_NS : NOTHING_NS) + SHARE * took;
	return st;
}

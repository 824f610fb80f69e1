/* SPDX-License-Identifier: Apache-2.0 */
#include "loop.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>

#define BLOCK_MAX (256u << 10) /* code of one piece; 85 KB is the largest seen */
/* All that a loop of 3.14 and later can have in fewer bytes is the start of another. */
#define WHOLE_MIN 8192
#define LOOKS_MAX 4096

/* ---- where functions and their pieces begin: .eh_frame_hdr --------------------------------- */

/* The search table of the Linux Standard Base: version 1, then how its parts are
 * encoded; linkers know one way for each. */
#define HDR_BYTES 12
#define N_MAX     (256u << 10) /* functions of a file; libpython has 14,000 */

struct entry {
	int32_t code, fde; /* from the section's beginning */
};

struct index {
	const struct py_memory *m;
	uint64_t at; /* of the section */
	struct entry *entries;
	uint32_t n, looks; /* how many pieces may still be looked at */
};

static bool open_index(const struct py_memory *m, const char *glob, struct index *ret)
{
	static const uint8_t head[4] = {1, 0x1B, 0x03, 0x3B};
	const struct gpc_elf_api *elf = m->host->extension(m->host, "gpc.elf/1");
	uint8_t bytes[HDR_BYTES];
	uint64_t n;

	*ret = (struct index){.m = m, .looks = LOOKS_MAX};
	if (!elf || elf->section(m->host, m->target, glob, ".eh_frame_hdr", &ret->at, &n) < 0 ||
	    !gpc_py_read(m, ret->at, bytes, sizeof bytes) || memcmp(bytes, head, sizeof head) != 0)
		return false;
	memcpy(&ret->n, bytes + 8, sizeof ret->n);
	if (!ret->n || ret->n > N_MAX || ret->n > n / sizeof *ret->entries)
		return false;
	ret->entries = calloc(ret->n, sizeof *ret->entries);
	return ret->entries &&
	       gpc_py_read(m, ret->at + HDR_BYTES, ret->entries, ret->n * sizeof *ret->entries);
}

static uint64_t code_at(const struct index *x, uint32_t i)
{
	return x->at + (uint64_t)(int64_t)x->entries[i].code;
}

/* The piece of code that an address lies in: it ends before the next one. */
static bool piece_of(const struct index *x, uint64_t address, struct py_code_range *ret,
		     uint64_t *fde)
{
	uint32_t from = 0, to = x->n - 1;

	if (address < code_at(x, from) || address >= code_at(x, to))
		return false;
	while (to - from > 1) {
		uint32_t mid = from + (to - from) / 2;

		if (code_at(x, mid) <= address)
			from = mid;
		else
			to = mid;
	}
	*ret = (struct py_code_range){code_at(x, from), code_at(x, from + 1)};
	*fde = x->at + (uint64_t)(int64_t)x->entries[from].fde;
	return address >= ret->start && address < ret->end;
}

/* What is no function, but goes on with one's stack frame, says so before its first
 * instruction (DWARF 5, 6.4.2: DW_CFA_def_cfa and its kin). */
static bool goes_on(const struct index *x, uint64_t fde)
{
	enum { DEF_CFA = 0x0C, DEF_CFA_REGISTER, DEF_CFA_OFFSET, OFFSETS = 0x80, REMEMBER = 0x0A };
	uint8_t bytes[32], op;

	/* length, CIE, code and its size of 4 bytes each, length of the augmentation */
	if (!gpc_py_read(x->m, fde, bytes, sizeof bytes) || bytes[16] >= 8)
		return false;
	op = bytes[17 + bytes[16]];
	return (op >= DEF_CFA && op <= DEF_CFA_OFFSET) || op >> 6 == OFFSETS >> 6 || op == REMEMBER;
}

/* ---- jumps -------------------------------------------------------------------------------------
 */

/* Where the jump at code[i] leads, if there is one; what is none may look like one. */
static bool jump_x86_64(const uint8_t *code, size_t n, size_t i, uint64_t at, uint64_t *ret)
{
	size_t op = code[i] == 0xE9 ? 1 : code[i] == 0x0F ? 2 : 0;
	int32_t distance;

	if (!op || i + op + 4 > n || (op == 2 && code[i + 1] >> 4 != 8))
		return false;
	memcpy(&distance, code + i + op, sizeof distance);
	*ret = at + i + op + 4 + (uint64_t)(int64_t)distance;
	return true;
}

/* B, and B.cond, CBZ, CBNZ of A64. */
static bool jump_aarch64(const uint8_t *code, size_t n, size_t i, uint64_t at, uint64_t *ret)
{
	uint32_t op;
	int64_t distance;

	if (i % 4 || i + 4 > n)
		return false;
	memcpy(&op, code + i, sizeof op);
	if (op >> 26 == 0x05)
		distance = (int64_t)((uint64_t)op << 38) >> 36;
	else if (op >> 24 == 0x54 || (op >> 25 & 0x3F) == 0x1A)
		distance = (int64_t)((uint64_t)(op >> 5) << 45) >> 43;
	else
		return false;
	*ret = at + i + (uint64_t)distance;
	return true;
}

static bool is_part(const struct py_loop *l, uint64_t address)
{
	for (unsigned i = 0; i < l->n; i++)
		if (address >= l->parts[i].start && address < l->parts[i].end)
			return true;
	return false;
}

/* Takes the piece at the end of a jump out of the function, if it is the function's. */
static void follow(struct index *x, uint64_t to, struct py_loop *l)
{
	struct py_code_range piece;
	uint64_t fde;

	if (l->n == PY_LOOP_MAX || !x->looks || is_part(l, to) || !piece_of(x, to, &piece, &fde))
		return;
	x->looks--;
	if (!goes_on(x, fde))
		return;
	l->parts[l->n++] = piece;
}

static void follow_jumps(struct index *x, const struct py_code_range *part, struct py_loop *l)
{
	size_t n = part->end - part->start < BLOCK_MAX ? part->end - part->start : BLOCK_MAX;
	uint16_t machine = x->m->target->machine;
	uint8_t *code = malloc(n);
	uint64_t to, at = part->start;

	if (code && gpc_py_read(x->m, at, code, n))
		for (size_t i = 0; i < n; i++)
			if (machine == EM_X86_64    ? jump_x86_64(code, n, i, at, &to)
			    : machine == EM_AARCH64 ? jump_aarch64(code, n, i, at, &to)
						    : false)
				follow(x, to, l);
	free(code);
}

/* ---- the function -----------------------------------------------------------------------------
 */

/* gcc's names for parts of a function; only .symtab has them. */
static void add_named(const struct py_memory *m, const char *glob, const char *name,
		      struct py_loop *l)
{
	static const char *const parts[] = {"", ".cold", ".cold.0", ".part.0"};
	const struct gpc_elf_api *elf = m->host->extension(m->host, "gpc.elf/1");

	for (unsigned i = 0; elf && GPC_HAS(elf, symbol) && i < 4; i++) {
		char text[64];
		uint64_t start, bytes;

		snprintf(text, sizeof text, "%s%s", name, parts[i]);
		if (elf->symbol(m->host, m->target, glob, text, &start, &bytes) == GPC_OK && bytes)
			l->parts[l->n++] = (struct py_code_range){start, start + bytes};
		else if (!i)
			return;
	}
}

void gpc_py_loop_find(const struct py_memory *m, const char *glob, uint16_t version,
		      struct py_loop *ret)
{
	const char *name =
		version < PY_VERSION(3, 6) ? "PyEval_EvalFrameEx" : "_PyEval_EvalFrameDefault";
	uint64_t bytes = 0;
	struct index x = {.m = m};

	memset(ret, 0, sizeof *ret);
	add_named(m, glob, name, ret);
	if (!ret->n)
		return;
	if (open_index(m, glob, &x))
		for (unsigned i = 0; i < ret->n; i++)
			follow_jumps(&x, &ret->parts[i], ret);
	free(x.entries);
	for (unsigned i = 0; i < ret->n; i++)
		bytes += ret->parts[i].end - ret->parts[i].start;
	ret->has_tail_calls = version >= PY_VERSION(3, 14) && bytes < WHOLE_MIN;
}

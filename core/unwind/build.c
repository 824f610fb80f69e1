/* SPDX-License-Identifier: Apache-2.0 */
/* From the call frame information of a file to its table. */
#include <elf.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "unwind/section.h"
#include "unwind/table.h"

/* A browser has some 600,000 entries and 3 million places. */
#define ENTRIES_MAX (1u << 20)
#define PLACES_MAX  (4u << 20)
#define WORK_MAX    (UINT64_C(1) << 27)  /* bytes of programs: a second or two */
#define SCAN_MAX    (UINT64_C(64) << 20) /* of code that has no entries */
#define SCAN_ALL    (UINT64_C(64) << 10) /* code that is looked through in any case */
#define CHUNK       65536
#define RETURNS_MAX 16

struct entry {
	uint64_t start;
	uint32_t section; /* 0: .eh_frame, 1: .debug_frame */
	uint32_t at;      /* in the section */
};

struct build {
	const struct gpc_elf *elf;
	const struct gpc_unwind_arch *arch;
	struct gpc_cfi_bytes sections[2];
	vec(struct entry) entries;
	gpc_unwind_places places;
	struct gpc_rules rules;
	uint64_t done; /* up to here places are told */
	uint64_t covered;
	const atomic_bool *is_stopping;
	bool no_memory;
};

static void build_deinit(struct build *b)
{
	gpc_cfi_bytes_deinit(&b->sections[0]);
	gpc_cfi_bytes_deinit(&b->sections[1]);
	vec_deinit(&b->entries);
	vec_deinit(&b->places);
	gpc_rules_deinit(&b->rules);
}

/* ---- entries ------------------------------------------------------------------ */

static bool collect(struct build *b, uint32_t section)
{
	const struct gpc_cfi_section *s = &b->sections[section].section;
	struct gpc_cfi_entry e;
	size_t at = 0, before = 0;

	for (; s->bytes && gpc_cfi_next(s, &at, &e); before = at) {
		struct entry found = {e.start, section, (uint32_t)before};

		/* Functions that the linker left out have the address 0. */
		if (e.end <= e.start || !e.start)
			continue;
		if (b->entries.n >= ENTRIES_MAX)
			return true;
		if (!vec_push(&b->entries, found))
			return false;
	}
	return true;
}

static int by_start(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->section != y->section ? (x->section < y->section ? -1 : 1)
					: (x->at > y->at) - (x->at < y->at);
}

/* ---- places ------------------------------------------------------------------- */

static bool add_place(struct build *b, uint64_t pc, uint16_t rule)
{
	gpc_unwind_places *p = &b->places;
	struct gpc_unwind_place place = {pc, rule};

	if (p->n && p->at[p->n - 1].pc >= pc) {
		p->at[p->n - 1].rule = rule;
		return true;
	}
	if (p->n && p->at[p->n - 1].rule == rule)
		return true;
	if (p->n >= PLACES_MAX)
		return false; /* what comes behind is not known */
	b->no_memory = !vec_push(p, place);
	return !b->no_memory;
}

static bool is_over(const struct build *b)
{
	return b->rules.work > WORK_MAX || (b->is_stopping && atomic_load(b->is_stopping));
}

/* Where entries overlap the one that begins first holds. */
static bool on_row(void *ctx, uint64_t pc, uint16_t rule)
{
	struct build *b = ctx;

	return add_place(b, pc > b->done ? pc : b->done, rule) && !is_over(b);
}

static void run_entry(struct build *b, const struct entry *found)
{
	const struct gpc_cfi_section *s = &b->sections[found->section].section;
	struct gpc_cfi_entry e;
	size_t at = found->at;

	if (!gpc_cfi_next(s, &at, &e) || e.end <= b->done)
		return;
	gpc_cfi_run(b->arch, s, &e, &b->rules, on_row, b);
	b->covered += e.end - (e.start > b->done ? e.start : b->done);
	b->done = e.end;
	add_place(b, e.end, GPC_NO_RULE);
}

static gpc_status run_entries(struct build *b, struct gpc_err *err)
{
	if (!collect(b, 0) || !collect(b, 1))
		return gpc_err_nomem(err);
	if (b->entries.n)
		qsort(b->entries.at, b->entries.n, sizeof *b->entries.at, by_start);
	for (size_t i = 0; i < b->entries.n && !b->no_memory && !is_over(b); i++)
		run_entry(b, &b->entries.at[i]);
	return b->no_memory ? gpc_err_nomem(err) : GPC_OK;
}

/* ---- where signal handlers return to -------------------------------------------- */

/* All saved registers lie above sp, as the kernel put them there. */
static uint16_t sigreturn_rule(struct build *b)
{
	struct gpc_rule rule = {.cfa_reg = b->arch->sp, .is_signal = true, .ra = b->arch->pc};

	for (unsigned i = 0; i <= GPC_UNWIND_REGS; i++) {
		if (i >= GPC_UNWIND_REGS || !b->arch->saved[i])
			continue;
		rule.reg[i].kind = GPC_RULE_AT;
		rule.reg[i].value = b->arch->saved[i];
	}
	return gpc_rules_add(&b->rules, &rule);
}

/* The first place at or behind pc. */
static size_t place_from(const gpc_unwind_places *p, uint64_t pc)
{
	size_t from = 0, to = p->n;

	while (from < to) {
		size_t mid = from + (to - from) / 2;

		if (p->at[mid].pc < pc)
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

/* From start to end the rule holds, whatever was there. */
static void override(struct build *b, uint64_t start, uint64_t end, uint16_t rule)
{
	gpc_unwind_places *p = &b->places;
	size_t from = place_from(p, start), to = place_from(p, end + 1);
	uint16_t after = to ? p->at[to - 1].rule : GPC_NO_RULE;

	if (!vec_reserve(p, 2))
		return;
	if (p->n > to)
		memmove(&p->at[from + 2], &p->at[to], (p->n - to) * sizeof *p->at);
	p->n = p->n - (to - from) + 2;
	p->at[from] = (struct gpc_unwind_place){start, rule};
	p->at[from + 1] = (struct gpc_unwind_place){end, after};
}

/* A handler returns to the code's first byte, and the frame of a return address is
 * looked up one byte before. */
static void add_sigreturn(struct build *b, uint64_t vaddr)
{
	uint16_t rule = sigreturn_rule(b);

	if (rule != GPC_NO_RULE && vaddr)
		override(b, vaddr - 1, vaddr + b->arch->sigreturn_n, rule);
}

static void scan_chunk(struct build *b, const uint8_t *bytes, size_t n, uint64_t vaddr,
		       unsigned *found)
{
	const uint8_t *at = bytes, *end = bytes + n;
	size_t len = b->arch->sigreturn_n;

	while (*found < RETURNS_MAX &&
	       (at = memmem(at, (size_t)(end - at), b->arch->sigreturn, len))) {
		add_sigreturn(b, vaddr + (uint64_t)(at - bytes));
		++*found;
		at += len;
	}
}

static void scan_segment(struct build *b, const struct gpc_elf_segment *s, uint64_t *left,
			 unsigned *found)
{
	size_t overlap = b->arch->sigreturn_n - 1u;
	autofree uint8_t *buf = malloc(CHUNK);
	uint64_t n = s->filesz < *left ? s->filesz : *left;

	for (uint64_t at = 0; buf && at < n && !is_over(b);) {
		size_t want = n - at < CHUNK ? (size_t)(n - at) : CHUNK;
		size_t got = gpc_elf_read_array(&b->elf->source, s->offset + at, buf, 1, want);

		*left -= got < *left ? got : *left;
		scan_chunk(b, buf, got, s->vaddr + at, found);
		if (got < want || got <= overlap)
			return;
		at += at + got < n ? got - overlap : got;
	}
}

/* Only where much of the code has no entries (musl, Go) or there is little code
 * (the vdso): a C library with entries tells by itself. */
static void find_sigreturns(struct build *b)
{
	uint64_t code = 0, left = SCAN_MAX;
	unsigned found = 0;

	for (size_t i = 0; i < b->elf->segments.n; i++) {
		const struct gpc_elf_segment *s = &b->elf->segments.at[i];

		if (s->type == PT_LOAD && s->flags & PF_X)
			code += s->filesz;
	}
	if (code > SCAN_ALL && b->covered > code / 2)
		return;
	for (size_t i = 0; i < b->elf->segments.n; i++) {
		const struct gpc_elf_segment *s = &b->elf->segments.at[i];

		if (s->type == PT_LOAD && s->flags & PF_X)
			scan_segment(b, s, &left, &found);
	}
}

/* --------------------------------------------------------------------------------- */

gpc_status gpc_unwind_table_build(const struct gpc_elf *elf, const atomic_bool *is_stopping,
				  struct gpc_unwind_table **ret, struct gpc_err *err)
{
	autocall(build_deinit) struct build b = {.elf = elf,
						 .is_stopping = is_stopping,
						 .arch = gpc_unwind_arch_of(elf->machine)};

	if (!b.arch || !elf->is64)
		return gpc_err_set(err, GPC_E_UNSUPPORTED, "machine %u is not unwound",
				   elf->machine);
	gpc_try(gpc_cfi_eh_frame(elf, &b.sections[0], err));
	gpc_try(gpc_cfi_debug_frame(elf, &b.sections[1], err));
	gpc_try(run_entries(&b, err));
	find_sigreturns(&b);
	return gpc_unwind_table_pack(elf, &b.places, &b.rules, ret, err);
}

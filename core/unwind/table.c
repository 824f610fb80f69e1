/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/table.h"

#include <elf.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/hot.h"

#define PAGE_BITS    16
#define FILE_PAGE    UINT64_C(4096)
#define PAGES_MAX    65536 /* 4 GB of code */
#define SEGMENTS_MAX 64

void gpc_unwind_table_free(struct gpc_unwind_table *t)
{
	if (!t)
		return;
	gpc_rules_deinit(&t->rules);
	free(t->pages);
	free(t->rows);
	free(t->segments);
	free(t);
}

static void cleanup_table(struct gpc_unwind_table **t)
{
	gpc_unwind_table_free(*t);
}

static bool is_code(const struct gpc_elf_segment *s)
{
	return s->type == PT_LOAD && s->flags & PF_X && s->filesz;
}

static gpc_status copy_segments(struct gpc_unwind_table *t, const struct gpc_elf *elf,
				struct gpc_err *err)
{
	t->segments = calloc(SEGMENTS_MAX, sizeof *t->segments);
	if (!t->segments)
		return gpc_err_nomem(err);
	if (!elf) {
		t->segments[t->n_segments++] = (struct gpc_unwind_segment){.n = UINT64_MAX};
		return GPC_OK;
	}
	for (size_t i = 0; i < elf->segments.n && t->n_segments < SEGMENTS_MAX; i++) {
		const struct gpc_elf_segment *s = &elf->segments.at[i];
		uint64_t before = s->offset & (FILE_PAGE - 1);

		if (!is_code(s))
			continue;
		/* A mapping has whole pages. */
		t->segments[t->n_segments++] =
			(struct gpc_unwind_segment){.offset = s->offset - before,
						    .vaddr = s->vaddr - before,
						    .n = (s->filesz + before + FILE_PAGE - 1) &
							 ~(FILE_PAGE - 1)};
	}
	return GPC_OK;
}

static bool is_same_as_last(const struct gpc_unwind_table *t, uint16_t rule)
{
	return t->n_rows && t->rows[t->n_rows - 1].rule == rule;
}

/* Neighbours with one rule are one row. */
static void fill(struct gpc_unwind_table *t, const gpc_unwind_places *places)
{
	uint32_t page = 0;

	for (size_t i = 0; i < places->n; i++) {
		const struct gpc_unwind_place *p = &places->at[i];
		uint64_t offset = p->pc - t->base;

		if (offset >> PAGE_BITS >= t->n_pages)
			break;
		while (page <= offset >> PAGE_BITS)
			t->pages[page++] = t->n_rows;
		if (!is_same_as_last(t, p->rule))
			t->rows[t->n_rows++] = (struct gpc_unwind_row){(uint16_t)offset, p->rule};
	}
	while (page <= t->n_pages)
		t->pages[page++] = t->n_rows;
}

static gpc_status fill_rows(struct gpc_unwind_table *t, const gpc_unwind_places *places,
			    struct gpc_err *err)
{
	struct gpc_unwind_row *fitting;
	uint64_t last;

	if (!places->n)
		return GPC_OK;
	t->base = places->at[0].pc & ~(uint64_t)((1u << PAGE_BITS) - 1);
	last = (places->at[places->n - 1].pc - t->base) >> PAGE_BITS;
	/* Code beyond is not found then; no real file has so much. */
	t->n_pages = last < PAGES_MAX ? (uint32_t)last + 1 : PAGES_MAX;
	t->pages = calloc(t->n_pages + 1, sizeof *t->pages);
	t->rows = calloc(places->n, sizeof *t->rows);
	if (!t->pages || !t->rows)
		return gpc_err_nomem(err);
	fill(t, places);
	fitting = realloc(t->rows, t->n_rows * sizeof *t->rows);
	if (fitting)
		t->rows = fitting;
	return GPC_OK;
}

gpc_status gpc_unwind_table_pack(const struct gpc_elf *elf, const gpc_unwind_places *places,
				 struct gpc_rules *rules, struct gpc_unwind_table **ret,
				 struct gpc_err *err)
{
	autocall(cleanup_table) struct gpc_unwind_table *t = calloc(1, sizeof *t);

	if (!t)
		return gpc_err_nomem(err);
	t->arch = elf ? gpc_unwind_arch_of(elf->machine) : gpc_unwind_arch_here();
	gpc_try(copy_segments(t, elf, err));
	gpc_try(fill_rows(t, places, err));
	gpc_rules_seal(rules);
	t->rules = *rules;
	*rules = (struct gpc_rules){0};
	t->bytes = sizeof *t + t->n_pages * sizeof *t->pages + t->n_rows * sizeof *t->rows +
		   SEGMENTS_MAX * sizeof *t->segments + gpc_rules_bytes(&t->rules);
	*ret = take(t);
	return GPC_OK;
}

GPC_HOT bool gpc_unwind_table_vaddr(const struct gpc_unwind_table *t, uint64_t file_offset,
				    uint64_t *ret)
{
	for (uint32_t i = 0; i < t->n_segments; i++) {
		const struct gpc_unwind_segment *s = &t->segments[i];

		if (file_offset < s->offset || file_offset - s->offset >= s->n)
			continue;
		*ret = file_offset - s->offset + s->vaddr;
		return true;
	}
	return false;
}

GPC_HOT uint16_t gpc_unwind_table_number(const struct gpc_unwind_table *t, uint64_t vaddr)
{
	uint64_t offset = vaddr - t->base;
	uint64_t page = offset >> PAGE_BITS;
	uint32_t from, to;

	/* Before the first page offset wraps; behind the last nothing is known. */
	if (page >= t->n_pages)
		return GPC_NO_RULE;
	from = t->pages[page];
	to = t->pages[page + 1];
	while (from < to) {
		uint32_t mid = from + (to - from) / 2;

		if (t->rows[mid].low <= (uint16_t)offset)
			from = mid + 1;
		else
			to = mid;
	}
	/* The last row of an earlier page holds until the first of this one. */
	return from ? t->rows[from - 1].rule : GPC_NO_RULE;
}

GPC_HOT const struct gpc_packed_rule *gpc_unwind_table_rule(const struct gpc_unwind_table *t,
							    uint16_t number)
{
	return number == GPC_NO_RULE || number > t->rules.starts.n
		       ? NULL
		       : gpc_rules_get(&t->rules, number);
}

const struct gpc_packed_rule *gpc_unwind_table_find(const struct gpc_unwind_table *t,
						    uint64_t vaddr)
{
	return gpc_unwind_table_rule(t, gpc_unwind_table_number(t, vaddr));
}

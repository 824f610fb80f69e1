/* SPDX-License-Identifier: Apache-2.0 */
/* The input is an ELF file: its unwind table is built as any file's of a target. Places
 * must ascend, and every rule that is found must be one of the table's. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "unwind/table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_rule(const struct gpc_unwind_table *t, const struct gpc_packed_rule *r)
{
	if (r->n > GPC_UNWIND_REGS || r->cfa_reg >= GPC_UNWIND_REGS)
		abort();
	for (uint32_t i = 0; i < r->n; i++) {
		enum gpc_rule_kind kind = gpc_rule_kind(r->reg[i]);
		size_t n = 0;

		if (gpc_rule_reg(r->reg[i]) >= GPC_UNWIND_REGS || kind > GPC_RULE_IS_EXPR)
			abort();
		if (kind >= GPC_RULE_AT_EXPR)
			gpc_rules_expr(&t->rules, gpc_rule_value(r->reg[i]), &n);
		if (n > 256)
			abort();
	}
}

static void look(const struct gpc_unwind_table *t)
{
	for (uint32_t i = 0; i < t->n_pages; i++)
		if (t->pages[i] > t->pages[i + 1] || t->pages[i + 1] > t->n_rows)
			abort();
	for (uint64_t at = 0; at < 4096; at++) {
		const struct gpc_packed_rule *r = gpc_unwind_table_find(t, t->base + at * 37);

		if (r)
			check_rule(t, r);
	}
	for (uint32_t i = 0; i < t->n_rows; i++)
		if (t->rows[i].rule != GPC_NO_RULE)
			check_rule(t, gpc_rules_get(&t->rules, t->rows[i].rule));
	gpc_unwind_table_find(t, UINT64_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gpc_elf_source source = gpc_elf_source_memory(data, size);
	struct gpc_unwind_table *t = NULL;
	struct gpc_elf elf;

	if (gpc_elf_init(&elf, &source, NULL) < 0)
		return 0;
	if (gpc_unwind_table_build(&elf, NULL, &t, NULL) == GPC_OK)
		look(t);
	gpc_unwind_table_free(t);
	gpc_elf_deinit(&elf);
	return 0;
}

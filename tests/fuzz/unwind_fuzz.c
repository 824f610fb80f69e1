/* SPDX-License-Identifier: Apache-2.0 */
/* A stack of the input's making is unwound by rules of the input's making. The input:
 * a byte for the architecture, two for the length of the call frame information, that,
 * 33 registers and pc, and the stack. Every second piece of code has no rules. */
#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/cfi.h"
#include "unwind/step.h"

#define MAX 512

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct world {
	struct gpc_unwind_table *table;
	unsigned looks;
};

static enum gpc_code_state look_up(void *ctx, uint64_t address, struct gpc_code *ret)
{
	struct world *w = ctx;

	/* Two for each frame: bounded, whatever the stack says. */
	if (++w->looks > 2 * MAX + 2)
		abort();
	if (address >> 32)
		return GPC_CODE_NOWHERE;
	if (address >> 20 & 1 || !w->table)
		return GPC_CODE_PLAIN;
	ret->table = w->table;
	ret->vaddr = address;
	return GPC_CODE_KNOWN;
}

struct build {
	gpc_unwind_places places;
	struct gpc_rules rules;
};

static bool on_row(void *ctx, uint64_t pc, uint16_t rule)
{
	struct build *b = ctx;

	if (b->places.n && b->places.at[b->places.n - 1].pc >= pc)
		return false;
	return vec_push(&b->places, (struct gpc_unwind_place){pc, rule});
}

static struct gpc_unwind_table *table_of(const struct gpc_unwind_arch *arch, const uint8_t *cfi,
					 size_t n)
{
	struct gpc_cfi_section s = {cfi, n, 0, true};
	struct gpc_elf elf = {.machine = arch->machine};
	struct gpc_unwind_table *t = NULL;
	struct build b = {0};
	struct gpc_cfi_entry e;
	size_t at = 0;

	while (gpc_cfi_next(&s, &at, &e))
		if (e.end > e.start)
			gpc_cfi_run(arch, &s, &e, &b.rules, on_row, &b);
	if (gpc_unwind_table_pack(&elf, &b.places, &b.rules, &t, NULL) < 0)
		t = NULL;
	gpc_rules_deinit(&b.rules);
	vec_deinit(&b.places);
	return t;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct gpc_unwind_arch *arch;
	struct gpc_unwind_regs regs = {.is_exact = 1};
	struct gpc_unwind_view v = {.find = look_up};
	struct world w = {0};
	static uint64_t frames[MAX];
	size_t cfi, head = 3 + 8 * (GPC_UNWIND_REGS + 1);
	uint32_t n;

	if (size < head)
		return 0;
	arch = data[0] & 1 ? &gpc_unwind_aarch64 : &gpc_unwind_x86_64;
	cfi = data[1] | (size_t)data[2] << 8;
	if (cfi > size - head)
		return 0;
	w.table = table_of(arch, data + 3, cfi);
	memcpy(regs.r, data + 3 + cfi, sizeof regs.r);
	memcpy(&regs.pc, data + 3 + cfi + sizeof regs.r, 8);
	regs.valid = (UINT64_C(1) << GPC_UNWIND_REGS) - 1;
	v.arch = arch;
	v.ctx = &w;
	v.mem = (struct gpc_unwind_memory){.start = regs.r[arch->sp],
					   .bytes = data + head + cfi,
					   .n = size - head - cfi};
	gpc_unwind_walk(&v, &regs, frames, MAX, &n);
	if (n > MAX)
		abort();
	gpc_unwind_table_free(w.table);
	return 0;
}

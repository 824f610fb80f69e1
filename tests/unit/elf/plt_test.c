/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/plt.h"

#include <elf.h>

#include "elf/symtab.h"
#include "fixture.h"

/* The slot of the global offset table that a stub of x86-64 jumps through. */
static uint64_t slot_of_stub(const struct fixture *f, uint64_t stub)
{
	uint8_t code[16];
	uint64_t offset = 0;
	int32_t distance;

	assert_true(gpc_elf_offset(&f->elf, stub, &offset));
	memcpy(code, f->bytes + offset, sizeof code);
	for (uint64_t i = 0; i + 6 <= sizeof code; i++) {
		if (code[i] != 0xff || code[i + 1] != 0x25)
			continue;
		memcpy(&distance, code + i + 2, sizeof distance);
		return stub + i + 6 + (uint64_t)(int64_t)distance;
	}
	return 0;
}

/* The name that the relocation of a slot has in the file. */
static void name_of_slot(const struct fixture *f, const struct gpc_elf_plt *plt, uint64_t slot,
			 char ret[64])
{
	for (uint32_t i = 0; i < plt->count; i++) {
		struct gpc_elf_symbol symbol;
		Elf64_Rela r;

		memcpy(&r, f->bytes + plt->relocations + i * sizeof r, sizeof r);
		if (r.r_offset != slot)
			continue;
		assert_true(gpc_elf_symbols_get(&f->elf, &plt->symbols, ELF64_R_SYM(r.r_info),
						&symbol));
		snprintf(ret, 64, "%s@plt", f->bytes + plt->symbols.strings.offset + symbol.name);
		return;
	}
	assert_true(0);
}

static void names_stubs(void **state)
{
	static const char *const names[] = {"plt.so", "pltnow.so"};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct gpc_elf_plt plt;
		struct gpc_symtab *t;
		struct fixture f;
		int found = 0;

		fixture_load(&f, names[i]);
		gpc_elf_plt_find(&f.elf, &plt);
		assert_int_equal(gpc_symtab_load(&f.elf, NULL, &t, NULL), GPC_OK);
		for (uint32_t k = 0; k < plt.count; k++) {
			uint64_t stub = plt.start + (uint64_t)k * plt.size;
			autofree char *name = NULL;
			struct gpc_symtab_hit hit;
			char expected[64];

			assert_true(gpc_symtab_find(t, stub + 15, &hit));
			assert_int_equal(hit.start, stub);
			name = gpc_symtab_name(t, &f.elf.source, NULL, hit.index);
			found += !strcmp(name, "external_one@plt");
			found += !strcmp(name, "external_two@plt");
			if (f.elf.machine != EM_X86_64)
				continue;
			name_of_slot(&f, &plt, slot_of_stub(&f, stub), expected);
			assert_string_equal(name, expected);
		}
		if (f.elf.is64)
			assert_int_equal(found, 2);
		gpc_symtab_free(t);
		fixture_deinit(&f);
	}
}

static void leaves_alone_what_does_not_match(void **state)
{
	struct gpc_elf_plt plt;
	struct gpc_elf_section *s;
	struct fixture f;

	(void)state;
	fixture_load(&f, "static");
	gpc_elf_plt_find(&f.elf, &plt);
	assert_int_equal(plt.count, 0);
	fixture_deinit(&f);

	fixture_load(&f, "plt.so");
	s = (struct gpc_elf_section *)gpc_elf_section_named(&f.elf, ".plt");
	s->size += 16;
	gpc_elf_plt_find(&f.elf, &plt);
	assert_int_equal(plt.count, 0);
	s->size = 8;
	gpc_elf_plt_find(&f.elf, &plt);
	assert_int_equal(plt.count, 0);
	fixture_deinit(&f);
}

static void survives_bad_relocations(void **state)
{
	struct gpc_elf_plt plt;
	uint64_t resolver;
	struct fixture f;
	char *name;

	(void)state;
	fixture_load(&f, "plt.so");
	gpc_elf_plt_find(&f.elf, &plt);
	gpc_elf_plt_target(&plt, &f.elf.source, plt.count, &name, &resolver);
	assert_null(name);
	memset(f.bytes + plt.relocations, 0xff, plt.count * sizeof(Elf64_Rela));
	gpc_elf_plt_target(&plt, &f.elf.source, 0, &name, &resolver);
	assert_null(name);
	plt.relocations = f.n - 8;
	gpc_elf_plt_target(&plt, &f.elf.source, 0, &name, &resolver);
	assert_null(name);
	fixture_deinit(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_stubs),
		cmocka_unit_test(leaves_alone_what_does_not_match),
		cmocka_unit_test(survives_bad_relocations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/file.h"

#include <elf.h>

#include "fixture.h"

static void opens_every_way_of_linking(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof fixture_names / sizeof *fixture_names; i++) {
		struct fixture f;

		fixture_load(&f, fixture_names[i]);
		assert_true(f.elf.segments.n > 1);
		assert_non_null(gpc_elf_section_named(&f.elf, ".text"));
		assert_null(gpc_elf_section_named(&f.elf, ".tex"));
		assert_non_null(gpc_elf_section_of_type(&f.elf, SHT_STRTAB));
		fixture_deinit(&f);
	}
}

/* Every byte of code has an address, and the address leads back to it. */
static void translates_both_ways(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof fixture_names / sizeof *fixture_names; i++) {
		const struct gpc_elf_section *text;
		uint64_t vaddr = 0, offset = 0;
		struct fixture f;

		fixture_load(&f, fixture_names[i]);
		text = gpc_elf_section_named(&f.elf, ".text");
		assert_true(gpc_elf_vaddr(&f.elf, text->offset + 5, &vaddr));
		assert_int_equal(vaddr, text->addr + 5);
		assert_true(gpc_elf_offset(&f.elf, vaddr, &offset));
		assert_int_equal(offset, text->offset + 5);
		assert_false(gpc_elf_offset(&f.elf, UINT64_MAX, &offset));
		assert_false(gpc_elf_vaddr(&f.elf, UINT64_C(1) << 40, &vaddr));
		fixture_deinit(&f);
	}
}

static void honours_the_load_bias(void **state)
{
	uint64_t vaddr = 0;
	struct fixture f;

	(void)state;
	fixture_load(&f, "bias.so");
	assert_true(gpc_elf_vaddr(&f.elf, 0, &vaddr));
	assert_int_equal(vaddr, 0x10000000);
	fixture_deinit(&f);
}

static void prefers_code_where_pages_are_shared(void **state)
{
	struct gpc_elf_segment segments[] = {
		{.type = PT_LOAD, .flags = PF_R, .offset = 0, .filesz = 0x1800, .vaddr = 0},
		{.type = PT_LOAD,
		 .flags = PF_R | PF_X,
		 .offset = 0x1800,
		 .filesz = 0x400,
		 .vaddr = 0x402800},
	};
	struct gpc_elf elf = {.segments = {.at = segments, .n = 2}};
	uint64_t vaddr = 0;

	(void)state;
	assert_true(gpc_elf_vaddr(&elf, 0x1900, &vaddr));
	assert_int_equal(vaddr, 0x402900);
	assert_true(gpc_elf_vaddr(&elf, 0x1000, &vaddr));
	assert_int_equal(vaddr, 0x402000);
	assert_true(gpc_elf_vaddr(&elf, 0x800, &vaddr));
	assert_int_equal(vaddr, 0x800);
	assert_false(gpc_elf_vaddr(&elf, 0x2000, &vaddr));
}

static gpc_status parse_with(size_t at, uint8_t byte)
{
	struct fixture f;
	gpc_status st;

	fixture_read(&f, "lib.so");
	f.bytes[at] = (char)byte;
	st = fixture_parse(&f);
	fixture_deinit(&f);
	return st;
}

static void refuses_other_files(void **state)
{
	(void)state;
	assert_int_equal(parse_with(0, 'x'), GPC_E_UNSUPPORTED);
	assert_int_equal(parse_with(EI_CLASS, 9), GPC_E_CORRUPT);
	assert_int_equal(parse_with(EI_DATA, ELFDATA2MSB), GPC_E_UNSUPPORTED);
	assert_int_equal(parse_with(offsetof(Elf64_Ehdr, e_type), ET_REL), GPC_E_UNSUPPORTED);
	assert_int_equal(parse_with(offsetof(Elf64_Ehdr, e_phentsize), 3), GPC_E_CORRUPT);
	assert_int_equal(parse_with(offsetof(Elf64_Ehdr, e_phoff) + 7, 0x7f), GPC_E_CORRUPT);
}

static void lives_without_sections(void **state)
{
	struct fixture f;

	(void)state;
	fixture_read(&f, "lib.so");
	memset(f.bytes + offsetof(Elf64_Ehdr, e_shoff), 0xff, 8);
	assert_int_equal(fixture_parse(&f), GPC_OK);
	assert_int_equal(f.elf.sections.n, 0);
	assert_null(gpc_elf_section_named(&f.elf, ".text"));
	fixture_deinit(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(opens_every_way_of_linking),
		cmocka_unit_test(translates_both_ways),
		cmocka_unit_test(honours_the_load_bias),
		cmocka_unit_test(prefers_code_where_pages_are_shared),
		cmocka_unit_test(refuses_other_files),
		cmocka_unit_test(lives_without_sections),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/unpack.h"

#include <elf.h>
#include <lzma.h>

#include "elf/lookup.h"
#include "fixture.h"

static void finds_symbols_in_debugdata(void **state)
{
	autofree uint8_t *bytes = NULL;
	uint64_t value = 0, expected = 1;
	struct fixture f;
	size_t n;

	(void)state;
	fixture_load(&f, "lib.so");
	assert_true(gpc_elf_lookup(&f.elf, "local_function", &expected));
	assert_int_equal(gpc_elf_mini(&f.elf, &bytes, &n, NULL), GPC_E_GONE);
	fixture_deinit(&f);
	fixture_load(&f, "mini.so");
	assert_null(gpc_elf_section_of_type(&f.elf, SHT_SYMTAB));
	assert_int_equal(gpc_elf_mini(&f.elf, &bytes, &n, NULL), GPC_OK);
	assert_memory_equal(bytes, ELFMAG, SELFMAG);
	assert_true(gpc_elf_lookup(&f.elf, "local_function", &value));
	assert_int_equal(value, expected);
	assert_false(gpc_elf_lookup(&f.elf, "no_such_function", &value));
	fixture_deinit(&f);
}

/* A megabyte of zeros, packed. */
static size_t pack(uint8_t out[65536])
{
	autofree uint8_t *zeros = calloc(1, 1 << 20);
	size_t n = 0;

	assert_int_equal(lzma_easy_buffer_encode(6, LZMA_CHECK_CRC32, NULL, zeros, 1 << 20, out, &n,
						 65536),
			 LZMA_OK);
	return n;
}

static gpc_status unpack(const uint8_t *packed, size_t n, size_t max, size_t *got)
{
	struct gpc_elf_source source = gpc_elf_source_memory(packed, n);
	struct gpc_elf_range range = {0, n};
	autofree uint8_t *bytes = NULL;

	return gpc_elf_unpack_xz(&source, &range, max, &bytes, got, NULL);
}

static void bounds_xz(void **state)
{
	uint8_t packed[65536];
	size_t n = pack(packed), got;

	(void)state;
	assert_int_equal(unpack(packed, n, 2 << 20, &got), GPC_OK);
	assert_int_equal(got, 1 << 20);
	assert_int_equal(unpack(packed, n, (1 << 20) - 1, &got), GPC_E_BUDGET);
	assert_int_equal(unpack(packed, n - 1, 2 << 20, &got), GPC_E_CORRUPT);
	packed[n / 2] ^= 1;
	assert_int_equal(unpack(packed, n, 2 << 20, &got), GPC_E_CORRUPT);
	assert_int_equal(unpack(packed, 0, 2 << 20, &got), GPC_E_CORRUPT);
}

static void unpacks_sections(void **state)
{
	struct gpc_elf_part part;
	size_t room = 1 << 20;
	struct fixture f;

	(void)state;
	fixture_load(&f, "linesz.so");
	assert_int_equal(gpc_elf_part_init(&f.elf, "info", &room, &part, NULL), GPC_OK);
	assert_non_null(part.unpacked);
	assert_int_equal(room, (1 << 20) - part.range.size);
	assert_true(part.range.size > 100);
	gpc_elf_part_deinit(&part);
	room = 10;
	assert_int_equal(gpc_elf_part_init(&f.elf, "info", &room, &part, NULL), GPC_E_BUDGET);
	assert_int_equal(gpc_elf_part_init(&f.elf, "nothing", &room, &part, NULL), GPC_OK);
	assert_int_equal(part.range.size, 0);
	fixture_deinit(&f);
}

static void refuses_damaged_sections(void **state)
{
	const struct gpc_elf_section *s;
	struct gpc_elf_part part;
	size_t room = SIZE_MAX;
	Elf64_Chdr head;
	struct fixture f;

	(void)state;
	fixture_load(&f, "linesz.so");
	s = gpc_elf_section_named(&f.elf, ".debug_info");
	memcpy(&head, f.bytes + s->offset, sizeof head);
	if (!f.elf.is64 || head.ch_type != ELFCOMPRESS_ZLIB)
		skip();
	head.ch_size = UINT64_C(1) << 40;
	memcpy(f.bytes + s->offset, &head, sizeof head);
	assert_int_equal(gpc_elf_part_init(&f.elf, "info", &room, &part, NULL), GPC_E_CORRUPT);
	head.ch_size = 5000;
	memcpy(f.bytes + s->offset, &head, sizeof head);
	assert_int_equal(gpc_elf_part_init(&f.elf, "info", &room, &part, NULL), GPC_E_CORRUPT);
	head.ch_type = 77;
	memcpy(f.bytes + s->offset, &head, sizeof head);
	assert_int_equal(gpc_elf_part_init(&f.elf, "info", &room, &part, NULL), GPC_E_UNSUPPORTED);
	fixture_deinit(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_symbols_in_debugdata),
		cmocka_unit_test(bounds_xz),
		cmocka_unit_test(unpacks_sections),
		cmocka_unit_test(refuses_damaged_sections),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

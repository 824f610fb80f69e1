/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/buildid.h"

#include <elf.h>

#include "fixture.h"

static const uint8_t expected[20] = {0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99,
				     0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff, 0x00, 0x11, 0x22, 0x33};

static void finds_it_in_segments(void **state)
{
	uint8_t id[GPC_ELF_BUILD_ID_MAX];
	struct fixture f;

	(void)state;
	for (size_t i = 0; i < sizeof fixture_names / sizeof *fixture_names; i++) {
		fixture_load(&f, fixture_names[i]);
		if (!strcmp(fixture_names[i], "noid.so")) {
			assert_int_equal(gpc_elf_build_id(&f.elf, id), 0);
		} else {
			assert_int_equal(gpc_elf_build_id(&f.elf, id), 20);
			assert_memory_equal(id, expected, 20);
		}
		fixture_deinit(&f);
	}
}

static void finds_it_in_sections(void **state)
{
	uint8_t id[GPC_ELF_BUILD_ID_MAX];
	struct fixture f;

	(void)state;
	fixture_load(&f, "lib.so");
	for (size_t i = 0; i < f.elf.segments.n; i++)
		if (f.elf.segments.at[i].type == PT_NOTE)
			f.elf.segments.at[i].type = PT_NULL;
	assert_int_equal(gpc_elf_build_id(&f.elf, id), 20);
	assert_memory_equal(id, expected, 20);
	fixture_deinit(&f);
}

/* A note of size bytes, before it one of another kind if is_second. */
static size_t id_of_note(uint32_t name_size, uint32_t size, bool is_second, size_t file_size)
{
	uint32_t bytes[64] = {0};
	uint32_t *note = is_second ? bytes + 5 : bytes;
	uint8_t id[GPC_ELF_BUILD_ID_MAX];
	struct gpc_elf_segment segment = {.type = PT_NOTE, .filesz = sizeof bytes, .align = 4};
	struct gpc_elf elf = {.source = gpc_elf_source_memory(bytes, file_size),
			      .segments = {.at = &segment, .n = 1}};

	if (is_second) {
		bytes[0] = 4;
		bytes[1] = 3; /* padded to 4 */
		bytes[2] = 1;
		memcpy(bytes + 3, "GNU", 4);
	}
	note[0] = name_size;
	note[1] = size;
	note[2] = NT_GNU_BUILD_ID;
	memcpy(note + 3, "GNU", 4);
	return gpc_elf_build_id(&elf, id);
}

static void survives_odd_notes(void **state)
{
	(void)state;
	assert_int_equal(id_of_note(4, 8, false, 256), 8);
	assert_int_equal(id_of_note(4, 8, true, 256), 8);
	assert_int_equal(id_of_note(4, 65, false, 256), 0);
	assert_int_equal(id_of_note(4, UINT32_MAX, false, 256), 0);
	assert_int_equal(id_of_note(UINT32_MAX, 8, false, 256), 0);
	assert_int_equal(id_of_note(4, 20, false, 30), 0);
	assert_int_equal(id_of_note(4, 8, false, 3), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_it_in_segments),
		cmocka_unit_test(finds_it_in_sections),
		cmocka_unit_test(survives_odd_notes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

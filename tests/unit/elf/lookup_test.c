/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/lookup.h"

#include <elf.h>

#include "fixture.h"

static void finds_by_any_hash(void **state)
{
	const char *const names[] = {"lib.so", "sysv.so", "stripped.so", "bias.so"};

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		uint64_t function = 0, data = 0;
		struct fixture f;

		fixture_load(&f, names[i]);
		assert_true(gpc_elf_lookup_dynamic(&f.elf, "exported_function", &function));
		assert_true(gpc_elf_lookup_dynamic(&f.elf, "exported_data", &data));
		assert_true(data > function && function > 0);
		assert_false(gpc_elf_lookup_dynamic(&f.elf, "exported_functio", &data));
		assert_false(gpc_elf_lookup_dynamic(&f.elf, "exported_function2", &data));
		assert_false(gpc_elf_lookup_dynamic(&f.elf, "local_function", &data));
		assert_false(gpc_elf_lookup_dynamic(&f.elf, "", &data));
		fixture_deinit(&f);
	}
}

static void takes_the_default_version(void **state)
{
	uint64_t found = 0, newest = 0;
	struct fixture f;

	(void)state;
	fixture_load(&f, "lib.so");
	assert_true(gpc_elf_lookup_dynamic(&f.elf, "versioned", &found));
	assert_true(gpc_elf_lookup_dynamic(&f.elf, "versioned_new", &newest));
	assert_int_equal(found, newest);
	fixture_deinit(&f);
}

static void falls_back_to_symtab(void **state)
{
	uint64_t vaddr = 0;
	struct fixture f;

	(void)state;
	fixture_load(&f, "lib.so");
	assert_true(gpc_elf_lookup(&f.elf, "local_function", &vaddr));
	assert_true(gpc_elf_lookup(&f.elf, "exported_function", &vaddr));
	fixture_deinit(&f);
	fixture_load(&f, "static");
	assert_false(gpc_elf_lookup_dynamic(&f.elf, "exported_data", &vaddr));
	assert_true(gpc_elf_lookup(&f.elf, "exported_data", &vaddr));
	fixture_deinit(&f);
	fixture_load(&f, "stripped.so");
	assert_false(gpc_elf_lookup(&f.elf, "local_function", &vaddr));
	fixture_deinit(&f);
}

static void answers_for_descriptors(void **state)
{
	autoclose int fd = fixture_open("bias.so");
	autoclose int none = open("/dev/null", O_RDONLY | O_CLOEXEC);
	uint64_t base = 0, vaddr = 0;

	(void)state;
	assert_int_equal(gpc_elf_lookup_fd(fd, "exported_data", 0, &base, &vaddr, NULL), GPC_OK);
	assert_int_equal(base, 0x10000000);
	assert_true(vaddr > base && vaddr < base + 0x100000);
	assert_int_equal(gpc_elf_lookup_fd(fd, "absent", 0, &base, &vaddr, NULL), GPC_E_GONE);
	assert_int_equal(gpc_elf_lookup_fd(fd, "exported_data", 1 << 30, &base, &vaddr, NULL),
			 GPC_E_CORRUPT);
	assert_int_equal(gpc_elf_lookup_fd(none, "x", 0, &base, &vaddr, NULL), GPC_E_UNSUPPORTED);
}

/* Chains that do not end, buckets that point anywhere. */
static void survives_a_hostile_hash(void **state)
{
	const struct gpc_elf_section *hash;
	struct fixture f;
	uint64_t vaddr;

	(void)state;
	fixture_load(&f, "lib.so");
	hash = gpc_elf_section_of_type(&f.elf, SHT_GNU_HASH);
	for (uint64_t at = 0; at < hash->size; at += 4) {
		uint32_t kept;

		memcpy(&kept, f.bytes + hash->offset + at, sizeof kept);
		memset(f.bytes + hash->offset + at, 0xfe, sizeof kept);
		gpc_elf_lookup_dynamic(&f.elf, "exported_function", &vaddr);
		memcpy(f.bytes + hash->offset + at, &kept, sizeof kept);
	}
	memset(f.bytes + hash->offset, 0, 4); /* no buckets: read through */
	assert_true(gpc_elf_lookup_dynamic(&f.elf, "exported_function", &vaddr));
	fixture_deinit(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_by_any_hash),
		cmocka_unit_test(takes_the_default_version),
		cmocka_unit_test(falls_back_to_symtab),
		cmocka_unit_test(answers_for_descriptors),
		cmocka_unit_test(survives_a_hostile_hash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

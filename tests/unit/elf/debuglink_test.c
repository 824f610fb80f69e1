/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/debuglink.h"

#include <elf.h>

#include "elf/symtab.h"
#include "elf/unpack.h"
#include "fixture.h"

static struct gpc_debuglink link_of(const char *name)
{
	struct gpc_debuglink link;
	struct fixture f;

	fixture_load(&f, name);
	gpc_debuglink_read(&f.elf, &link);
	fixture_deinit(&f);
	return link;
}

static bool matches(const char *stripped, const char *debug)
{
	struct gpc_debuglink link = link_of(stripped);
	autoclose int fd = fixture_open(debug);

	return gpc_debuglink_is(&link, fd);
}

static void reads_what_a_file_says(void **state)
{
	struct gpc_debuglink link = link_of("linked.so");

	(void)state;
	assert_string_equal(link.name, "lib.debug");
	assert_int_equal(link.build_id_len, 20);
	assert_false(link.has_symbols);
	assert_false(link.has_lines);
	link = link_of("crc.so");
	assert_string_equal(link.name, "noid.debug");
	assert_int_equal(link.build_id_len, 0);
	link = link_of("lib.so");
	assert_string_equal(link.name, "");
	assert_true(link.has_symbols);
	assert_true(link_of("lines4.so").has_lines);
}

/* The build-id tells where both have one, else the CRC. */
static void knows_the_debug_file(void **state)
{
	(void)state;
	assert_true(matches("linked.so", "lib.debug"));
	assert_true(matches("linked.so", "sysv.so")); /* same build-id */
	assert_false(matches("linked.so", "noid.debug"));
	assert_true(matches("crc.so", "noid.debug"));
	assert_false(matches("crc.so", "lib.debug"));
	assert_false(matches("crc.so", "noid.so"));
	assert_false(matches("noid.so", "noid.debug")); /* names none */
}

static void changes_of_the_section(const char *text, size_t n, const char *expected)
{
	const struct gpc_elf_section *s;
	struct gpc_debuglink link;
	struct fixture f;

	fixture_load(&f, "crc.so");
	s = gpc_elf_section_named(&f.elf, ".gnu_debuglink");
	assert_non_null(s);
	assert_true(n <= s->size);
	memcpy(f.bytes + s->offset, text, n);
	gpc_debuglink_read(&f.elf, &link);
	assert_string_equal(link.name, expected);
	fixture_deinit(&f);
}

static void believes_no_path(void **state)
{
	(void)state;
	changes_of_the_section("noid.debug", 11, "noid.debug");
	changes_of_the_section("../../x", 8, "");
	changes_of_the_section("..", 3, "");
	changes_of_the_section("", 1, "");
	changes_of_the_section("noid.debug.and.", 15, "");
}

/* Written over another section, as dwz would. */
static void reads_where_shared_parts_are(void **state)
{
	static const char name[] = ".gnu_debugaltlink", text[] = "/usr/lib/debug/.dwz/x";
	struct gpc_elf_section *s;
	struct gpc_altlink link;
	struct fixture f;

	(void)state;
	fixture_load(&f, "mini.so");
	gpc_altlink_read(&f.elf, &link);
	assert_string_equal(link.name, "");
	s = &f.elf.sections.at[gpc_elf_section_named(&f.elf, ".gnu_debugdata") - f.elf.sections.at];
	assert_true(s->size > 400);
	s->name = 1;
	memcpy(f.bytes + f.elf.sections.at[f.elf.names].offset + 1, name, sizeof name);
	memcpy(f.bytes + s->offset, text, sizeof text);
	gpc_altlink_read(&f.elf, &link);
	assert_string_equal(link.name, ""); /* far more than a build-id behind it */
	s->size = sizeof text + 20;
	gpc_altlink_read(&f.elf, &link);
	assert_string_equal(link.name, text);
	assert_int_equal(link.build_id_len, 20);
	assert_memory_equal(link.build_id, f.bytes + s->offset + sizeof text, 20);
	s->size = sizeof text;
	gpc_altlink_read(&f.elf, &link);
	assert_string_equal(link.name, "");
	fixture_deinit(&f);
}

/* .symtab of the other file, .dynsym of the first: as if it had not been stripped. */
static void names_come_from_both(void **state)
{
	struct fixture full, bare, debug;
	struct gpc_symtab *a, *b;

	(void)state;
	fixture_load(&full, "lib.so");
	fixture_load(&bare, "linked.so");
	fixture_load(&debug, "lib.debug");
	assert_int_equal(gpc_symtab_load(&full.elf, NULL, &a, NULL), GPC_OK);
	assert_int_equal(gpc_symtab_load(&bare.elf, &debug.elf, &b, NULL), GPC_OK);
	assert_int_equal(gpc_symtab_count(a), gpc_symtab_count(b));
	for (uint64_t vaddr = 0x1000; vaddr < 0x1200; vaddr++) {
		struct gpc_symtab_hit x, y;
		autofree char *one = NULL;
		autofree char *two = NULL;

		assert_int_equal(gpc_symtab_find(a, vaddr, &x), gpc_symtab_find(b, vaddr, &y));
		if (!gpc_symtab_find(a, vaddr, &x))
			continue;
		one = gpc_symtab_name(a, &full.elf.source, NULL, x.index);
		two = gpc_symtab_name(b, &bare.elf.source, &debug.elf.source, y.index);
		assert_string_equal(one, two);
	}
	gpc_symtab_free(a);
	gpc_symtab_free(b);
	fixture_deinit(&full);
	fixture_deinit(&bare);
	fixture_deinit(&debug);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_what_a_file_says),
		cmocka_unit_test(knows_the_debug_file),
		cmocka_unit_test(believes_no_path),
		cmocka_unit_test(reads_where_shared_parts_are),
		cmocka_unit_test(names_come_from_both),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

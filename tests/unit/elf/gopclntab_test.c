/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/gopclntab.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "gotable.h"

static const int layouts[] = {2, 16, 18, 20};

static const struct gofunction functions[] = {
	{"main.main", 0, {10, 12}, 0},
	{"main.(*T).Method", 0x40, {20, 20}, 1},
	{"main.f[go.shape.int,go.shape.[]uint8].func1", 0x50, {300, 7}, 0},
	{NULL, 0x100, {0, 0}, 0},
};

struct fixture {
	struct gotable *table;
	struct gpc_elf elf;
	struct gpc_gopclntab t;
};

static bool load(struct fixture *f)
{
	struct gpc_elf_source source = gpc_elf_source_memory(f->table->bytes, GO_FILE);

	assert_int_equal(gpc_elf_init(&f->elf, &source, NULL), GPC_OK);
	return gpc_gopclntab_find(&f->elf, &f->t);
}

static void make(struct fixture *f, int layout, bool has_text, const char *section)
{
	f->table = malloc(sizeof *f->table);
	go_build(f->table, layout, functions, has_text);
	go_wrap(f->table, section);
}

static void drop(struct fixture *f)
{
	gpc_elf_deinit(&f->elf);
	free(f->table);
}

static void expect(const struct fixture *f, uint32_t at, const char *name, const char *file,
		   uint32_t line)
{
	struct gpc_gofunc function;
	autofree char *found = NULL;
	struct gpc_dwarf_place places[GPC_DWARF_DEPTH];
	size_t n;

	assert_true(gpc_gopclntab_function(&f->t, &f->elf.source, GO_TEXT + at, &function));
	assert_true(function.start <= GO_TEXT + at && GO_TEXT + at < function.end);
	found = gpc_gopclntab_name(&f->t, &f->elf.source, &function);
	assert_string_equal(found, name);
	n = gpc_gopclntab_lines(&f->t, &f->elf.source, &function, GO_TEXT + at, places);
	assert_int_equal(n, 1);
	assert_null(places[0].function);
	assert_string_equal(places[0].file, file);
	assert_int_equal(places[0].line, line);
	gpc_dwarf_places_deinit(places, n);
}

static void expect_all(const struct fixture *f)
{
	struct gpc_gofunc function;

	expect(f, 0, "main.main", "/src/main.go", 10);
	expect(f, 7, "main.main", "/src/main.go", 10);
	expect(f, 8, "main.main", "/src/main.go", 12);
	expect(f, 0x3f, "main.main", "/src/main.go", 12);
	expect(f, 0x40, "main.(*T).Method", "/src/other.go", 20);
	expect(f, 0x50, "main.f[...].func1", "/src/main.go", 300);
	expect(f, 0xff, "main.f[...].func1", "/src/main.go", 7);
	assert_false(gpc_gopclntab_function(&f->t, &f->elf.source, GO_TEXT - 1, &function));
	assert_false(gpc_gopclntab_function(&f->t, &f->elf.source, GO_TEXT + 0x100, &function));
}

static void knows_all_layouts(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
		struct fixture f;

		make(&f, layouts[i], true, ".gopclntab");
		assert_true(load(&f));
		assert_int_equal(f.t.layout, layouts[i]);
		assert_int_equal(f.t.count, 3);
		expect_all(&f);
		drop(&f);
	}
}

static void counts_its_work(void **state)
{
	struct gpc_dwarf_place places[GPC_DWARF_DEPTH];
	struct gpc_gofunc function;
	int64_t work = 100;
	struct fixture f;
	size_t n;

	(void)state;
	make(&f, 20, true, ".gopclntab");
	assert_true(load(&f));
	assert_true(gpc_gopclntab_function(&f.t, &f.elf.source, GO_TEXT, &function));
	assert_null(function.work);
	function.work = &work;
	n = gpc_gopclntab_lines(&f.t, &f.elf.source, &function, GO_TEXT, places);
	assert_int_equal(n, 1);
	gpc_dwarf_places_deinit(places, n);
	assert_true(work < 100 && work > 0);
	work = 0;
	assert_int_equal(gpc_gopclntab_lines(&f.t, &f.elf.source, &function, GO_TEXT, places), 0);
	drop(&f);
}

static void finds_the_table_without_its_section(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
		struct fixture f;

		make(&f, layouts[i], true, ".data.rel.ro");
		assert_true(load(&f));
		expect_all(&f);
		drop(&f);
	}
}

/* Go 1.26 does not write where the code begins, and before, position independent
 * programs had it in a relocation. */
static void finds_the_code_by_its_section(void **state)
{
	struct fixture f;

	(void)state;
	make(&f, 20, false, ".gopclntab");
	assert_true(load(&f));
	expect_all(&f);
	drop(&f);
}

/* With code of C before that of Go the module's data tell. */
static void finds_the_code_by_the_module(void **state)
{
	uint64_t words[24] = {GO_DATA};
	struct fixture f;

	(void)state;
	make(&f, 20, false, ".gopclntab");
	words[20] = GO_TEXT + 0x200;
	words[21] = GO_TEXT + 0x300;
	words[22] = GO_TEXT + 0x200;
	words[23] = GO_TEXT + 0x400;
	memcpy(f.table->bytes + GO_OFFSET + 0x2000, words, sizeof words);
	assert_true(load(&f));
	assert_int_equal(f.t.text, GO_TEXT + 0x200);
	expect(&f, 0x240, "main.(*T).Method", "/src/other.go", 20);
	drop(&f);
}

static void refuses_others(void **state)
{
	struct fixture f;

	(void)state;
	make(&f, 20, true, ".gopclntab");
	f.table->bytes[GO_OFFSET] ^= 8; /* unknown magic */
	assert_false(load(&f));
	drop(&f);
	make(&f, 18, true, ".gopclntab");
	f.table->bytes[GO_OFFSET + 7] = 3; /* size of a pointer */
	assert_false(load(&f));
	drop(&f);
	make(&f, 16, true, ".gopclntab");
	f.table->bytes[GO_OFFSET + 8 + 2] = 0x7f; /* more functions than the file has bytes */
	assert_false(load(&f));
	drop(&f);
}

static void look_around(const struct fixture *f)
{
	for (uint32_t at = 0; at < 0x100; at += 8) {
		struct gpc_gofunc function;
		struct gpc_dwarf_place places[GPC_DWARF_DEPTH];

		if (!gpc_gopclntab_function(&f->t, &f->elf.source, GO_TEXT + at, &function))
			continue;
		free(gpc_gopclntab_name(&f->t, &f->elf.source, &function));
		gpc_dwarf_places_deinit(places,
					gpc_gopclntab_lines(&f->t, &f->elf.source, &function,
							    GO_TEXT + at, places));
	}
}

static void survives_damage(void **state)
{
	uint64_t seed = 1;

	(void)state;
	for (int i = 0; i < 4000; i++) {
		struct fixture f;

		make(&f, layouts[i % 4], i & 4, ".gopclntab");
		for (int k = 0; k < 3; k++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			f.table->bytes[GO_OFFSET + 8 + (seed >> 33) % 600] = (uint8_t)(seed >> 25);
		}
		if (load(&f))
			look_around(&f);
		drop(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(knows_all_layouts),
		cmocka_unit_test(counts_its_work),
		cmocka_unit_test(finds_the_table_without_its_section),
		cmocka_unit_test(finds_the_code_by_its_section),
		cmocka_unit_test(finds_the_code_by_the_module),
		cmocka_unit_test(refuses_others),
		cmocka_unit_test(survives_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

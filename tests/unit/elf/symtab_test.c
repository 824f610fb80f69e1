/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/symtab.h"

#include <dlfcn.h>
#include <elf.h>
#include <inttypes.h>

#include "elf/lookup.h"
#include "fixture.h"

static struct gpc_symtab *load(const struct gpc_elf *elf)
{
	struct gpc_symtab *t = NULL;
	struct gpc_err err = {0};

	assert_int_equal(gpc_symtab_load(elf, NULL, &t, &err), GPC_OK);
	return t;
}

/* The name of what covers symbol + plus; "" when nothing does. */
static void expect(const struct fixture *f, const struct gpc_symtab *t, const char *symbol,
		   uint64_t plus, const char *name)
{
	struct gpc_symtab_hit hit;
	autofree char *found = NULL;
	uint64_t vaddr = 0;

	assert_true(gpc_elf_lookup(&f->elf, symbol, &vaddr));
	if (!gpc_symtab_find(t, vaddr + plus, &hit)) {
		assert_string_equal(name, "");
		return;
	}
	assert_true(hit.start <= vaddr + plus && vaddr + plus < hit.start + hit.size);
	found = gpc_symtab_name(t, &f->elf.source, NULL, hit.index);
	assert_string_equal(found, name);
}

static void names_functions(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof fixture_names / sizeof *fixture_names; i++) {
		struct fixture f;
		struct gpc_symtab *t;

		if (!strcmp(fixture_names[i], "stripped.so"))
			continue;
		fixture_load(&f, fixture_names[i]);
		t = load(&f.elf);
		expect(&f, t, "exported_function", 0, "exported_function");
		expect(&f, t, "weak_name", 1, "exported_function");
		expect(&f, t, "local_function", 0, "local_function");
		expect(&f, t, "indirect", 0, "indirect");
		expect(&f, t, "exported_data", 0, "");
		gpc_symtab_free(t);
		fixture_deinit(&f);
	}
}

static void chooses_among_aliases(void **state)
{
	struct fixture f;
	struct gpc_symtab *t;

	(void)state;
	fixture_load(&f, "lib.so");
	t = load(&f.elf);
	expect(&f, t, "alias_long", 0, "alias_ab");
	expect(&f, t, "alias_long", 63, "alias_ab");
	gpc_symtab_free(t);
	fixture_deinit(&f);
}

static void extends_what_has_no_size(void **state)
{
	struct fixture f;
	struct gpc_symtab *t;

	(void)state;
	fixture_load(&f, "lib.so");
	t = load(&f.elf);
	expect(&f, t, "unsized", 63, "unsized");
	expect(&f, t, "label", 0, "label");
	expect(&f, t, "label", 63, "label");
	expect(&f, t, "own_section", 31, "own_section");
	expect(&f, t, "own_section", 32, "");
	gpc_symtab_free(t);
	fixture_deinit(&f);
}

static void finds_the_innermost(void **state)
{
	struct fixture f;
	struct gpc_symtab *t;

	(void)state;
	fixture_load(&f, "lib.so");
	t = load(&f.elf);
	expect(&f, t, "outer", 31, "outer");
	expect(&f, t, "outer", 32, "inner");
	expect(&f, t, "outer", 63, "inner");
	expect(&f, t, "outer", 64, "outer");
	expect(&f, t, "outer", 127, "outer");
	expect(&f, t, "outer", 128, "");
	expect(&f, t, "last", 16, "");
	gpc_symtab_free(t);
	fixture_deinit(&f);
}

static void cuts_versions(void **state)
{
	struct fixture f;
	struct gpc_symtab *t;

	(void)state;
	fixture_load(&f, "lib.so");
	t = load(&f.elf);
	/* Two names of one address; the shorter one is "versioned@OLD". */
	expect(&f, t, "versioned_old", 0, "versioned");
	gpc_symtab_free(t);
	fixture_deinit(&f);
}

static void uses_dynsym_alone(void **state)
{
	struct fixture f;
	struct gpc_symtab *t;

	(void)state;
	fixture_load(&f, "stripped.so");
	t = load(&f.elf);
	expect(&f, t, "exported_function", 0, "exported_function");
	expect(&f, t, "unsized", 63, "unsized");
	gpc_symtab_free(t);
	fixture_deinit(&f);
}

static void finds_dynsym_without_sections(void **state)
{
	const char *const names[] = {"lib.so", "sysv.so"};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct fixture f;
		struct gpc_symtab *t;

		fixture_read(&f, names[i]);
		memset(f.bytes + offsetof(Elf64_Ehdr, e_shoff), 0, 8);
		assert_int_equal(fixture_parse(&f), GPC_OK);
		t = load(&f.elf);
		expect(&f, t, "exported_function", 0, "exported_function");
		expect(&f, t, "outer", 32, "inner");
		assert_true(gpc_symtab_count(t) >= 8);
		gpc_symtab_free(t);
		fixture_deinit(&f);
	}
}

/* Both tables name each exported function: it is kept once. */
static void keeps_one_of_two_tables(void **state)
{
	struct gpc_symtab *t, *bare;
	struct fixture f, stripped;

	(void)state;
	fixture_load(&f, "lib.so");
	fixture_load(&stripped, "stripped.so");
	t = load(&f.elf);
	bare = load(&stripped.elf);
	/* local_function, resolve(d); less when the compiler merges something. */
	assert_in_range(gpc_symtab_count(t), gpc_symtab_count(bare), gpc_symtab_count(bare) + 4);
	assert_true(gpc_symtab_bytes(t) < 400 + 12 * gpc_symtab_count(t));
	gpc_symtab_free(t);
	gpc_symtab_free(bare);
	fixture_deinit(&f);
	fixture_deinit(&stripped);
}

static void translates_offsets(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof fixture_names / sizeof *fixture_names; i++) {
		uint64_t vaddr = 0, offset = 0, back = 0;
		struct gpc_symtab *t;
		struct fixture f;

		fixture_load(&f, fixture_names[i]);
		t = load(&f.elf);
		assert_true(gpc_elf_lookup(&f.elf, "outer", &vaddr));
		assert_true(gpc_elf_offset(&f.elf, vaddr, &offset));
		assert_true(gpc_symtab_vaddr(t, offset, &back));
		assert_int_equal(back, vaddr);
		assert_false(gpc_symtab_vaddr(t, UINT64_MAX, &back));
		gpc_symtab_free(t);
		fixture_deinit(&f);
	}
}

/* One line of readelf: "Num: Value Size Type Bind Vis Ndx Name". */
static bool read_function(const char *line, uint64_t *value, uint64_t *size)
{
	char type[16], section[16];

	return sscanf(line, " %*d: %" SCNx64 " %" SCNi64 " %15s %*s %*s %15s", value, size, type,
		      section) == 4 &&
	       (!strcmp(type, "FUNC") || !strcmp(type, "IFUNC")) && strcmp(section, "UND");
}

/* Every function that readelf sees begins where we say; returns their number. */
static size_t compare_with_readelf(const char *path)
{
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct gpc_elf_source source;
	struct gpc_symtab *t;
	struct gpc_elf elf;
	char command[600], line[4096];
	uint64_t value, size;
	size_t n = 0;
	FILE *tool;

	assert_int_equal(gpc_elf_source_fd(fd, &source, NULL), GPC_OK);
	assert_int_equal(gpc_elf_init(&elf, &source, NULL), GPC_OK);
	t = load(&elf);
	snprintf(command, sizeof command, "readelf -sW '%s' 2>/dev/null", path);
	tool = popen(command, "r");
	assert_non_null(tool);
	while (fgets(line, sizeof line, tool)) {
		struct gpc_symtab_hit hit;

		if (!read_function(line, &value, &size))
			continue;
		assert_true(gpc_symtab_find(t, value, &hit));
		assert_int_equal(hit.start, value);
		assert_true(hit.size >= size);
		n++;
	}
	pclose(tool);
	gpc_symtab_free(t);
	gpc_elf_deinit(&elf);
	return n;
}

static void agrees_with_readelf(void **state)
{
	Dl_info info;
	char path[512];

	(void)state;
	for (size_t i = 0; i < sizeof fixture_names / sizeof *fixture_names; i++) {
		fixture_path(fixture_names[i], path);
		assert_true(compare_with_readelf(path) > 5);
	}
	assert_true(dladdr(dlsym(RTLD_DEFAULT, "qsort"), &info));
	if (access(info.dli_fname, R_OK) == 0 && strstr(info.dli_fname, "libc"))
		assert_true(compare_with_readelf(info.dli_fname) > 1000);
}

/* Where an assembler marks code and data with $x and $d, those are no names. */
static void leaves_out_mapping_symbols(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof fixture_names / sizeof *fixture_names; i++) {
		struct gpc_symtab_hit hit;
		struct gpc_symtab *t;
		struct fixture f;
		uint64_t vaddr;

		fixture_load(&f, fixture_names[i]);
		t = load(&f.elf);
		for (uint64_t at = 0; at < f.n; at += 4) {
			autofree char *name = NULL;

			if (gpc_symtab_vaddr(t, at, &vaddr) && gpc_symtab_find(t, vaddr, &hit))
				name = gpc_symtab_name(t, &f.elf.source, NULL, hit.index);
			assert_true(!name || *name != '$');
		}
		gpc_symtab_free(t);
		fixture_deinit(&f);
	}
}

/* Walks through all that a damaged file claims to have. */
static void exercise(struct fixture *f)
{
	struct gpc_symtab *t = NULL;
	struct gpc_symtab_hit hit;
	uint64_t vaddr;

	if (fixture_parse(f) < 0)
		return;
	gpc_elf_lookup(&f->elf, "exported_function", &vaddr);
	if (gpc_symtab_load(&f->elf, NULL, &t, NULL) == GPC_OK)
		for (uint64_t at = 0; at < f->n; at += 8)
			if (gpc_symtab_vaddr(t, at, &vaddr) && gpc_symtab_find(t, vaddr, &hit))
				free(gpc_symtab_name(t, &f->elf.source, NULL, hit.index));
	gpc_symtab_free(t);
	gpc_elf_deinit(&f->elf);
}

static void survives_truncation(void **state)
{
	(void)state;
	for (size_t n = 0;; n += 61) {
		struct fixture f;
		char *exact;

		fixture_read(&f, "together.so");
		if (n > f.n) {
			free(f.bytes);
			break;
		}
		exact = malloc(n + 1); /* so that the sanitizer sees the end */
		memcpy(exact, f.bytes, n);
		free(f.bytes);
		f.bytes = exact;
		f.n = n;
		exercise(&f);
		free(f.bytes);
	}
}

static void survives_damage(void **state)
{
	uint32_t seed = 1;
	struct fixture f;
	char *good;

	(void)state;
	fixture_read(&f, "together.so");
	good = malloc(f.n);
	memcpy(good, f.bytes, f.n);
	for (int round = 0; round < 2000; round++) {
		memcpy(f.bytes, good, f.n);
		for (int i = 0; i < 4; i++) {
			seed = seed * 1664525 + 1013904223;
			/* Half of them in the headers, where it hurts. */
			f.bytes[(seed >> 8) % (round % 2 ? f.n : 0x200)] = (char)(seed >> 3);
		}
		exercise(&f);
	}
	free(good);
	free(f.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_functions),
		cmocka_unit_test(chooses_among_aliases),
		cmocka_unit_test(extends_what_has_no_size),
		cmocka_unit_test(finds_the_innermost),
		cmocka_unit_test(cuts_versions),
		cmocka_unit_test(uses_dynsym_alone),
		cmocka_unit_test(finds_dynsym_without_sections),
		cmocka_unit_test(keeps_one_of_two_tables),
		cmocka_unit_test(translates_offsets),
		cmocka_unit_test(agrees_with_readelf),
		cmocka_unit_test(leaves_out_mapping_symbols),
		cmocka_unit_test(survives_truncation),
		cmocka_unit_test(survives_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/dwarf.h"

#include <elf.h>
#include <unistd.h>

#include "base/clock.h"
#include "elf/lookup.h"
#include "elf/symtab.h"
#include "fixture.h"

static const char *const versions[] = {"lines2.so", "lines3.so",   "lines4.so",    "lines5.so",
				       "linesz.so", "linesgnu.so", "lineszstd.so", "lines64.so"};

/* The line of lines.c with these words. */
static uint32_t line_of(const char *words)
{
	autofile FILE *f = fopen(LINES_C, "r");
	char line[256];

	assert_non_null(f);
	for (uint32_t n = 1; fgets(line, sizeof line, f); n++)
		if (strstr(line, words))
			return n;
	fail_msg("%s", words);
	return 0;
}

static bool is_place(const struct gpc_dwarf_place *p, const char *function, uint32_t line)
{
	const char *slash = p->file ? strrchr(p->file, '/') : NULL;

	return p->line == line && slash && strcmp(slash, "/lines.c") == 0 && p->file[0] == '/' &&
	       (function ? p->function && strcmp(p->function, function) == 0 : !p->function);
}

struct seen {
	bool before, between, innermost;
};

static void look(struct gpc_dwarf *d, uint64_t vaddr, const char *call, struct seen *seen)
{
	struct gpc_dwarf_place p[GPC_DWARF_DEPTH];
	size_t n = gpc_dwarf_find(d, vaddr, p);

	assert_true(n >= 1 && n <= 3);
	assert_null(p[n - 1].function);
	if (n == 1 && is_place(p, NULL, line_of("before the call")))
		seen->before = true;
	if (n == 2 && is_place(p, "between", line_of("in between")) &&
	    is_place(p + 1, NULL, line_of(call)))
		seen->between = true;
	if (n == 3 && is_place(p, "innermost", line_of("in innermost")) &&
	    is_place(p + 1, "between", line_of("call of innermost")) &&
	    is_place(p + 2, NULL, line_of(call)))
		seen->innermost = true;
	gpc_dwarf_places_deinit(p, n);
}

/* Every place of a function. */
static void look_all(const struct fixture *f, struct gpc_dwarf *d, uint64_t start, const char *call,
		     struct seen *seen)
{
	struct gpc_symtab_hit hit;
	struct gpc_symtab *t;

	assert_int_equal(gpc_symtab_load(&f->elf, NULL, &t, NULL), GPC_OK);
	assert_true(gpc_symtab_find(t, start, &hit));
	assert_int_equal(hit.start, start);
	for (uint64_t at = 0; at < hit.size; at++)
		look(d, start + at, call, seen);
	gpc_symtab_free(t);
}

static void finds_lines_and_inlined_functions(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
		struct seen outer = {0}, other = {0};
		uint64_t from = 0, to = 0;
		struct gpc_dwarf *d;
		struct fixture f;

		/* objcopy need not know zstd. */
		if (access(FIXTURES "/lineszstd.so", R_OK) < 0 && strstr(versions[i], "zstd"))
			continue;
		fixture_load(&f, versions[i]);
		assert_int_equal(gpc_dwarf_open(&f.elf, &d, NULL), GPC_OK);
		assert_true(gpc_elf_lookup(&f.elf, "outermost", &from));
		assert_true(gpc_elf_lookup(&f.elf, "other", &to));
		look_all(&f, d, from, "call of between", &outer);
		look_all(&f, d, to, "call in other", &other);
		assert_true(outer.before && (outer.between || outer.innermost));
		assert_true(other.between || other.innermost);
		gpc_dwarf_rest(d);
		assert_true(gpc_dwarf_bytes(d) < 65536);
		look(d, from, "call of between", &outer);
		gpc_dwarf_free(d);
		fixture_deinit(&f);
	}
}

/* Inlined functions are in the .dwo file, which is not read; lines are here. */
static void reads_lines_of_split_files(void **state)
{
	static const char *const split[] = {"split4.so", "split5.so"};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct gpc_dwarf_place p[GPC_DWARF_DEPTH];
		bool has_before = false, has_inner = false;
		struct gpc_symtab_hit hit;
		struct gpc_symtab *t;
		struct gpc_dwarf *d;
		struct fixture f;
		uint64_t from = 0;

		fixture_load(&f, split[i]);
		assert_null(gpc_elf_section_named(&f.elf, ".debug_info.dwo"));
		assert_int_equal(gpc_dwarf_open(&f.elf, &d, NULL), GPC_OK);
		assert_true(gpc_elf_lookup(&f.elf, "outermost", &from));
		assert_int_equal(gpc_symtab_load(&f.elf, NULL, &t, NULL), GPC_OK);
		assert_true(gpc_symtab_find(t, from, &hit));
		for (uint64_t at = 0; at < hit.size; at++) {
			assert_int_equal(gpc_dwarf_find(d, from + at, p), 1);
			has_before |= is_place(p, NULL, line_of("before the call"));
			has_inner |= is_place(p, NULL, line_of("in between"));
			gpc_dwarf_places_deinit(p, 1);
		}
		assert_true(has_before && has_inner);
		gpc_symtab_free(t);
		gpc_dwarf_free(d);
		fixture_deinit(&f);
	}
}

/* Any file will do: nothing of this one was put elsewhere. */
static void takes_a_shared_file(void **state)
{
	struct gpc_dwarf_place p[GPC_DWARF_DEPTH];
	struct fixture f, other;
	struct gpc_dwarf *d;
	uint64_t at = 0;
	size_t before, n;

	(void)state;
	fixture_load(&f, "lines5.so");
	fixture_load(&other, "linesz.so");
	assert_int_equal(gpc_dwarf_open(&f.elf, &d, NULL), GPC_OK);
	before = gpc_dwarf_bytes(d);
	assert_int_equal(gpc_dwarf_add_shared(d, &other.elf, NULL), GPC_OK);
	assert_int_equal(gpc_dwarf_add_shared(d, &other.elf, NULL), GPC_OK);
	assert_true(gpc_dwarf_bytes(d) > before);
	assert_true(gpc_elf_lookup(&f.elf, "outermost", &at));
	n = gpc_dwarf_find(d, at, p);
	assert_true(n > 0);
	gpc_dwarf_places_deinit(p, n);
	gpc_dwarf_rest(d);
	gpc_dwarf_free(d);
	fixture_deinit(&f);
	fixture_deinit(&other);
}

static void knows_nothing_elsewhere(void **state)
{
	struct gpc_dwarf_place p[GPC_DWARF_DEPTH];
	struct gpc_dwarf *d;
	struct fixture f;

	(void)state;
	fixture_load(&f, "lib.so");
	assert_int_equal(gpc_dwarf_open(&f.elf, &d, NULL), GPC_E_GONE);
	fixture_deinit(&f);
	fixture_load(&f, "lines5.so");
	assert_int_equal(gpc_dwarf_open(&f.elf, &d, NULL), GPC_OK);
	assert_int_equal(gpc_dwarf_find(d, 0, p), 0);
	assert_int_equal(gpc_dwarf_find(d, UINT64_MAX, p), 0);
	gpc_dwarf_free(d);
	fixture_deinit(&f);
}

/* Whatever a byte is changed to, it ends soon. */
static void survives_damage(void **state)
{
	uint64_t begin = gpc_now_ns(), seed = 1;

	(void)state;
	for (int i = 0; i < 1500; i++) {
		struct gpc_dwarf_place p[GPC_DWARF_DEPTH];
		struct gpc_dwarf *d;
		struct fixture f;

		fixture_read(&f, versions[i % 6]);
		for (int k = 0; k < 4; k++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			f.bytes[64 + (seed >> 33) % (f.n - 64)] = (char)(seed >> 25);
		}
		if (fixture_parse(&f) == GPC_OK) {
			if (gpc_dwarf_open(&f.elf, &d, NULL) == GPC_OK) {
				for (uint64_t at = 0x1000; at < 0x1080; at++)
					gpc_dwarf_places_deinit(p, gpc_dwarf_find(d, at, p));
				gpc_dwarf_free(d);
			}
			gpc_elf_deinit(&f.elf);
		}
		free(f.bytes);
	}
	assert_true(gpc_now_ns() - begin < 60 * GPC_SECOND_NS);
}

#define HOSTILE_ATTRIBUTES 500000
#define HOSTILE_ENTRIES    1000

struct bytes {
	uint8_t *at;
	size_t n;
};

static size_t put(struct bytes *b, const void *bytes, size_t n)
{
	memcpy(b->at + b->n, bytes, n);
	b->n += n;
	return b->n - n;
}

static Elf64_Shdr section(uint32_t name, size_t offset, size_t n)
{
	return (Elf64_Shdr){.sh_name = name,
			    .sh_type = SHT_PROGBITS,
			    .sh_offset = offset,
			    .sh_size = n};
}

/* A unit of many entries that have one byte and very many attributes, all without a
 * byte of their own. */
static void make_hostile(struct bytes *b)
{
	static const char names[] = "\0.debug_abbrev\0.debug_info\0.shstrtab";
	static const uint8_t root_kind[] = {1, 0x11, 1, 0x11, 0x01, 0x12, 0x06, 0, 0, 2, 0x34, 0};
	static const uint8_t flag[] = {0x3f, 0x19}, none[3] = {0};
	uint8_t root[24] = {[4] = 4, [10] = 8, [11] = 1, [13] = 0x10, [21] = 0x10};
	uint32_t length = sizeof root - 4 + HOSTILE_ENTRIES + 1;
	Elf64_Shdr sections[4] = {0};
	Elf64_Ehdr head = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			   .e_type = ET_DYN,
			   .e_machine = EM_X86_64,
			   .e_version = EV_CURRENT,
			   .e_ehsize = sizeof head,
			   .e_shentsize = sizeof(Elf64_Shdr),
			   .e_shnum = 4,
			   .e_shstrndx = 3};
	size_t at;

	memcpy(root, &length, sizeof length);
	put(b, &head, sizeof head);
	at = put(b, root_kind, sizeof root_kind);
	for (int i = 0; i < HOSTILE_ATTRIBUTES; i++)
		put(b, flag, sizeof flag);
	put(b, none, sizeof none);
	sections[1] = section(1, at, b->n - at);
	at = put(b, root, sizeof root);
	memset(b->at + b->n, 2, HOSTILE_ENTRIES);
	b->n += HOSTILE_ENTRIES;
	put(b, none, 1);
	sections[2] = section(15, at, b->n - at);
	at = put(b, names, sizeof names);
	sections[3] = section(27, at, sizeof names);
	b->n = (b->n + 7) & ~(size_t)7;
	head.e_shoff = put(b, sections, sizeof sections);
	memcpy(b->at, &head, sizeof head);
}

/* What an entry costs is counted, not that it is one. */
static void counts_its_work(void **state)
{
	struct bytes b = {calloc(1, 4 * HOSTILE_ATTRIBUTES), 0};
	struct gpc_dwarf_place p[GPC_DWARF_DEPTH];
	struct gpc_elf_source source;
	struct gpc_dwarf *d;
	struct gpc_elf elf;

	(void)state;
	assert_non_null(b.at);
	make_hostile(&b);
	source = gpc_elf_source_memory(b.at, b.n);
	assert_int_equal(gpc_elf_init(&elf, &source, NULL), GPC_OK);
	assert_int_equal(gpc_dwarf_open(&elf, &d, NULL), GPC_OK);
	assert_int_equal(gpc_dwarf_find(d, 0, p), 0);
	assert_false(gpc_dwarf_is_tired(d));
	assert_int_equal(gpc_dwarf_find(d, 0x1008, p), 0);
	assert_true(gpc_dwarf_is_tired(d));
	assert_true(gpc_dwarf_spent(d) < INT64_C(1) << 28);
	gpc_dwarf_rest(d);
	assert_false(gpc_dwarf_is_tired(d));
	gpc_dwarf_free(d);
	gpc_elf_deinit(&elf);
	free(b.at);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_lines_and_inlined_functions),
		cmocka_unit_test(reads_lines_of_split_files),
		cmocka_unit_test(takes_a_shared_file),
		cmocka_unit_test(knows_nothing_elsewhere),
		cmocka_unit_test(survives_damage),
		cmocka_unit_test(counts_its_work),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

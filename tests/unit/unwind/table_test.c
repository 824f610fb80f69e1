/* SPDX-License-Identifier: Apache-2.0 */
/* Tables against a plain array; and files made here, with and without what tables
 * are built from. */
#include <elf.h>
#include <zlib.h>
#include <zstd.h>

#include "base/cleanup.h"
#include "frame.h"
#include "unwind/table.h"

#define CODE UINT64_C(0x40000)

static uint64_t next_random(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return *state >> 33;
}

static struct gpc_rules some_rules(unsigned n)
{
	struct gpc_rules rules = {0};
	struct gpc_rule rule = {.cfa_reg = 7, .ra = 16};

	for (unsigned i = 1; i <= n; i++) {
		rule.cfa = 8 * (int64_t)i;
		assert_int_equal(gpc_rules_add(&rules, &rule), i);
	}
	return rules;
}

static void like_an_array(void **state)
{
	enum { N = 1 << 19, RULES = 40 };
	static uint16_t plain[N];
	struct gpc_rules rules = some_rules(RULES);
	struct gpc_elf elf = {.machine = EM_X86_64};
	gpc_unwind_places places = {0};
	struct gpc_unwind_table *t = NULL;
	uint64_t seed = 7, at = 77;
	(void)state;

	/* Sparse here, dense there, whole pages without a place. */
	for (uint64_t before = 0; at < N; at += next_random(&seed) % (at % 9 ? 40 : 200000) + 1) {
		uint16_t rule = (uint16_t)(next_random(&seed) % (RULES + 1));

		while (before < at && places.n)
			plain[before++] = places.at[places.n - 1].rule;
		before = at;
		assert_true(vec_push(&places, (struct gpc_unwind_place){CODE + at, rule}));
	}
	for (uint64_t i = places.at[places.n - 1].pc - CODE; i < N; i++)
		plain[i] = places.at[places.n - 1].rule;
	assert_int_equal(gpc_unwind_table_pack(&elf, &places, &rules, &t, NULL), GPC_OK);
	for (uint64_t i = 0; i <= places.at[places.n - 1].pc - CODE; i++) {
		const struct gpc_packed_rule *r = gpc_unwind_table_find(t, CODE + i);

		assert_int_equal(r ? r->cfa / 8 : 0, plain[i]);
	}
	assert_null(gpc_unwind_table_find(t, 0));
	assert_null(gpc_unwind_table_find(t, CODE - 1));
	assert_null(gpc_unwind_table_find(t, UINT64_MAX));
	assert_null(gpc_unwind_table_find(t, CODE + (UINT64_C(1) << 40)));
	gpc_unwind_table_free(t);
	vec_deinit(&places);
}

/* ---- files -------------------------------------------------------------------------- */

struct image {
	uint8_t bytes[65536];
	size_t n;
};

static void put_segment(struct image *im, unsigned i, uint32_t type, uint64_t offset, uint64_t size)
{
	Elf64_Phdr h = {.p_type = type,
			.p_flags = PF_R | PF_X,
			.p_offset = offset,
			.p_vaddr = CODE + offset,
			.p_filesz = size,
			.p_memsz = size};

	memcpy(im->bytes + sizeof(Elf64_Ehdr) + i * sizeof h, &h, sizeof h);
}

/* One segment of code over the whole file, and a header of .eh_frame at 0x200 that
 * points to 0x300. */
static void make(struct image *im, const struct frame *f)
{
	Elf64_Ehdr h = {.e_type = ET_DYN,
			.e_machine = EM_X86_64,
			.e_version = 1,
			.e_phoff = sizeof h,
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = 2};
	/* From its own place: signed, 4 bytes. */
	uint8_t head[16] = {1, 0x1b, 0xff, 0xff, 0xfc, 0};

	memcpy(h.e_ident, ELFMAG, SELFMAG);
	h.e_ident[EI_CLASS] = ELFCLASS64;
	h.e_ident[EI_DATA] = ELFDATA2LSB;
	memset(im, 0, sizeof *im);
	im->n = 0x8000;
	memcpy(im->bytes, &h, sizeof h);
	put_segment(im, 0, PT_LOAD, 0, im->n);
	put_segment(im, 1, PT_GNU_EH_FRAME, 0x200, sizeof head);
	memcpy(im->bytes + 0x200, head, sizeof head);
	memcpy(im->bytes + 0x300, f->bytes, f->n);
}

static struct gpc_unwind_table *build(const struct image *im)
{
	struct gpc_elf_source source = gpc_elf_source_memory(im->bytes, im->n);
	struct gpc_unwind_table *t = NULL;
	struct gpc_elf elf;

	assert_int_equal(gpc_elf_init(&elf, &source, NULL), GPC_OK);
	assert_int_equal(gpc_unwind_table_build(&elf, NULL, &t, NULL), GPC_OK);
	gpc_elf_deinit(&elf);
	return t;
}

static int32_t cfa_at(const struct gpc_unwind_table *t, uint64_t vaddr)
{
	const struct gpc_packed_rule *r = gpc_unwind_table_find(t, vaddr);

	return r ? r->cfa : 0;
}

static void by_header_overlapping(void **state)
{
	static const uint8_t ops16[] = {0x0e, 16}, ops24[] = {0x0e, 24}, ops32[] = {0x0e, 32};
	struct frame f = {0};
	static struct image im;
	struct gpc_unwind_table *t;
	uint64_t vaddr;
	(void)state;

	put_cie(&f, "zR", 0);
	put_fde(&f, CODE + 0x2000, 0x40, ops24, 2); /* not in order */
	put_fde(&f, CODE + 0x1000, 0x100, ops16, 2);
	put_fde(&f, CODE + 0x1080, 0x100, ops32, 2); /* half of it is the former's */
	put_fde(&f, 0, 0x100, ops32, 2);             /* left out by the linker */
	put32(&f, 0);
	make(&im, &f);
	t = build(&im);
	assert_int_equal(cfa_at(t, CODE + 0xfff), 0);
	assert_int_equal(cfa_at(t, CODE + 0x1000), 16);
	assert_int_equal(cfa_at(t, CODE + 0x10ff), 16);
	assert_int_equal(cfa_at(t, CODE + 0x1100), 32);
	assert_int_equal(cfa_at(t, CODE + 0x117f), 32);
	assert_int_equal(cfa_at(t, CODE + 0x1180), 0);
	assert_int_equal(cfa_at(t, CODE + 0x203f), 24);
	assert_int_equal(cfa_at(t, CODE + 0x2040), 0);
	assert_int_equal(cfa_at(t, 0x10), 0);
	assert_true(gpc_unwind_table_vaddr(t, 0x1234, &vaddr));
	assert_int_equal(vaddr, CODE + 0x1234);
	assert_false(gpc_unwind_table_vaddr(t, 0x8000, &vaddr));
	gpc_unwind_table_free(t);
}

/* Where handlers return to is found by its code, whatever the entries say. */
static void sigreturn(void **state)
{
	static const uint8_t code[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
	static const uint8_t ops16[] = {0x0e, 16};
	struct frame f = {0};
	static struct image im;
	struct gpc_unwind_table *t;
	const struct gpc_packed_rule *r;
	(void)state;

	put_cie(&f, "zR", 0);
	put_fde(&f, CODE + 0x4000, 0x40, ops16, 2);
	put32(&f, 0);
	make(&im, &f);
	memcpy(im.bytes + 0x4010, code, sizeof code);
	memcpy(im.bytes + 0x6000, code, sizeof code);
	t = build(&im);
	for (uint64_t at = 0x4000; at < 0x4040; at++) {
		bool is_return = at >= 0x400f && at < 0x4010 + sizeof code;

		r = gpc_unwind_table_find(t, CODE + at);
		assert_non_null(r);
		assert_int_equal(r->flags, is_return ? GPC_RULE_SIGNAL : 0);
	}
	assert_null(gpc_unwind_table_find(t, CODE + 0x5ffe));
	r = gpc_unwind_table_find(t, CODE + 0x6000);
	assert_non_null(r);
	assert_int_equal(r->flags, GPC_RULE_SIGNAL);
	assert_int_equal(r->n, 17); /* all registers and pc */
	assert_null(gpc_unwind_table_find(t, CODE + 0x6000 + sizeof code));
	gpc_unwind_table_free(t);
}

/* ---- .debug_frame, as it is and compressed ------------------------------------------ */

#define NAMES "\0.shstrtab\0.debug_frame\0.zdebug_frame"

static void put_section(struct image *im, unsigned i, const Elf64_Shdr *s)
{
	memcpy(im->bytes + 0x7000 + i * sizeof *s, s, sizeof *s);
}

/* An image with section headers; content: of .debug_frame, or .zdebug_frame. */
static void make_with_section(struct image *im, const uint8_t *content, size_t n, bool is_z,
			      uint64_t flags)
{
	struct frame nothing = {0};
	Elf64_Ehdr h;
	Elf64_Shdr none = {0};
	Elf64_Shdr names = {.sh_name = 1,
			    .sh_type = SHT_STRTAB,
			    .sh_offset = 0x6000,
			    .sh_size = sizeof NAMES};
	Elf64_Shdr frame = {.sh_name = is_z ? 24 : 11,
			    .sh_type = SHT_PROGBITS,
			    .sh_flags = flags,
			    .sh_offset = 0x5000,
			    .sh_size = n};

	make(im, &nothing);
	memcpy(&h, im->bytes, sizeof h);
	h.e_phnum = 1;
	h.e_shoff = 0x7000;
	h.e_shentsize = sizeof(Elf64_Shdr);
	h.e_shnum = 3;
	h.e_shstrndx = 1;
	memcpy(im->bytes, &h, sizeof h);
	memcpy(im->bytes + 0x6000, NAMES, sizeof NAMES);
	memcpy(im->bytes + 0x5000, content, n);
	put_section(im, 0, &none);
	put_section(im, 1, &names);
	put_section(im, 2, &frame);
}

static void expect_debug_frame(const struct image *im, bool is_there)
{
	struct gpc_unwind_table *t = build(im);

	assert_int_equal(cfa_at(t, 0x401000), is_there ? 8 : 0);
	assert_int_equal(cfa_at(t, 0x401001), is_there ? 16 : 0);
	assert_int_equal(cfa_at(t, 0x40102f), is_there ? 16 : 0);
	assert_int_equal(cfa_at(t, 0x401030), 0);
	gpc_unwind_table_free(t);
}

static void debug_frames(void **state)
{
	static const uint8_t ops[] = {0x41, 0x0e, 16};
	static struct image im;
	struct frame f = {0};
	Elf64_Chdr head = {.ch_type = ELFCOMPRESS_ZLIB, .ch_addralign = 8};
	uint8_t packed[1024], zstd[1024], old[1024] = "ZLIB\0\0\0\0\0\0\0";
	size_t zstd_n;
	uLongf n = sizeof packed - sizeof head;
	(void)state;

	put_debug_frame(&f, ops, sizeof ops);
	make_with_section(&im, f.bytes, f.n, false, 0);
	expect_debug_frame(&im, true);

	head.ch_size = f.n;
	memcpy(packed, &head, sizeof head);
	assert_int_equal(compress(packed + sizeof head, &n, f.bytes, f.n), Z_OK);
	make_with_section(&im, packed, n + sizeof head, false, SHF_COMPRESSED);
	expect_debug_frame(&im, true);
	make_with_section(&im, packed, 30, false, SHF_COMPRESSED); /* cut off */
	expect_debug_frame(&im, false);
	head.ch_type = 77;
	memcpy(packed, &head, sizeof head);
	make_with_section(&im, packed, n + sizeof head, false, SHF_COMPRESSED);
	expect_debug_frame(&im, false);

	head.ch_type = 2; /* ELFCOMPRESS_ZSTD, which older headers lack */
	memcpy(zstd, &head, sizeof head);
	zstd_n = ZSTD_compress(zstd + sizeof head, sizeof zstd - sizeof head, f.bytes, f.n, 3);
	assert_false(ZSTD_isError(zstd_n));
	make_with_section(&im, zstd, zstd_n + sizeof head, false, SHF_COMPRESSED);
	expect_debug_frame(&im, true);
	make_with_section(&im, zstd, zstd_n + sizeof head - 9, false, SHF_COMPRESSED);
	expect_debug_frame(&im, false);

	old[11] = (uint8_t)f.n;
	memcpy(old + 12, packed + sizeof head, n);
	make_with_section(&im, old, n + 12, true, 0);
	expect_debug_frame(&im, true);
}

static void without_entries(void **state)
{
	struct frame f = {0};
	static struct image im;
	struct gpc_unwind_table *t;
	(void)state;

	put32(&f, 0);
	make(&im, &f);
	t = build(&im);
	assert_int_equal(t->n_rows, 0);
	assert_null(gpc_unwind_table_find(t, CODE + 0x1000));
	gpc_unwind_table_free(t);
}

static void other_machines(void **state)
{
	struct frame f = {0};
	static struct image im;
	struct gpc_elf_source source;
	struct gpc_unwind_table *t = NULL;
	struct gpc_elf elf;
	(void)state;

	make(&im, &f);
	im.bytes[offsetof(Elf64_Ehdr, e_machine)] = EM_386;
	source = gpc_elf_source_memory(im.bytes, im.n);
	assert_int_equal(gpc_elf_init(&elf, &source, NULL), GPC_OK);
	assert_int_equal(gpc_unwind_table_build(&elf, NULL, &t, NULL), GPC_E_UNSUPPORTED);
	gpc_elf_deinit(&elf);
}

/* Very many entries of one CIE with a long program, which is run for each of them. The
 * table ends early, and not where it could not be told why. */
#define HOSTILE_ENTRIES 60000
#define HOSTILE_ENTRY   28

static void entries_without_measure(void **state)
{
	static const uint8_t expr[3] = {0x16, 0xfa, 1}; /* val_expression of rax: 250 bytes */
	size_t n = 0x2000 + (size_t)HOSTILE_ENTRIES * HOSTILE_ENTRY + 8;
	autofree uint8_t *bytes = calloc(1, n);
	const atomic_bool is_stopping = true;
	struct gpc_unwind_table *t = NULL;
	struct gpc_elf_source source;
	static struct image im;
	struct frame f = {0};
	struct gpc_elf elf;
	uint8_t *at;
	(void)state;

	assert_non_null(bytes);
	put_cie(&f, "zR", 0);
	for (int i = 0; i < 15; i++) {
		put(&f, expr, 1);
		put8(&f, 0);
		put(&f, expr + 1, 2);
		memset(f.bytes + f.n, 0x96, 250);
		f.n += 250;
	}
	close_entry(&f);
	make(&im, &f);
	put_segment(&im, 0, PT_LOAD, 0, n);
	memcpy(bytes, im.bytes, 0x2000);
	at = bytes + 0x300 + f.n;
	for (uint64_t i = 0; i < HOSTILE_ENTRIES; i++, at += HOSTILE_ENTRY) {
		uint32_t head[2] = {HOSTILE_ENTRY - 4, (uint32_t)(at + 4 - bytes - 0x300)};
		uint64_t where[2] = {CODE + 0x10000 + i * 16, 16};

		memcpy(at, head, sizeof head);
		memcpy(at + sizeof head, where, sizeof where);
	}
	source = gpc_elf_source_memory(bytes, n);
	assert_int_equal(gpc_elf_init(&elf, &source, NULL), GPC_OK);
	assert_int_equal(gpc_unwind_table_build(&elf, NULL, &t, NULL), GPC_OK);
	assert_int_equal(cfa_at(t, CODE + 0x10000), 8);
	assert_int_equal(cfa_at(t, CODE + 0x10000 + 1000 * 16), 8);
	assert_int_equal(cfa_at(t, CODE + 0x10000 + (HOSTILE_ENTRIES - 1) * 16), 0);
	gpc_unwind_table_free(t);
	assert_int_equal(gpc_unwind_table_build(&elf, &is_stopping, &t, NULL), GPC_OK);
	assert_null(gpc_unwind_table_find(t, CODE + 0x10000));
	gpc_unwind_table_free(t);
	gpc_elf_deinit(&elf);
}

/* Equal expressions are one, wherever in the pool. */
static void expressions_by_hash(void **state)
{
	struct gpc_rules r = {0};
	uint8_t ops[2] = {0x96, 0};
	int32_t first, last = 0;
	size_t n;
	(void)state;

	first = gpc_rules_add_expr(&r, ops, 0);
	for (int i = 0; i < 256; i++) {
		ops[1] = (uint8_t)i;
		last = gpc_rules_add_expr(&r, ops, 2);
		assert_true(last > first);
	}
	assert_int_equal(gpc_rules_add_expr(&r, ops, 2), last);
	assert_int_equal(gpc_rules_add_expr(&r, ops, 0), first);
	assert_memory_equal(gpc_rules_expr(&r, last, &n), ops, 2);
	assert_int_equal(n, 2);
	gpc_rules_deinit(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(like_an_array),       cmocka_unit_test(by_header_overlapping),
		cmocka_unit_test(sigreturn),           cmocka_unit_test(without_entries),
		cmocka_unit_test(other_machines),      cmocka_unit_test(debug_frames),
		cmocka_unit_test(expressions_by_hash), cmocka_unit_test(entries_without_measure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

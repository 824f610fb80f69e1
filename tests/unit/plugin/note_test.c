/* SPDX-License-Identifier: Apache-2.0 */
#include "place.h"

#include <elf.h>
#include <link.h>
#include <sys/mman.h>

static int memfd_of(const void *bytes, size_t n)
{
	int fd = memfd_create("note", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(gpc_write_all(fd, bytes, n, NULL), GPC_OK);
	return fd;
}

static gpc_status read_bytes(const void *bytes, size_t n, struct gpc_note *ret, struct gpc_err *err)
{
	int fd = memfd_of(bytes, n);
	gpc_status st = gpc_note_read(fd, ret, err);

	close(fd);
	return st;
}

static void assert_refused(const void *bytes, size_t n, gpc_status code, const char *text)
{
	struct gpc_note note = {.type = 99};
	struct gpc_err err = {0};

	assert_int_equal(read_bytes(bytes, n, &note, &err), code);
	if (!strstr(err.text, text))
		fail_msg("\"%s\" is not in \"%s\"", text, err.text);
	assert_int_equal(note.type, 99); /* untouched */
}

static void reads_the_note(void **state)
{
	struct gpc_note note;
	struct gpc_err err;
	size_t n;
	char *bytes = module_bytes("good", &n);

	(void)state;
	assert_int_equal(read_bytes(bytes, n, &note, &err), GPC_OK);
	assert_int_equal(note.abi_major, GPC_ABI_MAJOR);
	assert_int_equal(note.abi_minor, GPC_ABI_MINOR);
	assert_int_equal(note.needs_minor, 0);
	free(bytes);
	bytes = module_bytes("newer_core", &n);
	assert_int_equal(read_bytes(bytes, n, &note, &err), GPC_OK);
	assert_int_equal(note.abi_minor, 99);
	assert_int_equal(note.needs_minor, 99);
	free(bytes);
}

static void refuses_every_truncation(void **state)
{
	struct gpc_note note;
	size_t n;
	char *bytes = module_bytes("good", &n);
	int fd = memfd_of(bytes, n);

	(void)state;
	assert_int_equal(gpc_note_read(fd, &note, NULL), GPC_OK);
	while (n-- > 0) {
		struct gpc_err err = {0};

		assert_int_equal(ftruncate(fd, (off_t)n), 0);
		assert_int_equal(gpc_note_read(fd, &note, &err), GPC_E_CORRUPT);
		assert_non_null(strstr(err.text, n < SELFMAG ? "no ELF file" : "cut short"));
	}
	close(fd);
	free(bytes);
}

/* Without section headers at its end only the segments tell how long a file is. */
static void refuses_cut_segments(void **state)
{
	struct gpc_note note;
	uint64_t end = 0;
	size_t n;
	char *bytes = module_bytes("good", &n);
	ElfW(Ehdr) *head = (void *)bytes;
	ElfW(Phdr) *segs = (void *)(bytes + head->e_phoff);

	(void)state;
	head->e_shoff = 0;
	head->e_shnum = 0;
	for (unsigned i = 0; i < head->e_phnum; i++)
		if (segs[i].p_type == PT_LOAD && segs[i].p_offset + segs[i].p_filesz > end)
			end = segs[i].p_offset + segs[i].p_filesz;
	assert_int_equal(read_bytes(bytes, end, &note, NULL), GPC_OK);
	assert_refused(bytes, end - 1, GPC_E_CORRUPT, "cut short");
	free(bytes);
}

static void refuses_other_machines(void **state)
{
	ElfW(Ehdr) * head;
	size_t n;
	char *bytes = module_bytes("good", &n);

	(void)state;
	head = (void *)bytes;
	head->e_ident[EI_CLASS] ^= ELFCLASS32 ^ ELFCLASS64;
	assert_refused(bytes, n, GPC_E_UNSUPPORTED, "-bit file and this core is a");
	head->e_ident[EI_CLASS] ^= ELFCLASS32 ^ ELFCLASS64;
	head->e_ident[EI_DATA] ^= ELFDATA2LSB ^ ELFDATA2MSB;
	assert_refused(bytes, n, GPC_E_UNSUPPORTED, "another processor");
	head->e_ident[EI_DATA] ^= ELFDATA2LSB ^ ELFDATA2MSB;
	head->e_machine = EM_S390;
	assert_refused(bytes, n, GPC_E_UNSUPPORTED, "ELF machine 22");
	free(bytes);
}

/* A real 32-bit header is shorter than ours: it must not read as cut short. */
static void refuses_a_small_32_bit_file(void **state)
{
	Elf32_Ehdr head = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS32, ELFDATA2LSB, EV_CURRENT},
			   .e_type = ET_DYN,
			   .e_machine = EM_386};
	char bytes[256] = {0};

	(void)state;
	if (sizeof(void *) == 4)
		skip();
	memcpy(bytes, &head, sizeof head);
	assert_refused(bytes, sizeof bytes, GPC_E_UNSUPPORTED, "32-bit");
	assert_refused(bytes, sizeof head, GPC_E_UNSUPPORTED, "32-bit");
}

static void refuses_what_is_no_shared_object(void **state)
{
	ElfW(Ehdr) * head;
	size_t n;
	char *bytes = module_bytes("good", &n);

	(void)state;
	head = (void *)bytes;
	head->e_type = ET_REL;
	assert_refused(bytes, n, GPC_E_CORRUPT, "no shared object");
	free(bytes);
	assert_refused("", 0, GPC_E_CORRUPT, "no ELF file");
	assert_refused("#!/bin/sh\n", 10, GPC_E_CORRUPT, "no ELF file");
	bytes = module_bytes("no_note", &n);
	assert_refused(bytes, n, GPC_E_CORRUPT, "no gpc note");
	free(bytes);
}

static void refuses_damaged_headers(void **state)
{
	ElfW(Ehdr) * head, good;
	ElfW(Phdr) * segs;
	size_t n;
	char *bytes = module_bytes("good", &n);

	(void)state;
	head = (void *)bytes;
	good = *head;
	head->e_phnum = 0;
	assert_refused(bytes, n, GPC_E_CORRUPT, "program headers");
	head->e_phnum = UINT16_MAX;
	assert_refused(bytes, n, GPC_E_CORRUPT, "program headers");
	*head = good;
	head->e_phentsize--;
	assert_refused(bytes, n, GPC_E_CORRUPT, "program headers");
	*head = good;
	head->e_phoff = UINT64_MAX - 8;
	assert_refused(bytes, n, GPC_E_CORRUPT, "cut short");
	*head = good;
	head->e_shoff = UINT64_MAX;
	assert_refused(bytes, n, GPC_E_CORRUPT, "cut short");
	*head = good;
	segs = (void *)(bytes + good.e_phoff);
	for (unsigned i = 0; i < good.e_phnum; i++)
		if (segs[i].p_type == PT_NOTE)
			segs[i].p_offset = UINT64_MAX - 2;
	assert_refused(bytes, n, GPC_E_CORRUPT, "cut short");
	for (unsigned i = 0; i < good.e_phnum; i++)
		if (segs[i].p_type == PT_NOTE)
			segs[i].p_filesz = UINT64_MAX;
	assert_refused(bytes, n, GPC_E_CORRUPT, "no gpc note");
	free(bytes);
}

static void survives_wild_note_sizes(void **state)
{
	struct gpc_note note;
	size_t n;
	char *bytes = module_bytes("good", &n);
	ElfW(Ehdr) *head = (void *)bytes;
	ElfW(Phdr) *segs = (void *)(bytes + head->e_phoff);

	(void)state;
	for (unsigned i = 0; i < head->e_phnum; i++)
		if (segs[i].p_type == PT_NOTE)
			memset(bytes + segs[i].p_offset, 0xff, segs[i].p_filesz);
	assert_refused(bytes, n, GPC_E_CORRUPT, "no gpc note");
	for (unsigned i = 0; i < head->e_phnum; i++)
		if (segs[i].p_type == PT_NOTE)
			memset(bytes + segs[i].p_offset, 0, segs[i].p_filesz);
	assert_int_equal(read_bytes(bytes, n, &note, NULL), GPC_E_CORRUPT);
	free(bytes);
}

/* The least that is a plugin: one segment with one note. */
struct tiny {
	ElfW(Ehdr) head;
	ElfW(Phdr) seg;
	struct gpc_note note;
};

static void make_tiny(struct tiny *t)
{
	const struct gpc_note note = {4, 8, GPC_NOTE_TYPE, "gpc", 3, 2, 1, 0};
	size_t n;
	char *bytes = module_bytes("good", &n);

	*t = (struct tiny){.note = note};
	memcpy(&t->head, bytes, sizeof t->head);
	t->head.e_phoff = offsetof(struct tiny, seg);
	t->head.e_phnum = 1;
	t->head.e_shoff = t->head.e_shnum = 0;
	t->seg.p_type = PT_NOTE;
	t->seg.p_offset = offsetof(struct tiny, note);
	t->seg.p_filesz = sizeof t->note;
	free(bytes);
}

static void a_note_ends_with_its_segment(void **state)
{
	struct gpc_note note;
	struct tiny t;

	(void)state;
	make_tiny(&t);
	assert_int_equal(read_bytes(&t, sizeof t, &note, NULL), GPC_OK);
	assert_memory_equal(&note, &t.note, sizeof note);
	for (t.seg.p_filesz = 0; t.seg.p_filesz < sizeof note; t.seg.p_filesz++)
		assert_refused(&t, sizeof t, GPC_E_CORRUPT, "no gpc note");
}

static void only_our_note_counts(void **state)
{
	struct tiny t;

	(void)state;
	make_tiny(&t);
	t.note.name[0] = 'G';
	assert_refused(&t, sizeof t, GPC_E_CORRUPT, "no gpc note");
	make_tiny(&t);
	t.note.type = 2;
	assert_refused(&t, sizeof t, GPC_E_CORRUPT, "no gpc note");
	make_tiny(&t);
	t.note.descsz = 7;
	assert_refused(&t, sizeof t, GPC_E_CORRUPT, "no gpc note");
	make_tiny(&t);
	t.note.namesz = UINT32_MAX;
	assert_refused(&t, sizeof t, GPC_E_CORRUPT, "no gpc note");
	make_tiny(&t);
	t.note.descsz = UINT32_MAX;
	assert_refused(&t, sizeof t, GPC_E_CORRUPT, "no gpc note");
}

static void refuses_a_pipe(void **state)
{
	struct gpc_note note;
	struct gpc_err err;
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(gpc_note_read(fds[0], &note, &err), GPC_E_CORRUPT);
	assert_non_null(strstr(err.text, "no regular file"));
	assert_true(gpc_note_read(-1, &note, &err) < 0);
	close(fds[0]);
	close(fds[1]);
}

/* Two cores, three plugins: built against 1.0, against 1.1 without and with a
 * need for it. Of the six pairs one is refused. */
static void two_cores_three_plugins(void **state)
{
	static const struct gpc_note plugins[] = {
		{.abi_major = 1, .abi_minor = 0, .needs_minor = 0},
		{.abi_major = 1, .abi_minor = 1, .needs_minor = 0},
		{.abi_major = 1, .abi_minor = 1, .needs_minor = 1},
	};
	struct gpc_err err;

	(void)state;
	for (unsigned core = 0; core < 2; core++)
		for (unsigned i = 0; i < 3; i++)
			assert_int_equal(gpc_note_check_against(&plugins[i], 1, core, &err),
					 core == 0 && i == 2 ? GPC_E_UNSUPPORTED : GPC_OK);
	assert_int_equal(gpc_note_check_against(&plugins[2], 1, 0, &err), GPC_E_UNSUPPORTED);
	assert_non_null(strstr(err.text, "needs 1.1, this core has 1.0: install a newer"));
	assert_int_equal(gpc_note_check_against(&plugins[0], 2, 0, &err), GPC_E_UNSUPPORTED);
	assert_non_null(strstr(err.text, "built for plugin ABI 1.0, this core has 2.0: rebuild"));
	assert_int_equal(gpc_note_check_against(&plugins[0], 0, 9, &err), GPC_E_UNSUPPORTED);
	assert_non_null(strstr(err.text, "install a newer gprofiler-core"));
}

static void before_1_0_versions_match_exactly(void **state)
{
	struct gpc_note note = {.abi_minor = 2};

	(void)state;
	assert_int_equal(gpc_note_check_against(&note, 0, 2, NULL), GPC_OK);
	assert_int_equal(gpc_note_check_against(&note, 0, 1, NULL), GPC_E_UNSUPPORTED);
	assert_int_equal(gpc_note_check_against(&note, 0, 3, NULL), GPC_E_UNSUPPORTED);
	note = (struct gpc_note){.abi_major = GPC_ABI_MAJOR, .abi_minor = GPC_ABI_MINOR};
	assert_int_equal(gpc_note_check(&note, NULL), GPC_OK);
	note.abi_minor++;
	assert_int_equal(gpc_note_check(&note, NULL), GPC_E_UNSUPPORTED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_the_note),
		cmocka_unit_test(refuses_every_truncation),
		cmocka_unit_test(refuses_cut_segments),
		cmocka_unit_test(refuses_other_machines),
		cmocka_unit_test(refuses_a_small_32_bit_file),
		cmocka_unit_test(refuses_what_is_no_shared_object),
		cmocka_unit_test(refuses_damaged_headers),
		cmocka_unit_test(survives_wild_note_sizes),
		cmocka_unit_test(a_note_ends_with_its_segment),
		cmocka_unit_test(only_our_note_counts),
		cmocka_unit_test(refuses_a_pipe),
		cmocka_unit_test(two_cores_three_plugins),
		cmocka_unit_test(before_1_0_versions_match_exactly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

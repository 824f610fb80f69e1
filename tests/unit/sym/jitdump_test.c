/* SPDX-License-Identifier: Apache-2.0 */
#include "sym/jitdump.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"

struct file {
	uint8_t bytes[65536];
	size_t n;
};

static void put(struct file *f, const void *at, size_t n)
{
	assert_true(n <= sizeof f->bytes - f->n);
	memcpy(f->bytes + f->n, at, n);
	f->n += n;
}

static void put32(struct file *f, uint32_t v)
{
	put(f, &v, sizeof v);
}

static void put64(struct file *f, uint64_t v)
{
	put(f, &v, sizeof v);
}

static void begin(struct file *f)
{
	memset(f, 0, sizeof *f);
	put32(f, 0x4a695444);
	put32(f, 1);
	put32(f, 48); /* a header of a later version, longer than what we know */
	put32(f, 62);
	put32(f, 0);
	put32(f, 4321);
	put64(f, 1);
	put64(f, 0);
	put64(f, UINT64_MAX);
}

static void prefix(struct file *f, uint32_t id, size_t size)
{
	put32(f, id);
	put32(f, (uint32_t)(16 + size));
	put64(f, 7);
}

static void put_load(struct file *f, uint64_t at, uint64_t size, uint64_t index, const char *name)
{
	uint8_t code[256] = {0};

	prefix(f, 0, 40 + strlen(name) + 1 + size);
	put64(f, 0);
	put64(f, at);
	put64(f, at);
	put64(f, size);
	put64(f, index);
	put(f, name, strlen(name) + 1);
	put(f, code, size);
}

static void put_move(struct file *f, uint64_t from, uint64_t to, uint64_t size, uint64_t index)
{
	prefix(f, 1, 48);
	put64(f, 0);
	put64(f, to);
	put64(f, from);
	put64(f, to);
	put64(f, size);
	put64(f, index);
}

static struct gpc_jitdump *load(const struct file *f, size_t n)
{
	autoclose int fd = memfd_create("jit", MFD_CLOEXEC);
	struct gpc_jitdump *d;

	assert_int_equal(write(fd, f->bytes, n), n);
	return gpc_jitdump_load(fd, 1 << 20, &d, NULL) == GPC_OK ? d : NULL;
}

static void expect(const struct gpc_jitdump *d, uint64_t address, const char *name,
		   const char *file, uint32_t line)
{
	struct gpc_jit_symbol s;

	assert_int_equal(gpc_jitdump_find(d, address, &s), name != NULL);
	if (!name)
		return;
	assert_string_equal(s.name, name);
	assert_int_equal(s.line, line);
	if (file)
		assert_string_equal(s.file, file);
	else
		assert_null(s.file);
}

static void finds_loaded_code(void **state)
{
	struct gpc_jitdump *d;
	struct file f;

	(void)state;
	begin(&f);
	put_load(&f, 0x1000, 0x40, 1, "first");
	prefix(&f, 99, 8); /* of a later version */
	put64(&f, 0);
	put_load(&f, 0x2000, 0x10, 2, "second<int>");
	d = load(&f, f.n);
	assert_non_null(d);
	expect(d, 0xfff, NULL, NULL, 0);
	expect(d, 0x1000, "first", NULL, 0);
	expect(d, 0x103f, "first", NULL, 0);
	expect(d, 0x1040, NULL, NULL, 0);
	expect(d, 0x200f, "second<int>", NULL, 0);
	gpc_jitdump_free(d);
}

static void newest_code_counts(void **state)
{
	struct gpc_jitdump *d;
	struct file f;

	(void)state;
	begin(&f);
	put_load(&f, 0x1000, 0x80, 1, "old");
	put_load(&f, 0x1020, 0x20, 2, "new");
	d = load(&f, f.n);
	expect(d, 0x101f, "old", NULL, 0);
	expect(d, 0x1020, "new", NULL, 0);
	expect(d, 0x103f, "new", NULL, 0);
	expect(d, 0x1040, "old", NULL, 0);
	gpc_jitdump_free(d);
}

/* Two lines in a file, a third in another. */
static void put_lines(struct file *f, uint64_t at)
{
	prefix(f, 2, 16 + 3 * 16 + 5 + 2 + 5);
	put64(f, at);
	put64(f, 3);
	put64(f, at);
	put32(f, 10);
	put32(f, 0);
	put(f, "a.js", 5);
	put64(f, at + 8);
	put32(f, 11);
	put32(f, 0);
	put(f, "\xff", 2);
	put64(f, at + 16);
	put32(f, 5);
	put32(f, 0);
	put(f, "b.js", 5);
}

static void code_moves_with_its_lines(void **state)
{
	struct gpc_jitdump *d;
	struct file f;

	(void)state;
	begin(&f);
	put_lines(&f, 0x1000);
	put_load(&f, 0x1000, 0x40, 7, "moving");
	put_load(&f, 0x3000, 0x40, 8, "without lines");
	put_move(&f, 0x1000, 0x5000, 0x40, 7);
	put_move(&f, 0x1000, 0x6000, 0x40, 99); /* of code that never was */
	put_load(&f, 0x1000, 0x10, 9, "next");
	d = load(&f, f.n);
	expect(d, 0x1000, "next", NULL, 0);
	expect(d, 0x1010, "moving", "b.js", 5);
	expect(d, 0x5000, "moving", "a.js", 10);
	expect(d, 0x5008, "moving", "a.js", 11);
	expect(d, 0x500f, "moving", "a.js", 11);
	expect(d, 0x5010, "moving", "b.js", 5);
	expect(d, 0x3000, "without lines", NULL, 0);
	expect(d, 0x6000, NULL, NULL, 0);
	gpc_jitdump_free(d);
}

static void tells_unwind_information(void **state)
{
	uint8_t frames[48] = {1};
	struct gpc_jit_unwind u;
	struct gpc_jitdump *d;
	struct file f;

	(void)state;
	begin(&f);
	prefix(&f, 4, 24 + sizeof frames);
	put64(&f, sizeof frames);
	put64(&f, 20);
	put64(&f, sizeof frames);
	put(&f, frames, sizeof frames);
	put_load(&f, 0x1000, 0x40, 1, "with");
	put_load(&f, 0x2000, 0x40, 2, "without");
	d = load(&f, f.n);
	assert_true(gpc_jitdump_unwind(d, 0x1004, &u));
	assert_int_equal(u.code, 0x1000);
	assert_int_equal(u.code_size, 0x40);
	assert_int_equal(u.offset, 48 + 16 + 24);
	assert_int_equal(u.size, sizeof frames);
	assert_int_equal(u.header_size, 20);
	assert_false(gpc_jitdump_unwind(d, 0x2004, &u));
	assert_false(gpc_jitdump_unwind(d, 0x9000, &u));
	gpc_jitdump_free(d);
}

/* What is written while we read ends anywhere. */
static void half_a_file_gives_what_is_whole(void **state)
{
	size_t whole, first;
	struct file f;

	(void)state;
	begin(&f);
	put_load(&f, 0x1000, 0x40, 1, "first");
	first = f.n;
	put_lines(&f, 0x2000);
	put_load(&f, 0x2000, 0x40, 2, "second");
	whole = f.n;
	for (size_t n = 0; n <= whole; n++) {
		struct gpc_jitdump *d = load(&f, n);
		struct gpc_jit_symbol s;

		assert_int_equal(d != NULL, n >= 40);
		if (!d)
			continue;
		if (n >= first)
			expect(d, 0x1000, "first", NULL, 0);
		if (n == whole)
			expect(d, 0x2000, "second", "a.js", 10);
		else if (n < first)
			assert_false(gpc_jitdump_find(d, 0x2000, &s));
		gpc_jitdump_free(d);
	}
}

static void nothing_counts_after_the_end(void **state)
{
	struct gpc_jitdump *d;
	struct file f;

	(void)state;
	begin(&f);
	put_load(&f, 0x1000, 0x40, 1, "first");
	prefix(&f, 3, 0);
	put_load(&f, 0x2000, 0x40, 2, "second");
	d = load(&f, f.n);
	expect(d, 0x1000, "first", NULL, 0);
	expect(d, 0x2000, NULL, NULL, 0);
	gpc_jitdump_free(d);
	f.bytes[0] ^= 1;
	assert_null(load(&f, f.n));
}

static void memory_is_bounded(void **state)
{
	autoclose int fd = memfd_create("jit", MFD_CLOEXEC);
	struct gpc_jitdump *d;
	struct gpc_jit_symbol s;
	struct file f;

	(void)state;
	begin(&f);
	for (uint64_t i = 0; f.n < sizeof f.bytes - 200; i++)
		put_load(&f, 0x10000 + i * 16, 16, i, "some function");
	assert_int_equal(write(fd, f.bytes, f.n), f.n);
	assert_int_equal(gpc_jitdump_load(fd, 8192, &d, NULL), GPC_OK);
	assert_true(gpc_jitdump_bytes(d) < 32768);
	assert_true(gpc_jitdump_find(d, 0x10000, &s));
	gpc_jitdump_free(d);
}

static void knows_the_name_of_the_file(void **state)
{
	(void)state;
	assert_true(gpc_jitdump_is("/tmp/jit-1.dump"));
	assert_true(gpc_jitdump_is("/root/.debug/jit/java-1/jit-12345.dump"));
	assert_true(gpc_jitdump_is("/tmp/jit-1.dump (deleted)"));
	assert_false(gpc_jitdump_is("/tmp/jit-.dump"));
	assert_false(gpc_jitdump_is("/tmp/jit-1x.dump"));
	assert_false(gpc_jitdump_is("/tmp/jit-1.dumps"));
	assert_false(gpc_jitdump_is("/tmp/xjit-1.dump"));
	assert_false(gpc_jitdump_is(""));
}

/* Records that mean nothing take no memory, however many gigabytes: they end by what it
 * costs to pass them. */
static void junk_without_measure(void **state)
{
	const uint32_t junk[4] = {99, 64 << 10, 0, 0};
	const off_t n = 40000, size = 64 << 10;
	off_t before;
	autoclose int fd = memfd_create("junk", MFD_CLOEXEC);
	struct gpc_jit_symbol s;
	struct gpc_jitdump *d;
	struct file f;

	(void)state;
	begin(&f);
	put_load(&f, 0x1000, 0x40, 1, "first");
	assert_int_equal(pwrite(fd, f.bytes, f.n, 0), f.n);
	for (off_t i = 0; i < n; i++)
		assert_int_equal(pwrite(fd, junk, sizeof junk, (off_t)f.n + i * size), sizeof junk);
	before = (off_t)f.n;
	f.n = 0;
	put_load(&f, 0x2000, 0x40, 2, "last");
	assert_int_equal(pwrite(fd, f.bytes, f.n, before + n * size), f.n);
	assert_int_equal(gpc_jitdump_load(fd, 1 << 20, &d, NULL), GPC_OK);
	assert_true(gpc_jitdump_find(d, 0x1000, &s));
	assert_false(gpc_jitdump_find(d, 0x2000, &s));
	gpc_jitdump_free(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_loaded_code),
		cmocka_unit_test(newest_code_counts),
		cmocka_unit_test(code_moves_with_its_lines),
		cmocka_unit_test(tells_unwind_information),
		cmocka_unit_test(half_a_file_gives_what_is_whole),
		cmocka_unit_test(nothing_counts_after_the_end),
		cmocka_unit_test(memory_is_bounded),
		cmocka_unit_test(junk_without_measure),
		cmocka_unit_test(knows_the_name_of_the_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

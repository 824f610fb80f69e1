/* SPDX-License-Identifier: Apache-2.0 */
#include "sym/jitdump.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "jitfile.h"

static struct gpc_jitdump *load(const struct jitfile *f, size_t n)
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
	struct jitfile f;

	(void)state;
	jit_begin(&f);
	jit_put_load(&f, 0x1000, 0x40, 1, "first");
	jit_prefix(&f, 99, 8); /* of a later version */
	jit_put64(&f, 0);
	jit_put_load(&f, 0x2000, 0x10, 2, "second<int>");
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
	struct jitfile f;

	(void)state;
	jit_begin(&f);
	jit_put_load(&f, 0x1000, 0x80, 1, "old");
	jit_put_load(&f, 0x1020, 0x20, 2, "new");
	d = load(&f, f.n);
	expect(d, 0x101f, "old", NULL, 0);
	expect(d, 0x1020, "new", NULL, 0);
	expect(d, 0x103f, "new", NULL, 0);
	expect(d, 0x1040, "old", NULL, 0);
	gpc_jitdump_free(d);
}

static void code_moves_with_its_lines(void **state)
{
	struct gpc_jitdump *d;
	struct jitfile f;

	(void)state;
	jit_begin(&f);
	jit_put_lines(&f, 0x1000);
	jit_put_load(&f, 0x1000, 0x40, 7, "moving");
	jit_put_load(&f, 0x3000, 0x40, 8, "without lines");
	jit_put_move(&f, 0x1000, 0x5000, 0x40, 7);
	jit_put_move(&f, 0x1000, 0x6000, 0x40, 99); /* of code that never was */
	jit_put_load(&f, 0x1000, 0x10, 9, "next");
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
	struct jitfile f;
	size_t i = 0;

	(void)state;
	jit_begin(&f);
	jit_put_frames(&f, frames, sizeof frames, 20);
	jit_put_load(&f, 0x1000, 0x40, 1, "with");
	jit_put_load(&f, 0x2000, 0x40, 2, "without");
	jit_put_load(&f, 0x1030, 0x20, 3, "over its end");
	d = load(&f, f.n);
	assert_true(gpc_jitdump_has_unwind(d));
	assert_true(gpc_jitdump_unwind(d, &i, &u));
	assert_int_equal(u.start, 0x1000);
	assert_int_equal(u.end, 0x1030);
	assert_int_equal(u.code, 0x1000);
	assert_int_equal(u.offset, 48 + 16 + 24);
	assert_int_equal(u.size, sizeof frames - 20);
	assert_false(gpc_jitdump_unwind(d, &i, &u));
	gpc_jitdump_free(d);
}

/* The file grows, by whole records and by parts of them. */
static void goes_on_where_it_was(void **state)
{
	autoclose int fd = memfd_create("jit", MFD_CLOEXEC);
	struct gpc_jitdump *d = gpc_jitdump_new(GPC_JITDUMP_FRAMES, 1 << 20);
	struct gpc_jit_unwind u;
	uint8_t frames[48] = {1};
	unsigned changes = 0;
	struct jitfile f;
	size_t i = 0;

	(void)state;
	jit_begin(&f);
	jit_put_lines(&f, 0x1000);
	jit_put_frames(&f, frames, sizeof frames, 20);
	jit_put_load(&f, 0x1000, 0x40, 1, "first");
	jit_put_move(&f, 0x1000, 0x5000, 0x40, 1);
	jit_put_frames(&f, frames, sizeof frames, 20);
	jit_put_load(&f, 0x1000, 0x20, 2, "second");
	for (size_t n = 0; n < f.n; n++) {
		bool has_more;

		assert_int_equal(write(fd, f.bytes + n, 1), 1);
		assert_int_equal(gpc_jitdump_more(d, fd, &has_more, NULL), GPC_OK);
		changes += has_more;
	}
	assert_int_equal(changes, 3);
	assert_true(gpc_jitdump_unwind(d, &i, &u));
	assert_int_equal(u.start, 0x1000);
	assert_int_equal(u.end, 0x1020);
	assert_int_equal(u.offset, f.n - 0x20 - 7 - 56 - sizeof frames);
	assert_true(gpc_jitdump_unwind(d, &i, &u)); /* the older piece's end */
	assert_int_equal(u.start, 0x1020);
	assert_int_equal(u.code, 0x1000);
	assert_true(gpc_jitdump_unwind(d, &i, &u));
	assert_int_equal(u.start, 0x5000);
	assert_int_equal(u.end, 0x5040);
	assert_int_equal(u.code, 0x5000);
	assert_false(gpc_jitdump_unwind(d, &i, &u));
	gpc_jitdump_free(d);
}

/* What is written while we read ends anywhere. */
static void half_a_file_gives_what_is_whole(void **state)
{
	size_t whole, first;
	struct jitfile f;

	(void)state;
	jit_begin(&f);
	jit_put_load(&f, 0x1000, 0x40, 1, "first");
	first = f.n;
	jit_put_lines(&f, 0x2000);
	jit_put_load(&f, 0x2000, 0x40, 2, "second");
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
	struct jitfile f;

	(void)state;
	jit_begin(&f);
	jit_put_load(&f, 0x1000, 0x40, 1, "first");
	jit_prefix(&f, 3, 0);
	jit_put_load(&f, 0x2000, 0x40, 2, "second");
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
	struct jitfile f;

	(void)state;
	jit_begin(&f);
	for (uint64_t i = 0; f.n < sizeof f.bytes - 200; i++)
		jit_put_load(&f, 0x10000 + i * 16, 16, i, "some function");
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
	struct jitfile f;

	(void)state;
	jit_begin(&f);
	jit_put_load(&f, 0x1000, 0x40, 1, "first");
	assert_int_equal(pwrite(fd, f.bytes, f.n, 0), f.n);
	for (off_t i = 0; i < n; i++)
		assert_int_equal(pwrite(fd, junk, sizeof junk, (off_t)f.n + i * size), sizeof junk);
	before = (off_t)f.n;
	f.n = 0;
	jit_put_load(&f, 0x2000, 0x40, 2, "last");
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
		cmocka_unit_test(goes_on_where_it_was),
		cmocka_unit_test(half_a_file_gives_what_is_whole),
		cmocka_unit_test(nothing_counts_after_the_end),
		cmocka_unit_test(memory_is_bounded),
		cmocka_unit_test(junk_without_measure),
		cmocka_unit_test(knows_the_name_of_the_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "sym/perfmap.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"

static struct gpc_perfmap *parse(const char *text)
{
	struct gpc_perfmap *map = NULL;

	assert_int_equal(gpc_perfmap_parse(text, strlen(text), &map, NULL), GPC_OK);
	return map;
}

static void expect(const struct gpc_perfmap *map, uint64_t address, const char *name)
{
	const char *found = gpc_perfmap_find(map, address);

	if (!name)
		assert_null(found);
	else
		assert_string_equal(found, name);
}

static void reads_lines(void **state)
{
	struct gpc_perfmap *map = parse("7f0000001000 40 LazyCompile:~f /a b.js:1\n"
					"0x7f0000000000 0x10 first\r\n"
					"FFFFFFFFFFFFFFF0 ff top\n");

	(void)state;
	expect(map, 0x7f0000001000, "LazyCompile:~f /a b.js:1");
	expect(map, 0x7f000000103f, "LazyCompile:~f /a b.js:1");
	expect(map, 0x7f0000001040, NULL);
	expect(map, 0x7f0000000000, "first");
	expect(map, 0x7effffffffff, NULL);
	expect(map, 0xfffffffffffffff8, "top");
	expect(map, 0, NULL);
	gpc_perfmap_free(map);
}

static void leaves_out_what_is_no_line(void **state)
{
	struct gpc_perfmap *map = parse("\n \nx 10 a\n10 x b\n10\n10 20\n10 20 \n10 0 zero\n"
					"-10 20 c\n11111111111111111 20 long\n 10 20 blank\n"
					"100 20 good\n200 20 half");

	(void)state;
	expect(map, 0x10, NULL);
	expect(map, 0x100, "good");
	expect(map, 0x200, NULL);
	gpc_perfmap_free(map);
	assert_int_equal(gpc_perfmap_parse("10 20 \0a\n30 5 b\0c\n", 18, &map, NULL), GPC_OK);
	expect(map, 0x10, NULL);
	expect(map, 0x30, "b");
	gpc_perfmap_free(map);
	map = parse("");
	expect(map, 0, NULL);
	gpc_perfmap_free(map);
}

static void lets_the_newest_win(void **state)
{
	struct gpc_perfmap *map = parse("1000 100 old\n"
					"1040 20 middle\n"
					"2000 10 small\n"
					"1ff0 100 over\n"
					"3000 10 same\n"
					"3000 10 again\n");

	(void)state;
	expect(map, 0x1000, "old");
	expect(map, 0x103f, "old");
	expect(map, 0x1040, "middle");
	expect(map, 0x105f, "middle");
	expect(map, 0x1060, "old");
	expect(map, 0x10ff, "old");
	expect(map, 0x1100, NULL);
	expect(map, 0x2005, "over");
	expect(map, 0x20ef, "over");
	expect(map, 0x300f, "again");
	gpc_perfmap_free(map);
}

/* Against the plain rule: the last line that covers an address. */
static void agrees_with_the_plain_rule(void **state)
{
	struct {
		uint64_t start, size;
	} lines[64];
	uint32_t seed = 7;

	(void)state;
	for (int round = 0; round < 200; round++) {
		char text[4096] = "";
		struct gpc_perfmap *map;

		for (size_t i = 0; i < 64; i++) {
			seed = seed * 1664525 + 1013904223;
			lines[i].start = seed >> 8 & 0xff;
			lines[i].size = 1 + (seed >> 16 & 0x3f);
			sprintf(text + strlen(text), "%lx %lx n%zu\n",
				(unsigned long)lines[i].start, (unsigned long)lines[i].size, i);
		}
		map = parse(text);
		for (uint64_t at = 0; at < 0x180; at++) {
			char name[8] = "";

			for (size_t i = 0; i < 64; i++)
				if (at - lines[i].start < lines[i].size)
					sprintf(name, "n%zu", i);
			expect(map, at, *name ? name : NULL);
		}
		gpc_perfmap_free(map);
	}
}

static int file_of(const char *text, size_t n)
{
	int fd = memfd_create("map", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, n), n);
	return fd;
}

static void reads_the_end_of_long_files(void **state)
{
	const char *text = "1000 10 first\n2000 10 second\n3000 10 third\n";
	autoclose int fd = file_of(text, strlen(text));
	struct gpc_perfmap *map = NULL;

	(void)state;
	assert_int_equal(gpc_perfmap_load(fd, 1000, &map, NULL), GPC_OK);
	expect(map, 0x1000, "first");
	expect(map, 0x3000, "third");
	gpc_perfmap_free(map);
	/* 20 bytes from the end begin within the second line. */
	assert_int_equal(gpc_perfmap_load(fd, 20, &map, NULL), GPC_OK);
	expect(map, 0x1000, NULL);
	expect(map, 0x2000, NULL);
	expect(map, 0x3000, "third");
	gpc_perfmap_free(map);
	assert_int_equal(gpc_perfmap_load(fd, 0, &map, NULL), GPC_OK);
	expect(map, 0x3000, NULL);
	gpc_perfmap_free(map);
	assert_true(gpc_perfmap_load(-1, 10, &map, NULL) < 0);
}

static void skips_endless_lines(void **state)
{
	size_t n = 300000;
	autofree char *text = malloc(n + 64);
	struct gpc_perfmap *map = NULL;
	autoclose int fd = -1;

	(void)state;
	memset(text, 'a', n);
	memcpy(text, "1000 10 x\n2000 10 ", 18);
	strcpy(text + n, "\n3000 10 y\n");
	fd = file_of(text, strlen(text));
	assert_int_equal(gpc_perfmap_load(fd, 1 << 20, &map, NULL), GPC_OK);
	expect(map, 0x1000, "x");
	expect(map, 0x2000, NULL);
	expect(map, 0x3000, "y");
	gpc_perfmap_free(map);
}

static void reads_many_lines(void **state)
{
	size_t n = 50000, at = 0;
	autofree char *text = malloc(n * 40);
	struct gpc_perfmap *map = NULL;
	autoclose int fd = -1;
	char name[32];

	(void)state;
	for (size_t i = 0; i < n; i++)
		at += (size_t)sprintf(text + at, "%zx 20 function_%zu\n", i * 64, i);
	fd = file_of(text, at);
	assert_int_equal(gpc_perfmap_load(fd, at, &map, NULL), GPC_OK);
	for (size_t i = 0; i < n; i++) {
		sprintf(name, "function_%zu", i);
		expect(map, i * 64 + 31, name);
		expect(map, i * 64 + 32, NULL);
	}
	assert_true(gpc_perfmap_bytes(map) < n * 50);
	gpc_perfmap_free(map);
}

#define WRITTEN 4000

struct written {
	int fd;
	unsigned partly; /* atomic: looks at a map that was not whole */
};

/* As a runtime writes: in pieces that end anywhere. */
static void *write_lines(void *arg)
{
	struct written *w = arg;
	char line[64];
	int fd = w->fd;

	for (unsigned i = 0; i < WRITTEN; i++) {
		size_t n = (size_t)sprintf(line, "%x 20 function_%u_of_many\n", i * 64, i);
		size_t cut = i % n;

		while (i == WRITTEN / 2 && !__atomic_load_n(&w->partly, __ATOMIC_RELAXED))
			usleep(100);
		if (write(fd, line, cut) != (ssize_t)cut ||
		    write(fd, line + cut, n - cut) != (ssize_t)(n - cut))
			return "write failed";
	}
	return NULL;
}

/* Whatever is found has its whole name, and what was there once stays. */
static void is_written_while_it_is_read(void **state)
{
	autoclose int fd = memfd_create("map", MFD_CLOEXEC);
	struct written w = {.fd = fd};
	unsigned known = 0, loads = 0;
	pthread_t writer;
	void *failure;

	(void)state;
	assert_int_equal(pthread_create(&writer, NULL, write_lines, &w), 0);
	while (known < WRITTEN && loads++ < 100000) {
		struct gpc_perfmap *map = NULL;
		unsigned found = 0;
		char name[32];

		assert_int_equal(gpc_perfmap_load(fd, 1 << 20, &map, NULL), GPC_OK);
		for (; found < WRITTEN && gpc_perfmap_find(map, found * 64); found++) {
			sprintf(name, "function_%u_of_many", found);
			expect(map, found * 64, name);
		}
		assert_true(found >= known);
		assert_null(gpc_perfmap_find(map, (found + 1) * 64));
		if (found > 0 && found < WRITTEN)
			__atomic_add_fetch(&w.partly, 1, __ATOMIC_RELAXED);
		known = found;
		gpc_perfmap_free(map);
	}
	pthread_join(writer, &failure);
	assert_null(failure);
	assert_int_equal(known, WRITTEN);
	assert_true(w.partly > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_lines),
		cmocka_unit_test(leaves_out_what_is_no_line),
		cmocka_unit_test(lets_the_newest_win),
		cmocka_unit_test(agrees_with_the_plain_rule),
		cmocka_unit_test(reads_the_end_of_long_files),
		cmocka_unit_test(skips_endless_lines),
		cmocka_unit_test(reads_many_lines),
		cmocka_unit_test(is_written_while_it_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

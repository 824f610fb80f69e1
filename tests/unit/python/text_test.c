/* SPDX-License-Identifier: Apache-2.0 */
/* Every kind of string, as UTF-8. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../../../plugins/python/layout.h"
#include "../../../plugins/python/text.h"
#include "py_fake.h"

#define OBJECT (PY_FAKE_BASE + 0x100)
#define DATA   (PY_FAKE_BASE + 0x8000)

enum { ASCII = 16, COMPACT = 8 }; /* of a str's state, with the kind from bit 2 on */

static const uint16_t versions[] = {PY_VERSION(3, 6), PY_VERSION(3, 8), PY_VERSION(3, 11),
				    PY_VERSION(3, 12)};
#define N_VERSIONS (sizeof versions / sizeof *versions)

/* A str of n characters of so many bytes each. */
static void put_str(struct py_fake *f, const struct py_layout *l, unsigned width, unsigned flags,
		    const void *text, size_t n)
{
	uint64_t at = OBJECT + (flags & ASCII ? l->str_ascii : l->str_compact);

	py_fake_init(f);
	py_fake_put(f, OBJECT + l->str_length, n);
	py_fake_put32(f, OBJECT + l->str_state, (width | flags) << l->str_kind_shift);
	if (!(flags & COMPACT)) {
		py_fake_put(f, OBJECT + l->str_data, DATA);
		at = DATA;
	}
	memcpy(f->bytes + (at - PY_FAKE_BASE), text, n * width);
}

static void expect(struct py_fake *f, const struct py_layout *l, const char *want)
{
	char text[PY_TEXT_MAX];

	assert_int_equal(gpc_py_text_str(&f->memory, l, OBJECT, text), strlen(want));
	assert_string_equal(text, want);
}

static void every_width(void **state)
{
	static const uint8_t latin[] = {'n', 'a', 0xEF, 'v', 'e'};
	static const uint16_t cyrillic[] = {0x444, 0x443, 0x20AC, 'x'};
	static const uint32_t wide[] = {0x103A0, 0x1F40D, 'x'};
	struct py_fake f;

	(void)state;
	for (unsigned i = 0; i < N_VERSIONS; i++) {
		const struct py_layout *l = gpc_py_layout_find(versions[i], false);

		put_str(&f, l, 1, COMPACT | ASCII, "plain", 5);
		expect(&f, l, "plain");
		for (unsigned compact = 0; compact <= COMPACT; compact += COMPACT) {
			put_str(&f, l, 1, compact, latin, 5);
			expect(&f, l, "na\u00efve");
			put_str(&f, l, 2, compact, cyrillic, 4);
			expect(&f, l, "\u0444\u0443\u20acx");
			put_str(&f, l, 4, compact, wide, 3);
			expect(&f, l, "\U000103a0\U0001f40dx");
		}
		put_str(&f, l, 1, COMPACT | ASCII, "", 0);
		expect(&f, l, "");
	}
}

/* Free-threaded, from 3.14 on: interned is a byte. */
static void with_a_byte_in_front(void **state)
{
	struct py_layout l = *gpc_py_layout_find(PY_VERSION(3, 12), false);
	static const uint16_t cyrillic[] = {0x444, 0x443};
	struct py_fake f;

	(void)state;
	l.str_kind_shift = 8;
	put_str(&f, &l, 2, COMPACT, cyrillic, 2);
	f.bytes[OBJECT - PY_FAKE_BASE + l.str_state] = 3;
	expect(&f, &l, "\u0444\u0443");
}

/* What is no character: halves of pairs, numbers beyond the last one, zeros. */
static void no_characters(void **state)
{
	static const uint16_t halves[] = {0xD83D, 'x', 0};
	static const uint32_t beyond[] = {0x110000, 0xFFFFFFFF, 'x'};
	const struct py_layout *l = gpc_py_layout_find(PY_VERSION(3, 12), false);
	struct py_fake f;

	(void)state;
	put_str(&f, l, 2, COMPACT, halves, 3);
	expect(&f, l, "\uFFFDx?");
	put_str(&f, l, 4, COMPACT, beyond, 3);
	expect(&f, l, "\uFFFD\uFFFDx");
}

static void nonsense(void **state)
{
	const struct py_layout *l = gpc_py_layout_find(PY_VERSION(3, 12), false);
	char text[PY_TEXT_MAX];
	struct py_fake f;

	(void)state;
	put_str(&f, l, 1, COMPACT | ASCII, "plain", 5);
	py_fake_put(&f, OBJECT + l->str_length, UINT64_MAX);
	assert_int_equal(gpc_py_text_str(&f.memory, l, OBJECT, text), -1);
	put_str(&f, l, 1, COMPACT | ASCII, "plain", 5);
	py_fake_put32(&f, OBJECT + l->str_state, 3 << 2); /* no such kind */
	assert_int_equal(gpc_py_text_str(&f.memory, l, OBJECT, text), -1);
	assert_int_equal(gpc_py_text_str(&f.memory, l, PY_FAKE_BASE - 64, text), -1);
	put_str(&f, l, 1, 0, "plain", 5);
	py_fake_put(&f, OBJECT + l->str_data, 0x4141414141414141);
	assert_int_equal(gpc_py_text_str(&f.memory, l, OBJECT, text), -1);
}

/* Long ones are cut between characters. */
static void long_ones(void **state)
{
	const struct py_layout *l = gpc_py_layout_find(PY_VERSION(3, 12), false);
	uint32_t wide[PY_TEXT_MAX];
	char text[PY_TEXT_MAX];
	struct py_fake f;
	int n;

	(void)state;
	for (unsigned i = 0; i < PY_TEXT_MAX; i++)
		wide[i] = 0x20AC;
	put_str(&f, l, 4, COMPACT, wide, PY_TEXT_MAX);
	n = gpc_py_text_str(&f.memory, l, OBJECT, text);
	assert_true(n > PY_TEXT_MAX - 8 && n < PY_TEXT_MAX);
	assert_int_equal(n % 3, 0);
	assert_int_equal(strlen(text), n);
}

/* 2.7: bytes, which are UTF-8 in sources that are; others are not our fault. */
static void bytes_of_two(void **state)
{
	const struct py_layout *l = gpc_py_layout_find(PY_VERSION(2, 7), false);
	static const char words[] = "datei_\u00e4\u20ac\U0001f40d.py";
	char text[PY_TEXT_MAX];
	struct py_fake f;
	int n;

	(void)state;
	py_fake_init(&f);
	py_fake_put(&f, OBJECT + l->ob_size, sizeof words - 1);
	py_fake_text(&f, OBJECT + l->bytes_data, words);
	expect(&f, l, words);
	/* Cut, but not within a character. */
	py_fake_put(&f, OBJECT + l->ob_size, 3 * PY_TEXT_MAX);
	for (unsigned i = 0; i < PY_TEXT_MAX; i++)
		memcpy(f.bytes + (OBJECT - PY_FAKE_BASE) + l->bytes_data + 3 * i, "\u20ac", 3);
	n = gpc_py_text_str(&f.memory, l, OBJECT, text);
	assert_true(n > PY_TEXT_MAX - 5);
	assert_int_equal(n % 3, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_width),
		cmocka_unit_test(no_characters),
		cmocka_unit_test(with_a_byte_in_front),
		cmocka_unit_test(nonsense),
		cmocka_unit_test(long_ones),
		cmocka_unit_test(bytes_of_two),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

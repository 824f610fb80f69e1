/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "../../../plugins/python/layout.h"
#include "../../../plugins/python/version.h"

static void tables_are_there(void **state)
{
	static const uint16_t versions[] = {PY_VERSION(2, 7),  PY_VERSION(3, 6), PY_VERSION(3, 7),
					    PY_VERSION(3, 8),  PY_VERSION(3, 9), PY_VERSION(3, 10),
					    PY_VERSION(3, 11), PY_VERSION(3, 12)};

	(void)state;
	for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
		const struct py_layout *l = gpc_py_layout_find(versions[i], false);

		assert_non_null(l);
		assert_int_equal(l->version, versions[i]);
		assert_false(l->is_debug);
	}
	assert_true(gpc_py_layout_find(PY_VERSION(3, 7), true)->is_debug);
	/* Objects of newer debug builds begin as all do. */
	assert_false(gpc_py_layout_find(PY_VERSION(3, 8), true)->is_debug);
	assert_null(gpc_py_layout_find(PY_VERSION(3, 5), false));
	assert_null(gpc_py_layout_find(PY_VERSION(3, 13), false));
}

/* Figures that were taken elsewhere: of running interpreters. */
static void tables_are_right(void **state)
{
	const struct py_layout *l = gpc_py_layout_find(PY_VERSION(3, 8), false);

	(void)state;
	assert_int_equal(l->thread_id, 176);
	assert_int_equal(l->code_lines, 120);
	assert_int_equal(l->frame_locals, 360);
	l = gpc_py_layout_find(PY_VERSION(3, 12), false);
	assert_int_equal(l->interp_threads, 72);
	assert_int_equal(l->code_adaptive, 192);
	assert_int_equal(l->frame_owner, 70);
	assert_int_equal(l->frame_is_entry, PY_NONE);
}

static void put(uint8_t *bytes, size_t index, uint64_t value)
{
	memcpy(bytes + 8 * index, &value, sizeof value);
}

/* What 3.13.0 publishes, as far as it is used. */
static void make_published(uint8_t bytes[PY_DEBUG_OFFSETS_MAX])
{
	static const struct {
		unsigned number;
		uint64_t value;
	} used[] = {{2, 632},  {5, 7264}, {6, 7344}, {9, 7640}, {18, 8},   {19, 16},  {20, 72},
		    {21, 152}, {22, 160}, {23, 232}, {24, 32},  {25, 80},  {26, 8},   {28, 56},
		    {29, 72},  {30, 70},  {31, 208}, {32, 112}, {33, 120}, {34, 128}, {35, 136},
		    {36, 68},  {37, 52},  {38, 96},  {40, 200}, {42, 8},   {44, 24},  {48, 24},
		    {49, 16},  {63, 32},  {65, 32},  {66, 16},  {67, 40}};

	memset(bytes, 0, PY_DEBUG_OFFSETS_MAX);
	memcpy(bytes, "xdebugpy", 8);
	put(bytes, 1, 0x030D00F0);
	for (size_t i = 0; i < sizeof used / sizeof *used; i++)
		put(bytes, 3 + used[i].number, used[i].value);
}

static void published_offsets(void **state)
{
	uint8_t bytes[PY_DEBUG_OFFSETS_MAX];
	struct py_layout l;

	(void)state;
	make_published(bytes);
	assert_true(gpc_py_layout_parse(bytes, sizeof bytes, &l));
	assert_int_equal(l.version, PY_VERSION(3, 13));
	assert_int_equal(l.runtime_head, 632);
	assert_int_equal(l.code_adaptive, 200);
	assert_int_equal(l.str_compact, 56);
	assert_int_equal(l.thread_cframe, PY_NONE);
	assert_false(l.is_free_threaded);
	put(bytes, 2, 1);
	assert_true(gpc_py_layout_parse(bytes, sizeof bytes, &l));
	assert_true(l.is_free_threaded);
}

static void published_nonsense(void **state)
{
	uint8_t bytes[PY_DEBUG_OFFSETS_MAX];
	struct py_layout l;

	(void)state;
	make_published(bytes);
	assert_false(gpc_py_layout_parse(bytes, 24 + 8 * 70 - 1, &l)); /* cut */
	assert_true(gpc_py_layout_parse(bytes, 24 + 8 * 70, &l));
	bytes[0] = 'y';
	assert_false(gpc_py_layout_parse(bytes, sizeof bytes, &l));
	make_published(bytes);
	put(bytes, 3 + 25, 1 << 20); /* the size of a frame */
	assert_false(gpc_py_layout_parse(bytes, sizeof bytes, &l));
	make_published(bytes);
	put(bytes, 1, 0x020700F0); /* no such version publishes any */
	assert_false(gpc_py_layout_parse(bytes, sizeof bytes, &l));
}

/* Each of frame, code and str, one after another, beyond what is read at once. */
static void published_beyond_what_is_read(void **state)
{
	static const unsigned numbers[] = {25, 26, 28, 30, 32, 33, 34, 35, 36, 37, 38, 65, 66, 67};
	uint8_t bytes[PY_DEBUG_OFFSETS_MAX];
	struct py_layout l;

	(void)state;
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		make_published(bytes);
		put(bytes, 3 + numbers[i], 4090);
		if (gpc_py_layout_parse(bytes, sizeof bytes, &l))
			fail_msg("number %u is believed", numbers[i]);
	}
}

static void tables_are_sound(void **state)
{
	(void)state;
	for (const struct py_layout *l = gpc_py_tables; l->version; l++)
		assert_true(gpc_py_layout_is_sound(l));
}

static bool parse(const char *text, struct py_version *v)
{
	return gpc_py_version_parse(text, strlen(text), v);
}

static void versions(void **state)
{
	struct py_version v;

	(void)state;
	assert_true(parse("3.11.2 (main, Apr 28 2025, 14:11:48) [GCC 12.2.0]", &v));
	assert_int_equal(v.major, 3);
	assert_int_equal(v.minor, 11);
	assert_string_equal(v.text, "3.11.2");
	assert_true(parse("2.7.18+ (default", &v));
	assert_string_equal(v.text, "2.7.18+");
	assert_true(parse("3.15.0a3 (x)", &v));
	assert_string_equal(v.text, "3.15.0a3");
	assert_false(parse("3.11.2", &v));
	assert_false(parse("3.11 (main", &v));
	assert_false(parse("4.11.2 (main", &v));
	assert_false(parse("3.1111.2 (main", &v));
	assert_false(parse("", &v));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables_are_there),
		cmocka_unit_test(tables_are_right),
		cmocka_unit_test(published_offsets),
		cmocka_unit_test(published_nonsense),
		cmocka_unit_test(versions),
		cmocka_unit_test(published_beyond_what_is_read),
		cmocka_unit_test(tables_are_sound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

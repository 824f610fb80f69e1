/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "encode/text.h"

struct sink {
	char text[400000];
	size_t n;
};

static gpc_status keep(void *ctx, const void *bytes, uint64_t n)
{
	struct sink *sink = ctx;

	memcpy(sink->text + sink->n, bytes, n);
	sink->n += n;
	return GPC_OK;
}

static const char *json(const char *s)
{
	static struct sink sink;
	static struct gpc_out o;

	memset(&sink, 0, sizeof sink);
	gpc_out_init(&o, keep, &sink);
	gpc_out_json(&o, s);
	gpc_out_flush(&o);
	return sink.text;
}

static void utf8_is_checked(void **state)
{
	static const struct {
		const char *s;
		uint32_t c;
		size_t n;
	} rows[] = {
		{"a", 'a', 1},
		{"\xC3\xA4", 0xE4, 2},
		{"\xE2\x82\xAC", 0x20AC, 3},
		{"\xF0\x9F\x98\x80", 0x1F600, 4},
		{"\x80", GPC_UTF8_BAD, 1},     /* continues nothing */
		{"\xC3", GPC_UTF8_BAD, 1},     /* ends early */
		{"\xC0\x80", GPC_UTF8_BAD, 1}, /* too long a form */
		{"\xE0\x80\x80", GPC_UTF8_BAD, 1},
		{"\xED\xA0\x80", GPC_UTF8_BAD, 1},     /* a surrogate */
		{"\xF4\x90\x80\x80", GPC_UTF8_BAD, 1}, /* beyond the last */
		{"\xFF", GPC_UTF8_BAD, 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		uint32_t c;

		assert_int_equal(gpc_utf8_next(rows[i].s, &c), rows[i].n);
		assert_int_equal(c, rows[i].c);
	}
}

static void json_is_safe_in_a_page(void **state)
{
	(void)state;
	assert_string_equal(json(""), "\"\"");
	assert_string_equal(json("a</script>&\"\\\n\x7F"),
			    "\"a\\u003c/script\\u003e\\u0026\\u0022\\u005c\\u000a\\u007f\"");
	assert_string_equal(json("\xE2\x80\xA8\xE2\x80\xA9\xF0\x9F\x98\x80\xFF"),
			    "\"\\u2028\\u2029\xF0\x9F\x98\x80\\ufffd\"");
}

static void pieces_come_in_order(void **state)
{
	static char large[100000];
	static struct sink sink;
	static struct gpc_out o;

	(void)state;
	memset(large, 'x', sizeof large);
	gpc_out_init(&o, keep, &sink);
	gpc_out_u64(&o, 0);
	gpc_out_text(&o, ",");
	gpc_out_bytes(&o, large, 65534); /* fills the buffer to the last byte */
	assert_int_equal(sink.n, 0);
	gpc_out_bytes(&o, large, sizeof large);
	gpc_out_u64(&o, UINT64_MAX);
	assert_int_equal(gpc_out_flush(&o), GPC_OK);
	assert_int_equal(sink.n, 2 + 65534 + 100000 + 20);
	assert_memory_equal(sink.text, "0,xx", 4);
	assert_memory_equal(sink.text + sink.n - 22, "xx18446744073709551615", 22);
}

static gpc_status fail_second(void *ctx, const void *bytes, uint64_t n)
{
	int *calls = ctx;

	(void)bytes;
	(void)n;
	return ++*calls == 2 ? GPC_E_BUDGET : GPC_OK;
}

static void the_first_failure_is_kept(void **state)
{
	static struct gpc_out o;
	int calls = 0;

	(void)state;
	gpc_out_init(&o, fail_second, &calls);
	for (int i = 0; i < 50000; i++)
		gpc_out_text(&o, "some text");
	assert_int_equal(gpc_out_flush(&o), GPC_E_BUDGET);
	assert_int_equal(calls, 2);
}

static void a_frame_is_one_line(void **state)
{
	struct gpc_frame_text f = {.struct_size = sizeof f,
				   .flags = GPC_FRAME_SHOWS_FILE,
				   .function = "g\xC3\xA4nge",
				   .file = "app.py",
				   .module = "",
				   .suffix = "p",
				   .line = 7};
	char line[64];

	(void)state;
	assert_int_equal(gpc_frame_line(&f, line, sizeof line),
			 strlen("g\xC3\xA4nge (app.py:7)_[p]"));
	assert_string_equal(line, "g\xC3\xA4nge (app.py:7)_[p]");
	/* Cut before its second byte, a character goes whole; the suffix stays. */
	gpc_frame_line(&f, line, 7);
	assert_string_equal(line, "g_[p]");
	gpc_frame_line(&f, line, 8);
	assert_string_equal(line, "g\xC3\xA4_[p]");
	assert_int_equal(gpc_frame_line(&f, line, 1), 0);
	f.suffix = f.function = "";
	gpc_frame_line(&f, line, sizeof line);
	assert_string_equal(line, "[unknown] (app.py:7)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(utf8_is_checked),      cmocka_unit_test(json_is_safe_in_a_page),
		cmocka_unit_test(pieces_come_in_order), cmocka_unit_test(the_first_failure_is_kept),
		cmocka_unit_test(a_frame_is_one_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

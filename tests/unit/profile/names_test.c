/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/names.h"

static gpc_str str(struct gpc_names *names, const char *s)
{
	return gpc_names_str(names, s, strlen(s));
}

static void texts_are_stored_once(void **state)
{
	struct gpc_names *names = gpc_names_new(7);
	size_t len;
	gpc_str a, b;

	(void)state;
	assert_int_equal(gpc_names_epoch(names), 7);
	a = str(names, "main");
	b = str(names, "mainly");
	assert_int_not_equal(a, 0);
	assert_int_not_equal(a, b);
	assert_int_equal(str(names, "main"), a);
	assert_int_equal(gpc_names_str(names, "mainly", 4), a);
	assert_string_equal(gpc_names_text(names, b, &len), "mainly");
	assert_int_equal(len, 6);
	gpc_names_put(names);
}

static void odd_texts(void **state)
{
	struct gpc_names *names = gpc_names_new(0);
	char *longest = malloc(GPC_NAMES_LONGEST + 10);
	size_t len;
	gpc_str s;

	(void)state;
	assert_int_equal(gpc_names_str(names, "", 0), 0);
	assert_int_equal(gpc_names_str(names, "\0x", 2), 0);
	assert_string_equal(gpc_names_text(names, gpc_names_str(names, "a\0b", 3), &len), "a");
	assert_int_equal(len, 1);
	assert_string_equal(gpc_names_text(names, 0, &len), "");
	assert_string_equal(gpc_names_text(names, 12345, NULL), "");
	/* The limit falls into the middle of a character. */
	memset(longest, 'x', GPC_NAMES_LONGEST + 10);
	memcpy(longest + GPC_NAMES_LONGEST - 1, "\xC3\xA4", 2);
	s = gpc_names_str(names, longest, GPC_NAMES_LONGEST + 10);
	gpc_names_text(names, s, &len);
	assert_int_equal(len, GPC_NAMES_LONGEST - 1);
	free(longest);
	gpc_names_put(names);
}

static void frames_are_told_apart_by_every_member(void **state)
{
	struct gpc_names *names = gpc_names_new(0);
	struct gpc_frame_entry e = {.function = str(names, "f")}, got;
	gpc_frame first = gpc_names_frame(names, &e), frames[7];
	uint32_t *members[] = {&e.function, &e.file, &e.module, &e.suffix, &e.line, &e.flags};

	(void)state;
	assert_true((first & GPC_FRAME_MASK) == GPC_FRAME_TAG);
	frames[0] = first;
	for (int i = 0; i < 6; i++) {
		*members[i] += 1;
		frames[i + 1] = gpc_names_frame(names, &e);
		for (int k = 0; k <= i; k++)
			assert_true(frames[k] != frames[i + 1]);
	}
	assert_true(gpc_names_frame(names, &e) == frames[6]);
	assert_true(gpc_names_entry(names, frames[6], &got));
	assert_memory_equal(&got, &e, sizeof e);
	gpc_names_put(names);
}

static void unknown_frames_are_refused(void **state)
{
	struct gpc_names *names = gpc_names_new(0);
	struct gpc_frame_entry e = {.line = 3};
	struct gpc_frame_text text;
	gpc_frame f = gpc_names_frame(names, &e);

	(void)state;
	assert_false(gpc_names_entry(names, 0, &e));
	assert_false(gpc_names_entry(names, 0x401000, &e));
	assert_false(gpc_names_entry(names, f + 1, &e));
	assert_false(gpc_names_frame_text(names, f + 1, &text));
	assert_true(gpc_names_frame_text(names, f, &text));
	assert_string_equal(text.function, "");
	assert_int_equal(text.line, 3);
	gpc_names_put(names);
}

static void many_names_stay_lean(void **state)
{
	struct gpc_names *names = gpc_names_new(0);
	char text[64];
	size_t bytes = 0;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		int n = snprintf(text, sizeof text, "some/package/Class%d.method", i);

		assert_int_equal(gpc_names_str(names, text, (size_t)n), i + 1);
		bytes += (size_t)n;
	}
	assert_string_equal(gpc_names_text(names, 1, NULL), "some/package/Class0.method");
	assert_string_equal(gpc_names_text(names, 20000, NULL), "some/package/Class19999.method");
	printf("20,000 names of %zu bytes take %zu\n", bytes, gpc_names_bytes(names));
	assert_true(gpc_names_bytes(names) < 3 * bytes + 65536);
	gpc_names_put(names);
}

/* New frames, as a process that makes functions all the time gives them. Returns how many
 * had their names. */
static int add_named(struct gpc_names *names, int from, int n, bool is_collected)
{
	char text[1100];
	int named = 0;

	memset(text, 'x', sizeof text);
	for (int i = from; i < from + n; i++) {
		struct gpc_frame_entry e = {0};
		struct gpc_frame_text got;
		gpc_frame f;

		snprintf(text, sizeof text, "%01000d", i);
		e.function = is_collected ? gpc_names_collected_str(names, text, 1000)
					  : gpc_names_str(names, text, 1000);
		f = is_collected ? gpc_names_collected_frame(names, &e)
				 : gpc_names_frame(names, &e);
		assert_true(gpc_names_frame_text(names, f, &got));
		if (strcmp(got.function, text) == 0)
			named++;
		else
			assert_string_equal(got.function, GPC_NAMES_OVER);
	}
	return named;
}

static void a_limit_holds_within_a_window(void **state)
{
	struct gpc_names *names = gpc_names_new(1);
	struct gpc_frame_entry e = {0}, again;
	gpc_frame f;
	int n;

	(void)state;
	assert_int_equal(gpc_names_limit(names, 4 << 20), GPC_OK);
	e.function = str(names, "before");
	f = gpc_names_frame(names, &e);
	n = add_named(names, 0, 10000, true);
	assert_true(n > 1000 && n < 2200);
	assert_int_equal(gpc_names_refused(names), 10000 - n);
	/* The core's own names still have room. */
	n = add_named(names, 20000, 10000, false);
	assert_true(n > 1000 && n < 2200);
	assert_true(gpc_names_bytes(names) < 5 << 20);
	/* What was there before is there. */
	again = e;
	assert_int_equal(str(names, "before"), e.function);
	assert_true(gpc_names_collected_frame(names, &again) == f);
	gpc_names_put(names);
}

static void *intern_many(void *arg)
{
	struct gpc_names *names = arg;
	char text[32];

	for (int i = 0; i < 3000; i++) {
		struct gpc_frame_entry e = {0};
		struct gpc_frame_text got;
		gpc_frame f;

		snprintf(text, sizeof text, "f%d", i);
		e.function = str(names, text);
		f = gpc_names_frame(names, &e);
		if (!gpc_names_frame_text(names, f, &got) || strcmp(got.function, text) != 0)
			return arg;
	}
	gpc_names_put(names);
	return NULL;
}

static void threads_agree(void **state)
{
	struct gpc_names *names = gpc_names_new(0);
	struct gpc_frame_entry e;
	pthread_t threads[4];
	void *failed;

	(void)state;
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, intern_many, gpc_names_get(names));
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], &failed);
		assert_null(failed);
	}
	assert_true(gpc_names_entry(names, GPC_FRAME_TAG | 2999, &e));
	assert_false(gpc_names_entry(names, GPC_FRAME_TAG | 3000, &e));
	gpc_names_put(names);
	gpc_names_put(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_are_stored_once),
		cmocka_unit_test(odd_texts),
		cmocka_unit_test(frames_are_told_apart_by_every_member),
		cmocka_unit_test(unknown_frames_are_refused),
		cmocka_unit_test(many_names_stay_lean),
		cmocka_unit_test(a_limit_holds_within_a_window),
		cmocka_unit_test(threads_agree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

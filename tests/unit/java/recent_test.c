/* SPDX-License-Identifier: Apache-2.0 */
/* How long what was read counts, and cells that several threads use at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>

#include "recent.h"

#define SECOND UINT64_C(1000000000)
#define MS     UINT64_C(1000000)
#define BEGIN  (100 * SECOND)

static int set_up(void **state)
{
	*state = calloc(1, sizeof(struct java_recent));
	return *state ? 0 : -1;
}

static int tear_down(void **state)
{
	free(*state);
	return 0;
}

static struct blob blob(int32_t compile_id)
{
	return (struct blob){.addr = 0x7f0000001000,
			     .method = 0x7f0000100000,
			     .compile_id = compile_id};
}

/* What was not looked at, or was something else, is not proven. */
static void test_other_code(void **state)
{
	struct java_recent *r = *state;
	struct blob b = blob(7), other = blob(8), moved = blob(7);

	assert_int_equal(gpc_java_recent_blob(r, &b, BEGIN), 0);
	gpc_java_recent_blob_is(r, &b, BEGIN);
	assert_true(gpc_java_recent_blob(r, &b, BEGIN));
	assert_int_equal(gpc_java_recent_blob(r, &other, BEGIN), 0);
	other = b;
	other.method += 8;
	assert_int_equal(gpc_java_recent_blob(r, &other, BEGIN), 0);
	moved.addr += 0x1000;
	assert_int_equal(gpc_java_recent_blob(r, &moved, BEGIN), 0);
}

/* 50 ms of what is new; a sixteenth of its life, as far as it was seen, later; at most
 * 400 ms. */
static void test_the_older_the_longer(void **state)
{
	struct java_recent *r = *state;
	struct blob b = blob(7);

	assert_int_equal(gpc_java_recent_blob_is(r, &b, BEGIN), BEGIN + 50 * MS);
	assert_int_equal(gpc_java_recent_blob(r, &b, BEGIN + 50 * MS - 1), BEGIN + 50 * MS);
	assert_int_equal(gpc_java_recent_blob(r, &b, BEGIN + 50 * MS), 0);
	assert_int_equal(gpc_java_recent_blob_is(r, &b, BEGIN + 1550 * MS), BEGIN + 1600 * MS);
	assert_int_equal(gpc_java_recent_blob_is(r, &b, BEGIN + 1600 * MS), BEGIN + 1700 * MS);
	assert_int_equal(gpc_java_recent_blob_is(r, &b, BEGIN + 4000 * MS), BEGIN + 4200 * MS);
	assert_int_equal(gpc_java_recent_blob_is(r, &b, BEGIN + 90000 * MS), BEGIN + 90400 * MS);
	/* Another one in its place is new again. */
	b.compile_id = 9;
	assert_int_equal(gpc_java_recent_blob_is(r, &b, BEGIN + 91000 * MS), BEGIN + 91050 * MS);
	b.compile_id = 7;
	assert_int_equal(gpc_java_recent_blob(r, &b, BEGIN + 91000 * MS), 0);
}

/* Looks at different times end at the same one, and none is good for less than half. */
static void test_looks_end_together(void **state)
{
	struct java_recent *r = *state;
	struct blob b = blob(7);

	for (uint64_t i = 0; i < 25; i++) {
		b.compile_id++;
		assert_int_equal(gpc_java_recent_blob_is(r, &b, BEGIN + i * MS), BEGIN + 50 * MS);
	}
	assert_int_equal(gpc_java_recent_blob_is(r, &b, BEGIN + 25 * MS), BEGIN + 75 * MS);
}

/* Of another reader, that was a little later. */
static void test_a_clock_that_is_behind(void **state)
{
	struct java_recent *r = *state;
	struct blob b = blob(7);

	gpc_java_recent_blob_is(r, &b, BEGIN);
	assert_true(gpc_java_recent_blob(r, &b, BEGIN - 1000));
	assert_int_equal(gpc_java_recent_blob_is(r, &b, BEGIN - 1000), BEGIN + 25 * MS);
}

static void test_methods(void **state)
{
	struct java_recent *r = *state;
	struct method m = {.addr = 0x7f0000100000, .name = 3, .class_symbol = 4}, found;

	assert_false(gpc_java_recent_method(r, m.addr, BEGIN, &found));
	assert_false(gpc_java_recent_method(r, 0, BEGIN, &found));
	gpc_java_recent_method_is(r, &m, BEGIN);
	assert_true(gpc_java_recent_method(r, m.addr, BEGIN + SECOND / 20 - 1, &found));
	assert_true(gpc_java_method_same(&found, &m));
	assert_false(gpc_java_recent_method(r, m.addr, BEGIN + SECOND / 20, &found));
	assert_false(gpc_java_recent_method(r, m.addr + 8, BEGIN, &found));
	gpc_java_recent_method_is(r, &m, BEGIN + 4 * SECOND);
	assert_true(gpc_java_recent_method(r, m.addr, BEGIN + 4 * SECOND + SECOND / 5 - 1, &found));
	m.class_symbol = 5;
	gpc_java_recent_method_is(r, &m, BEGIN + 5 * SECOND);
	assert_false(gpc_java_recent_method(r, m.addr, BEGIN + 5 * SECOND + SECOND / 20, &found));
}

/* ---- cells ----------------------------------------------------------------------------- */

#define WORDS  7
#define ROUNDS 200000

static void test_a_cell_that_is_being_changed(void **state)
{
	uint64_t room[GPC_JAVA_LINES(2)] = {0}, *cell = gpc_java_line(room, 1), words[WORDS] = {5};

	(void)state;
	assert_int_equal((uintptr_t)cell % 64, 0);
	assert_true(cell + GPC_JAVA_LINE <= room + GPC_JAVA_LINES(2));
	assert_false(gpc_java_cell_read(cell, words, WORDS)); /* empty */
	gpc_java_cell_write(cell, words, WORDS);
	assert_true(gpc_java_cell_read(cell, words, WORDS));
	assert_true(gpc_java_cell_change(cell));
	assert_false(gpc_java_cell_read(cell, words, WORDS));
	assert_false(gpc_java_cell_change(cell));
	words[0] = 6;
	gpc_java_cell_write(cell, words, WORDS); /* no second writer gets in */
	gpc_java_cell_done(cell);
	assert_true(gpc_java_cell_read(cell, words, WORDS));
	assert_int_equal(words[0], 0);
}

static void *write_often(void *arg)
{
	uint64_t words[WORDS];

	for (uint64_t i = 1; i < ROUNDS; i++) {
		for (int k = 0; k < WORDS; k++)
			words[k] = i * (uint64_t)(k + 1);
		gpc_java_cell_write(arg, words, WORDS);
	}
	return NULL;
}

/* What is read was written by one writer at once. */
static void test_no_cell_is_torn(void **state)
{
	uint64_t room[GPC_JAVA_LINES(1)] = {0}, *cell = gpc_java_line(room, 0), words[WORDS];
	pthread_t writers[2];

	(void)state;
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&writers[i], NULL, write_often, cell), 0);
	for (int i = 0; i < ROUNDS; i++)
		if (gpc_java_cell_read(cell, words, WORDS))
			for (int k = 1; k < WORDS; k++)
				assert_int_equal(words[k], words[0] * (uint64_t)(k + 1));
	for (int i = 0; i < 2; i++)
		pthread_join(writers[i], NULL);
	assert_true(gpc_java_cell_read(cell, words, WORDS));
}

#define recent_test(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		recent_test(test_other_code),
		recent_test(test_the_older_the_longer),
		recent_test(test_looks_end_together),
		recent_test(test_a_clock_that_is_behind),
		recent_test(test_methods),
		cmocka_unit_test(test_a_cell_that_is_being_changed),
		cmocka_unit_test(test_no_cell_is_torn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

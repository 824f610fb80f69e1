/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proc/space.h"

/* The naive model: what each cell of an address space means. */
#define CELLS 300
struct model {
	struct {
		uint32_t image, kind; /* image 0: nothing */
		uint64_t offset;
	} at[CELLS];
};

static void model_map(struct model *m, const struct gpc_area *a)
{
	for (uint64_t c = a->start; c < a->end; c++) {
		m->at[c].image = a->image;
		m->at[c].kind = a->kind;
		m->at[c].offset = a->offset + (c - a->start);
	}
}

static void check_same(const struct gpc_space *s, const struct model *m)
{
	for (uint64_t c = 0; c < CELLS; c++) {
		const struct gpc_area *a = gpc_space_find(s, c);

		assert_int_equal(a != NULL, m->at[c].image != 0);
		if (!a)
			continue;
		assert_int_equal(a->image, m->at[c].image);
		assert_int_equal(a->kind, m->at[c].kind);
		assert_int_equal(a->offset + (c - a->start), m->at[c].offset);
	}
}

static void check_order(const struct gpc_space *s)
{
	for (uint32_t i = 0; i < s->n; i++) {
		assert_true(s->areas[i].start < s->areas[i].end);
		assert_true(i == 0 || s->areas[i - 1].end <= s->areas[i].start);
	}
	assert_true(s->n <= s->room);
}

static struct gpc_area random_area(unsigned *seed, uint32_t longest)
{
	struct gpc_area a = {0};

	a.start = (uint64_t)rand_r(seed) % (CELLS - longest);
	a.end = a.start + 1 + (uint64_t)rand_r(seed) % longest;
	a.offset = (uint64_t)rand_r(seed) % 1000;
	a.image = 1 + (uint32_t)rand_r(seed) % 5;
	a.kind = (uint32_t)rand_r(seed) % 3;
	return a;
}

static void test_against_the_model(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= 60; seed++) {
		unsigned random = seed;
		struct gpc_space *s = gpc_space_new();
		struct model m = {0};

		for (int i = 0; i < 120; i++) {
			struct gpc_area a = random_area(&random, seed % 2 ? 12 : 90);

			assert_true(gpc_space_map(&s, &a));
			model_map(&m, &a);
			check_order(s);
			check_same(s, &m);
		}
		gpc_space_put(s);
	}
}

/* Parent and child after a fork: each change is seen by one side only. */
static void test_shared_until_changed(void **state)
{
	unsigned random = 7;

	(void)state;
	for (int round = 0; round < 50; round++) {
		struct gpc_space *parent = gpc_space_new(), *child;
		struct model of_parent = {0}, of_child;

		for (int i = 0; i < 20; i++) {
			struct gpc_area a = random_area(&random, 30);

			assert_true(gpc_space_map(&parent, &a));
			model_map(&of_parent, &a);
		}
		child = gpc_space_get(parent);
		of_child = of_parent;
		for (int i = 0; i < 10; i++) {
			struct gpc_area a = random_area(&random, 30);

			assert_true(gpc_space_map(i % 2 ? &parent : &child, &a));
			model_map(i % 2 ? &of_parent : &of_child, &a);
			check_same(parent, &of_parent);
			check_same(child, &of_child);
		}
		gpc_space_put(round % 2 ? parent : child);
		check_same(round % 2 ? child : parent, round % 2 ? &of_child : &of_parent);
		gpc_space_put(round % 2 ? child : parent);
	}
}

static void test_same_area_again_makes_no_copy(void **state)
{
	struct gpc_area a = {.start = 10, .end = 20, .image = 1};
	struct gpc_space *s = gpc_space_new(), *other;

	(void)state;
	assert_true(gpc_space_map(&s, &a));
	other = gpc_space_get(s);
	assert_true(gpc_space_map(&s, &a));
	assert_ptr_equal(s, other);
	gpc_space_put(s);
	gpc_space_put(other);
}

static void test_senseless_areas(void **state)
{
	static const struct gpc_area areas[] = {{.start = 5, .end = 5}, {.start = 6, .end = 5}};
	struct gpc_space *s = gpc_space_new();

	(void)state;
	for (int i = 0; i < 2; i++)
		assert_false(gpc_space_map(&s, &areas[i]));
	assert_int_equal(s->n, 0);
	assert_null(gpc_space_find(s, 5));
	gpc_space_put(s);
	gpc_space_put(NULL);
}

static void test_ends_of_the_address_space(void **state)
{
	struct gpc_area low = {.start = 0, .end = 1, .image = 1};
	struct gpc_area high = {.start = UINT64_MAX - 1, .end = UINT64_MAX, .image = 2};
	struct gpc_area all = {.start = 0, .end = UINT64_MAX, .image = 3};
	struct gpc_space *s = gpc_space_new();

	(void)state;
	assert_true(gpc_space_map(&s, &high));
	assert_true(gpc_space_map(&s, &low));
	assert_int_equal(gpc_space_find(s, 0)->image, 1);
	assert_int_equal(gpc_space_find(s, UINT64_MAX - 1)->image, 2);
	assert_null(gpc_space_find(s, UINT64_MAX));
	assert_true(gpc_space_map(&s, &all));
	assert_int_equal(s->n, 1);
	gpc_space_put(s);
}

/* A program that maps without end must not grow us without end. */
static void test_limit(void **state)
{
	struct gpc_space *s = gpc_space_new();
	struct gpc_area a = {.image = 1};
	uint64_t k = 0;

	(void)state;
	for (; k < 70000; k++) {
		a.start = k * 10;
		a.end = a.start + 5;
		if (!gpc_space_map(&s, &a))
			break;
	}
	assert_int_equal(k, 16384);
	assert_int_equal(s->n, 16384);
	a.start = 0;
	a.end = 5;
	assert_non_null(gpc_space_find(s, 4));
	gpc_space_put(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_against_the_model),
		cmocka_unit_test(test_shared_until_changed),
		cmocka_unit_test(test_same_area_again_makes_no_copy),
		cmocka_unit_test(test_senseless_areas),
		cmocka_unit_test(test_ends_of_the_address_space),
		cmocka_unit_test(test_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

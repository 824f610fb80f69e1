/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/map.h"

#define KEYS   64
#define ROUNDS 200000

/* A small generator of our own: the same numbers in every run and libc. */
static uint64_t next(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

/* What the map should hold: key k of the pool is there with value[k]. */
struct model {
	uint64_t key[KEYS], value[KEYS];
	bool there[KEYS];
	size_t n;
};

static void model_fill(struct model *m, uint64_t *seed, uint64_t stride)
{
	memset(m, 0, sizeof *m);
	for (size_t k = 0; k < KEYS; k++)
		m->key[k] = stride ? k * stride : next(seed);
}

static void check_equal(const struct gpc_u64map *map, const struct model *m)
{
	assert_int_equal(map->n, m->n);
	for (size_t k = 0; k < KEYS; k++) {
		uint64_t found = 12345;

		assert_int_equal(gpc_u64map_get(map, m->key[k], &found), m->there[k]);
		assert_int_equal(found, m->there[k] ? m->value[k] : 12345);
	}
}

static void one_step(struct gpc_u64map *map, struct model *m, uint64_t *seed)
{
	size_t k = next(seed) % KEYS;
	uint64_t value = next(seed) >> 1;

	if (next(seed) % 5 < 2) {
		assert_int_equal(gpc_u64map_remove(map, m->key[k]), m->there[k]);
		m->n -= m->there[k];
		m->there[k] = false;
	} else {
		assert_true(gpc_u64map_set(map, m->key[k], value));
		m->n += !m->there[k];
		m->there[k] = true;
		m->value[k] = value;
	}
	if (next(seed) % 5000 == 0) {
		gpc_u64map_clear(map);
		memset(m->there, 0, sizeof m->there);
		m->n = 0;
	}
}

/* Keys of several shapes, so that runs of neighbours, which wrap around the
 * end of the table, are removed from in every order. */
static void test_against_model(void **state)
{
	static const uint64_t strides[] = {0, 1, 4096, UINT64_C(1) << 20, UINT64_C(1) << 32};
	uint64_t seed = 88172645463325252;

	(void)state;
	for (size_t s = 0; s < sizeof strides / sizeof *strides; s++) {
		struct gpc_u64map map = {0};
		struct model m;

		model_fill(&m, &seed, strides[s]);
		for (int i = 0; i < ROUNDS / 5; i++) {
			one_step(&map, &m, &seed);
			if (i % 16 == 0)
				check_equal(&map, &m);
		}
		check_equal(&map, &m);
		gpc_u64map_deinit(&map);
	}
}

static void test_empty(void **state)
{
	struct gpc_u64map map = {0};
	uint64_t value = 7, cursor = 0;

	(void)state;
	assert_false(gpc_u64map_get(&map, 0, &value));
	assert_false(gpc_u64map_remove(&map, 0));
	assert_false(gpc_u64map_probe(&map, 0, &cursor, &value));
	gpc_u64map_clear(&map);
	assert_int_equal(value, 7);
	gpc_u64map_deinit(&map);
	gpc_u64map_deinit(&map);
}

static void test_extreme_keys_and_values(void **state)
{
	struct gpc_u64map map = {0};
	uint64_t value;

	(void)state;
	assert_true(gpc_u64map_set(&map, 0, 0));
	assert_true(gpc_u64map_set(&map, UINT64_MAX, UINT64_MAX - 1));
	assert_true(gpc_u64map_get(&map, 0, &value));
	assert_int_equal(value, 0);
	assert_true(gpc_u64map_get(&map, UINT64_MAX, &value));
	assert_true(value == UINT64_MAX - 1);
	assert_int_equal(map.n, 2);
	gpc_u64map_deinit(&map);
}

static void test_grows_and_keeps_all(void **state)
{
	struct gpc_u64map map = {0};
	uint64_t value;

	(void)state;
	for (uint64_t k = 0; k < 100000; k++)
		assert_true(gpc_u64map_set(&map, k << 12, k));
	assert_int_equal(map.n, 100000);
	assert_int_equal(map.room & (map.room - 1), 0);
	for (uint64_t k = 0; k < 100000; k++) {
		assert_true(gpc_u64map_get(&map, k << 12, &value));
		assert_int_equal(value, k);
	}
	gpc_u64map_deinit(&map);
}

/* Collects what probe gives for key as a set of small values. */
static uint64_t probe_bits(const struct gpc_u64map *map, uint64_t key)
{
	uint64_t cursor = 0, value, bits = 0;

	while (gpc_u64map_probe(map, key, &cursor, &value)) {
		assert_true(value < 64);
		assert_int_equal(bits >> value & 1, 0); /* each only once */
		bits |= UINT64_C(1) << value;
	}
	return bits;
}

static void test_probe_gives_every_added_value(void **state)
{
	struct gpc_u64map map = {0};
	uint64_t want[50] = {0}, seed = 42;

	(void)state;
	for (uint64_t v = 0; v < 60; v++)
		for (size_t k = 0; k < 50; k++)
			if (next(&seed) % 4 == 0) {
				assert_true(gpc_u64map_add(&map, k, v));
				want[k] |= UINT64_C(1) << v;
			}
	for (size_t k = 0; k < 50; k++)
		assert_true(probe_bits(&map, k) == want[k]);
	assert_int_equal(probe_bits(&map, 1000), 0);
	gpc_u64map_deinit(&map);
}

static void test_remove_takes_one_of_a_multimap(void **state)
{
	struct gpc_u64map map = {0};
	uint64_t left;

	(void)state;
	for (uint64_t v = 0; v < 3; v++)
		assert_true(gpc_u64map_add(&map, 9, v));
	assert_true(gpc_u64map_remove(&map, 9));
	left = probe_bits(&map, 9);
	assert_int_equal(__builtin_popcountll(left), 2);
	assert_true(gpc_u64map_remove(&map, 9));
	assert_true(gpc_u64map_remove(&map, 9));
	assert_false(gpc_u64map_remove(&map, 9));
	assert_int_equal(map.n, 0);
	gpc_u64map_deinit(&map);
}

static void test_hash(void **state)
{
	(void)state;
	assert_true(gpc_hash("ab", 2) == gpc_hash("abc", 2));
	assert_true(gpc_hash("ab", 2) != gpc_hash("ba", 2));
	assert_true(gpc_hash("a\0b", 3) != gpc_hash("a\0c", 3));
	assert_true(gpc_hash("", 0) == gpc_hash("x", 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_against_model),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_extreme_keys_and_values),
		cmocka_unit_test(test_grows_and_keeps_all),
		cmocka_unit_test(test_probe_gives_every_added_value),
		cmocka_unit_test(test_remove_takes_one_of_a_multimap),
		cmocka_unit_test(test_hash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

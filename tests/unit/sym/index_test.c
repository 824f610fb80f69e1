/* SPDX-License-Identifier: Apache-2.0 */
#include "sym/index.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct gpc_image_key key_of(uint64_t inode)
{
	return (struct gpc_image_key){.inode = inode};
}

static struct gpc_image *add(struct gpc_image_index *idx, uint64_t inode)
{
	struct gpc_image_key key = key_of(inode);

	return gpc_image_index_add(idx, &key, "x");
}

static struct gpc_image *find(const struct gpc_image_index *idx, uint64_t inode)
{
	struct gpc_image_key key = key_of(inode);

	return gpc_image_index_find(idx, &key);
}

static void drop(struct gpc_image_index *idx, uint64_t inode)
{
	gpc_image_free(gpc_image_index_remove(idx, find(idx, inode)));
}

/* A daemon that has seen more files than there are numbers goes on; a number that
 * somebody may still remember is not given to another. */
static void numbers_are_used_again(void **state)
{
	struct gpc_image_index idx = {.max = 4};

	(void)state;
	for (uint32_t i = 1; i <= 4; i++)
		assert_int_equal(add(&idx, i)->number, i);
	assert_null(add(&idx, 5));
	drop(&idx, 2);
	assert_null(add(&idx, 5));
	gpc_image_index_wake(&idx);
	assert_int_equal(add(&idx, 5)->number, 2);
	assert_null(add(&idx, 6));
	assert_int_equal(gpc_image_index_get(&idx, 2)->key.inode, 5);
	assert_null(find(&idx, 2));
	drop(&idx, 1);
	drop(&idx, 4);
	gpc_image_index_wake(&idx);
	assert_int_equal(add(&idx, 6)->number, 4); /* the one not used for longest, upwards */
	assert_int_equal(add(&idx, 7)->number, 1);
	gpc_image_index_deinit(&idx);
}

static bool is_it(void *ctx, uint32_t number)
{
	return number == *(uint32_t *)ctx;
}

/* Against what it was told, over all orders of going. */
static void joined_images_have_both_numbers(void **state)
{
	(void)state;
	for (unsigned gone = 0; gone < 8; gone++) {
		struct gpc_image_index idx = {.max = 100};
		struct gpc_image_key key = key_of(77);
		struct gpc_image *a, *b;
		uint32_t n;

		for (uint32_t i = 1; i <= 8; i++)
			add(&idx, i);
		a = find(&idx, 3);
		b = find(&idx, 6);
		a->state = b->state = GPC_IMAGE_OPEN;
		gpc_image_index_know(&idx, a, &key, 1);
		assert_ptr_equal(find(&idx, 77), a);
		gpc_image_index_know(&idx, b, &key, 1);
		assert_int_equal(b->same_as, 3);
		gpc_image_free(gpc_image_index_merge(&idx, b, a));
		if (gone != 2 && gone != 5)
			drop(&idx, gone + 1);
		assert_ptr_equal(gpc_image_index_get(&idx, 3), a);
		assert_ptr_equal(gpc_image_index_get(&idx, 6), a);
		assert_ptr_equal(find(&idx, 3), a);
		assert_ptr_equal(find(&idx, 6), a);
		assert_ptr_equal(find(&idx, 77), a);
		n = 6;
		assert_true(gpc_image_is_any(a, is_it, &n));
		for (uint64_t i = 1; i <= 8; i++)
			if (i != gone + 1 && i != 3 && i != 6)
				assert_int_equal(find(&idx, i)->number, i);
		gpc_image_index_forget_aliases(&idx, a);
		assert_null(find(&idx, 77));
		assert_null(find(&idx, 6));
		drop(&idx, 3);
		assert_null(gpc_image_index_get(&idx, 3));
		assert_null(gpc_image_index_get(&idx, 6));
		gpc_image_index_deinit(&idx);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_used_again),
		cmocka_unit_test(joined_images_have_both_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

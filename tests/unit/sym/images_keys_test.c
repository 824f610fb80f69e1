/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

/* The kernel tells of mappings by build-id, or by inode, with its generation or without;
 * once the file is open all that is known to be one. */
static void knows_a_file_by_all_its_keys(void **state)
{
	struct gpc_images *images = images_with(1 << 20, 16);
	struct gpc_image_key id = key_of_build_id(), by_inode;
	int fd = fixture("lib.so"), other = fixture("noid.so");
	uint32_t image;

	(void)state;
	by_inode = key_of_file(fd);
	image = gpc_images_add(images, &by_inode, "old process");
	assert_true(gpc_images_offer(images, image, fd));
	assert_int_equal(gpc_images_add(images, &id, "new process"), image);
	gpc_images_free(images);

	images = images_with(1 << 20, 16);
	image = gpc_images_add(images, &id, "new process");
	fd = fixture("lib.so");
	assert_true(gpc_images_offer(images, image, fd));
	assert_int_equal(gpc_images_add(images, &by_inode, "old process"), image);
	/* Not what has neither in common. */
	by_inode = key_of_file(other);
	assert_int_not_equal(gpc_images_add(images, &by_inode, "other"), image);
	assert_int_equal(stats_of(images).images, 2);
	close(other);
	gpc_images_free(images);
}

static bool keep_all(void *ctx, uint32_t image)
{
	(void)ctx;
	(void)image;
	return true;
}

/* Both were mapped before either file was open. */
static void joins_what_is_one_file(void **state)
{
	struct gpc_images *images = images_with(1 << 20, 16);
	struct gpc_image_key id = key_of_build_id(), by_inode;
	uint64_t outer;
	uint32_t a, b, pie;
	int fd = fixture("lib.so");

	(void)state;
	outer = offset_of(fd, "outer");
	by_inode = key_of_file(fd);
	a = gpc_images_add(images, &id, "first");
	b = gpc_images_add(images, &by_inode, "second");
	assert_int_not_equal(a, b);
	assert_true(gpc_images_offer(images, b, fd));
	assert_true(gpc_images_offer(images, a, fixture("lib.so")));
	pie = add_fixture(images, "pie"); /* it has that build-id too, but is not this file */
	assert_int_equal(stats_of(images).files, 3);
	gpc_images_trim(images, keep_all, NULL);
	assert_int_equal(stats_of(images).images, 2);
	assert_int_equal(stats_of(images).files, 2);
	expect(images, a, outer, "outer");
	expect(images, b, outer, "outer");
	assert_int_equal(gpc_images_add(images, &id, "x"), gpc_images_add(images, &by_inode, "x"));
	assert_string_equal(gpc_images_path(images, a), gpc_images_path(images, b));
	/* It stays as long as one of its numbers is in use. */
	for (int i = 0; i < 4; i++)
		gpc_images_trim(images, keep_one, &a);
	assert_non_null(gpc_images_path(images, b));
	assert_null(gpc_images_path(images, pie));
	for (int i = 0; i < 4; i++)
		gpc_images_trim(images, NULL, NULL);
	assert_null(gpc_images_path(images, a));
	assert_null(gpc_images_path(images, b));
	assert_int_equal(stats_of(images).images, 0);
	assert_int_equal(stats_of(images).files, 0);
	gpc_images_free(images);
}

/* With its file closed an inode may become another file's. */
static void forgets_other_keys_with_the_file(void **state)
{
	struct gpc_images *images = images_with(1 << 20, 8);
	struct gpc_image_key id = key_of_build_id();
	uint32_t image = add_fixture(images, "lib.so");

	(void)state;
	assert_int_equal(gpc_images_add(images, &id, "x"), image);
	for (size_t i = 0; i < 7; i++)
		add_fixture(images,
			    ((const char *const[]){"noid.so", "pie", "static", "bias.so", "sysv.so",
						   "together.so", "separate.so"})[i]);
	gpc_images_trim(images, keep_all, NULL);
	assert_true(gpc_images_wants_file(images, image));
	assert_int_not_equal(gpc_images_add(images, &id, "x"), image);
	gpc_images_free(images);
}

/* Refused for want of descriptors, or closed: who meets the image asks for it again. */
static void is_asked_for_again(void **state)
{
	struct gpc_images *images = images_with(1 << 20, 2);
	int fd = fixture("pie");
	struct gpc_image_key key = key_of_file(fd);
	uint32_t first = add_fixture(images, "lib.so"), refused;

	(void)state;
	add_fixture(images, "noid.so");
	assert_false(gpc_images_ask_again(images, first));
	refused = gpc_images_add(images, &key, "pie");
	assert_true(gpc_images_ask(images, refused));
	assert_true(gpc_images_awaits_file(images, refused));
	assert_false(gpc_images_offer(images, refused, fd));
	assert_false(gpc_images_awaits_file(images, refused));
	assert_false(gpc_images_ask_again(images, refused));
	/* Debug files have no room either. */
	gpc_images_offer_debug(images, first, GPC_DEBUG_OWN, fixture("lib.debug"));
	assert_int_equal(stats_of(images).files, 2);
	gpc_images_trim(images, keep_all, NULL);
	assert_true(gpc_images_wants_file(images, refused));
	assert_false(gpc_images_awaits_file(images, refused)); /* nobody was asked */
	assert_true(gpc_images_ask_again(images, refused));
	assert_false(gpc_images_ask_again(images, refused));
	assert_true(gpc_images_awaits_file(images, refused));
	gpc_images_free(images);

	/* Of nine the one that was used longest ago is closed; it comes back, or not. */
	images = images_with(1 << 20, 8);
	first = add_fixture(images, "lib.so");
	for (size_t i = 0; i < 7; i++)
		add_fixture(images,
			    ((const char *const[]){"noid.so", "pie", "static", "bias.so", "sysv.so",
						   "together.so", "separate.so"})[i]);
	gpc_images_trim(images, keep_all, NULL);
	assert_int_equal(status_of(images, first), GPC_E_GONE);
	assert_true(gpc_images_ask_again(images, first));
	gpc_images_give_up(images, first); /* whom it was asked of is gone */
	assert_false(gpc_images_ask_again(images, first));
	gpc_images_trim(images, keep_all, NULL);
	assert_true(gpc_images_ask_again(images, first));
	assert_true(gpc_images_offer(images, first, fixture("lib.so")));
	assert_int_equal(status_of(images, first), GPC_OK);
	gpc_images_free(images);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(knows_a_file_by_all_its_keys),
		cmocka_unit_test(joins_what_is_one_file),
		cmocka_unit_test(forgets_other_keys_with_the_file),
		cmocka_unit_test(is_asked_for_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

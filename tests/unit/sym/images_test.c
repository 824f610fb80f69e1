/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

static void knows_an_image_once(void **state)
{
	struct gpc_images *images = images_with(1 << 20, 16);
	struct gpc_image_key a = {.inode = 1, .dev_minor = 2}, b = a, c = a, id = key_of_build_id();
	uint32_t first = gpc_images_add(images, &a, "/lib/first");

	(void)state;
	b.generation = 1;
	c.reserved[1] = 7;
	assert_int_equal(first, 1);
	assert_int_equal(gpc_images_add(images, &a, "/other/path"), first);
	assert_int_equal(gpc_images_add(images, &c, "/lib/first"), first);
	assert_int_not_equal(gpc_images_add(images, &b, "/lib/first"), first);
	assert_string_equal(gpc_images_path(images, first), "/lib/first");
	assert_null(gpc_images_path(images, 99));
	first = gpc_images_add(images, &id, "/lib/id");
	id.inode = 5; /* means nothing beside a build-id */
	assert_int_equal(gpc_images_add(images, &id, "/lib/id"), first);
	id.build_id_len = 255;
	assert_int_equal(gpc_images_add(images, &id, "/lib/id"), first);
	gpc_images_free(images);
}

static void symbolizes(void **state)
{
	static const char *const names[] = {"lib.so", "bias.so", "together.so", "pie", "static"};
	struct gpc_images *images = images_with(1 << 20, 16);

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		uint32_t image = add_fixture(images, names[i]);
		autoclose int fd = fixture(names[i]);
		uint64_t outer = offset_of(fd, "outer");

		for (int twice = 0; twice < 2; twice++) {
			expect(images, image, outer, "outer");
			expect(images, image, outer + 40, "inner");
			expect(images, image, outer + 128, NULL);
			expect(images, image, UINT64_MAX, NULL);
		}
	}
	assert_int_equal(stats_of(images).tables, 5);
	assert_int_equal(stats_of(images).files, 5);
	assert_in_range(stats_of(images).bytes, 1000, 20000);
	gpc_images_free(images);
}

static void takes_only_the_right_file(void **state)
{
	struct gpc_images *images = images_with(1 << 20, 16);
	struct gpc_image_key id = key_of_build_id();
	int fd = fixture("lib.so");
	struct gpc_image_key file = key_of_file(fd);
	uint32_t by_id = gpc_images_add(images, &id, "id");
	uint32_t by_file = gpc_images_add(images, &file, "file");

	(void)state;
	assert_true(gpc_images_wants_file(images, by_id));
	assert_false(gpc_images_offer(images, by_id, fixture("noid.so")));
	assert_false(gpc_images_offer(images, by_id, open("/dev/null", O_RDONLY)));
	assert_false(gpc_images_offer(images, by_id, -1));
	assert_false(gpc_images_offer(images, by_file, fixture("noid.so")));
	assert_false(gpc_images_offer(images, 99, fixture("noid.so")));
	assert_true(gpc_images_wants_file(images, by_id));
	assert_true(gpc_images_offer(images, by_id, fixture("pie")));
	assert_false(gpc_images_wants_file(images, by_id));
	assert_false(gpc_images_offer(images, by_id, fixture("pie")));
	assert_true(gpc_images_offer(images, by_file, fd));
	assert_int_equal(stats_of(images).files, 2);
	gpc_images_free(images);
}

/* Names that went to another file when this one was stripped; those given out
 * before stay. */
static void takes_a_debug_file(void **state)
{
	struct gpc_images *images = images_with(1 << 20, 16);
	autoclose int full = fixture("lib.so");
	uint64_t local = offset_of(full, "local_function");
	uint64_t exported = offset_of(full, "exported_function");
	uint32_t image = add_fixture(images, "linked.so");
	struct gpc_symbol before;

	(void)state;
	gpc_images_offer_debug(images, 99, GPC_DEBUG_OWN, fixture("lib.debug"));
	expect(images, image, local, NULL);
	assert_int_equal(gpc_images_symbol(images, image, exported, &before), GPC_OK);
	assert_int_equal(stats_of(images).files, 1);
	gpc_images_offer_debug(images, image, GPC_DEBUG_OWN, fixture("lib.debug"));
	gpc_images_offer_debug(images, image, GPC_DEBUG_OWN,
			       fixture("noid.debug")); /* one is enough */
	assert_int_equal(stats_of(images).files, 2);
	expect(images, image, local, "local_function");
	expect(images, image, exported, "exported_function");
	assert_string_equal(before.name, "exported_function");
	gpc_images_free(images);
}

static void takes_symbols_from_debugdata(void **state)
{
	struct gpc_images *images = images_with(1 << 20, 16);
	autoclose int full = fixture("lib.so");
	uint32_t image = add_fixture(images, "mini.so");

	(void)state;
	expect(images, image, offset_of(full, "local_function"), "local_function");
	expect(images, image, offset_of(full, "exported_function"), "exported_function");
	gpc_images_free(images);
}

/* Looked up once; kept when the file was closed after the window. */
static void knows_lines(void **state)
{
	struct gpc_images *images = images_with(1 << 20, 16);
	autoclose int full = fixture("lines5.so");
	uint64_t offset = offset_of(full, "outermost");
	uint32_t image = add_fixture(images, "lines5.so");
	uint32_t other = add_fixture(images, "lib.so");
	struct gpc_line_list list;
	const struct gpc_source_line *first;
	size_t before;

	(void)state;
	gpc_images_lines(images, image, offset, &list);
	assert_int_equal(list.n, 1);
	assert_null(list.at->function);
	assert_non_null(strstr(list.at->file, "lines.c"));
	assert_true(list.at->line > 10);
	first = list.at;
	before = stats_of(images).bytes;
	gpc_images_lines(images, image, offset, &list);
	assert_ptr_equal(list.at, first);
	assert_int_equal(stats_of(images).bytes, before);
	gpc_images_trim(images, NULL, NULL);
	assert_true(stats_of(images).bytes < before);
	gpc_images_lines(images, image, offset, &list);
	assert_int_equal(list.n, 1);
	gpc_images_lines(images, other, 0, &list);
	assert_int_equal(list.n, 0);
	gpc_images_lines(images, 99, 0, &list);
	assert_int_equal(list.n, 0);
	gpc_images_free(images);
}

static void takes_the_inode_where_devices_differ(void **state)
{
	struct gpc_images *images = images_with(1 << 20, 16);
	int fd = fixture("lib.so");
	struct gpc_image_key key = key_of_file(fd);
	uint32_t image;

	(void)state;
	key.dev_minor += 1;
	image = gpc_images_add(images, &key, "overlay");
	assert_true(gpc_images_offer(images, image, fd));
	gpc_images_free(images);
}

static void closes_what_it_refuses(void **state)
{
	struct gpc_images *images = images_with(1 << 20, 16);
	struct gpc_image_key key = {.inode = 1};
	uint32_t image = gpc_images_add(images, &key, "x");
	int fd = fixture("lib.so");

	(void)state;
	assert_false(gpc_images_offer(images, image, fd));
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	gpc_images_free(images);
}

static void says_that_files_are_gone(void **state)
{
	struct gpc_images *images = images_with(1 << 20, 16);
	struct gpc_image_key key = {.inode = 1};
	uint32_t image = gpc_images_add(images, &key, "x");

	(void)state;
	assert_int_equal(status_of(images, image), GPC_E_GONE);
	assert_int_equal(status_of(images, 99), GPC_E_GONE);
	gpc_images_give_up(images, image);
	assert_false(gpc_images_wants_file(images, image));
	assert_int_equal(status_of(images, image), GPC_E_GONE);
	/* Another process maps it: there is hope again. */
	gpc_images_add(images, &key, "x");
	assert_true(gpc_images_wants_file(images, image));
	gpc_images_free(images);
}

static uint32_t add_copy(struct gpc_images *images, int *copy)
{
	autoclose int fd = fixture("lib.so");
	autofree char *bytes = NULL;
	struct gpc_image_key key;
	uint32_t image;
	size_t n;

	*copy = memfd_create("copy", MFD_CLOEXEC);
	assert_int_equal(gpc_read_fd(fd, 1 << 20, &bytes, &n, NULL), GPC_OK);
	assert_int_equal(gpc_write_all(*copy, bytes, n, NULL), GPC_OK);
	key = key_of_file(*copy);
	image = gpc_images_add(images, &key, "copy");
	assert_true(gpc_images_offer(images, image, dup(*copy)));
	return image;
}

static void never_misreads_changed_files(void **state)
{
	struct gpc_images *images = images_with(1 << 20, 16);
	autoclose int fd = fixture("lib.so");
	uint64_t outer = offset_of(fd, "outer"), label = offset_of(fd, "label");
	int copy;
	uint32_t image = add_copy(images, &copy);
	struct gpc_symbol found;

	(void)state;
	expect(images, image, outer, "outer");
	assert_int_equal(ftruncate(copy, 100), 0);
	expect(images, image, label, NULL);
	expect(images, image, outer, "outer"); /* read before */
	image = add_copy(images, &copy);
	assert_int_equal(ftruncate(copy, 100), 0);
	assert_int_equal(gpc_images_symbol(images, image, outer, &found), GPC_E_CORRUPT);
	gpc_images_free(images);
}

static void drops_what_is_not_used(void **state)
{
	struct gpc_images *images = images_with(1 << 20, 16);
	uint32_t kept = add_fixture(images, "lib.so"), dropped = add_fixture(images, "pie");
	struct gpc_image_key key = {.inode = 1};

	(void)state;
	gpc_images_trim(images, keep_one, &kept);
	gpc_images_trim(images, keep_one, &kept);
	assert_non_null(gpc_images_path(images, dropped));
	gpc_images_trim(images, keep_one, &kept);
	assert_null(gpc_images_path(images, dropped));
	assert_non_null(gpc_images_path(images, kept));
	assert_int_equal(stats_of(images).images, 1);
	assert_int_equal(stats_of(images).files, 1);
	/* A number is not given a second time. */
	assert_true(gpc_images_add(images, &key, "new") > dropped);
	assert_int_equal(status_of(images, kept), GPC_OK);
	gpc_images_free(images);
}

static void keeps_its_index_under_churn(void **state)
{
	struct gpc_images *images = images_with(1 << 20, 16);

	(void)state;
	for (uint32_t window = 0; window < 50; window++) {
		for (uint32_t i = 0; i < 100; i++) {
			struct gpc_image_key key = {.inode = window * 60 + i};
			uint32_t image = gpc_images_add(images, &key, "x");

			assert_int_equal(gpc_images_add(images, &key, "y"), image);
			assert_non_null(gpc_images_path(images, image));
		}
		gpc_images_trim(images, NULL, NULL);
		assert_true(stats_of(images).images <= 220);
	}
	gpc_images_free(images);
}

/* What a table takes. */
static size_t bytes_of_one(void)
{
	struct gpc_images *images = images_with(1 << 20, 16);
	size_t bytes;

	assert_int_equal(status_of(images, add_fixture(images, "lib.so")), GPC_OK);
	bytes = stats_of(images).bytes;
	gpc_images_free(images);
	return bytes;
}

static void bounds_tables(void **state)
{
	static const char *const names[] = {"lib.so", "bias.so", "together.so", "pie", "static"};
	size_t limit = bytes_of_one() * 3 / 2;
	struct gpc_images *images = images_with(limit, 16);
	uint32_t numbers[5];
	autoclose int fd = fixture("static");

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		numbers[i] = add_fixture(images, names[i]);
		assert_int_equal(status_of(images, numbers[i]), GPC_OK);
		assert_true(stats_of(images).bytes < 3 * limit);
	}
	assert_true(stats_of(images).tables < 5);
	gpc_images_trim(images, NULL, NULL);
	assert_in_range(stats_of(images).bytes, 1, limit);
	assert_int_equal(stats_of(images).files, 5);
	expect(images, numbers[4], offset_of(fd, "outer"), "outer");
	assert_int_equal(status_of(images, numbers[0]), GPC_OK);
	gpc_images_free(images);
}

static void bounds_files(void **state)
{
	static const char *const names[] = {"lib.so", "bias.so", "together.so", "pie"};
	struct gpc_images *images = images_with(1 << 20, 3);
	int fd = fixture(names[3]);
	struct gpc_image_key key = key_of_file(fd);
	uint32_t first = add_fixture(images, names[0]), last;

	(void)state;
	add_fixture(images, names[1]);
	add_fixture(images, names[2]);
	last = gpc_images_add(images, &key, names[3]);
	assert_false(gpc_images_offer(images, last, fd));
	assert_false(gpc_images_wants_file(images, last));
	gpc_images_trim(images, NULL, NULL);
	assert_true(gpc_images_wants_file(images, last));
	gpc_images_free(images);

	images = images_with(1 << 20, 8);
	first = add_fixture(images, "sysv.so");
	for (size_t i = 0; i < 4; i++)
		add_fixture(images, names[i]);
	add_fixture(images, "separate.so");
	add_fixture(images, "noid.so");
	add_fixture(images, "static");
	assert_int_equal(stats_of(images).files, 8);
	gpc_images_trim(images, NULL, NULL);
	assert_int_equal(stats_of(images).files, 7);
	assert_true(gpc_images_wants_file(images, first));
	assert_int_equal(status_of(images, first), GPC_E_GONE);
	assert_true(gpc_images_offer(images, first, fixture("sysv.so")));
	assert_int_equal(status_of(images, first), GPC_OK);
	gpc_images_free(images);
}

static void refuses_what_is_no_elf(void **state)
{
	struct gpc_images *images = images_with(1 << 20, 3);
	int fd = open(FIXTURES "/../elf-fixtures.stamp", O_RDONLY | O_CLOEXEC);
	struct gpc_image_key key;
	uint32_t image;

	(void)state;
	if (fd < 0)
		fd = memfd_create("empty", MFD_CLOEXEC);
	key = key_of_file(fd);
	image = gpc_images_add(images, &key, "text");
	assert_true(gpc_images_offer(images, image, fd));
	assert_int_equal(status_of(images, image), GPC_E_UNSUPPORTED);
	assert_int_equal(status_of(images, image), GPC_E_UNSUPPORTED);
	gpc_images_free(images);
}

static void *add_many(void *ctx)
{
	struct gpc_images *images = ctx;

	for (uint32_t i = 0; i < 5000; i++) {
		struct gpc_image_key key = {.inode = i % 300};
		uint32_t image = gpc_images_add(images, &key, "x");

		if (gpc_images_wants_file(images, image))
			gpc_images_give_up(images, image);
	}
	return NULL;
}

static void *offer_many(void *ctx)
{
	struct gpc_images *images = ctx;

	for (int i = 0; i < 300; i++) {
		int fd = fixture(i % 2 ? "lib.so" : "pie");
		struct gpc_image_key key = key_of_file(fd);
		uint32_t image = gpc_images_add(images, &key, "file");

		gpc_images_offer(images, image, fd);
	}
	return NULL;
}

/* For the thread sanitizer. */
static void works_from_three_threads(void **state)
{
	struct gpc_images *images = images_with(1000, 2);
	pthread_t adder, opener;

	(void)state;
	pthread_create(&adder, NULL, add_many, images);
	pthread_create(&opener, NULL, offer_many, images);
	for (uint32_t i = 0; i < 3000; i++) {
		struct gpc_symbol found;

		if (gpc_images_symbol(images, i % 310 + 1, 0x1050, &found) == GPC_OK && found.name)
			assert_true(*found.name);
		if (i % 100 == 99)
			gpc_images_trim(images, NULL, NULL);
		stats_of(images);
	}
	pthread_join(adder, NULL);
	pthread_join(opener, NULL);
	gpc_images_free(images);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(knows_an_image_once),
		cmocka_unit_test(symbolizes),
		cmocka_unit_test(takes_only_the_right_file),
		cmocka_unit_test(takes_a_debug_file),
		cmocka_unit_test(takes_symbols_from_debugdata),
		cmocka_unit_test(knows_lines),
		cmocka_unit_test(takes_the_inode_where_devices_differ),
		cmocka_unit_test(closes_what_it_refuses),
		cmocka_unit_test(says_that_files_are_gone),
		cmocka_unit_test(never_misreads_changed_files),
		cmocka_unit_test(drops_what_is_not_used),
		cmocka_unit_test(keeps_its_index_under_churn),
		cmocka_unit_test(bounds_tables),
		cmocka_unit_test(bounds_files),
		cmocka_unit_test(refuses_what_is_no_elf),
		cmocka_unit_test(works_from_three_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

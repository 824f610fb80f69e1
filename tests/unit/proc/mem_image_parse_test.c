/* SPDX-License-Identifier: Apache-2.0 */
/* Images built of MessagePack: what is refused. */
#include <msgpack.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include <cmocka.h>

#include "proc/mem_image.h"

static void pack_text(msgpack_packer *pk, const char *s)
{
	msgpack_pack_str_with_body(pk, s, strlen(s));
}

static void pack_head(msgpack_packer *pk, const char *format, unsigned version)
{
	msgpack_pack_map(pk, 4);
	pack_text(pk, "format");
	pack_text(pk, format);
	pack_text(pk, "version");
	msgpack_pack_uint64(pk, version);
	pack_text(pk, "maps");
	msgpack_pack_array(pk, 0);
	pack_text(pk, "threads");
	msgpack_pack_array(pk, 0);
}

static void pack_piece(msgpack_packer *pk, uint64_t at, size_t n)
{
	static const char zeros[64];

	msgpack_pack_map(pk, 2);
	pack_text(pk, "at");
	msgpack_pack_uint64(pk, at);
	pack_text(pk, "bytes");
	msgpack_pack_bin_with_body(pk, zeros, n);
}

static void pack_end(msgpack_packer *pk)
{
	msgpack_pack_map(pk, 1);
	pack_text(pk, "end");
	msgpack_pack_uint64(pk, 0);
}

static gpc_status parse(const msgpack_sbuffer *b)
{
	struct gpc_mem_image *image = NULL;
	gpc_status st = gpc_mem_image_parse(b->data, b->size, 1 << 20, &image, NULL);

	assert_true((st == GPC_OK) == (image != NULL));
	gpc_mem_image_free(image);
	return st;
}

/* Two pieces of 64 bytes between a head and an end. */
static gpc_status parse_pieces(uint64_t first, uint64_t second, size_t n)
{
	msgpack_sbuffer b;
	msgpack_packer pk;
	gpc_status st;

	msgpack_sbuffer_init(&b);
	msgpack_packer_init(&pk, &b, msgpack_sbuffer_write);
	pack_head(&pk, "gpc-memory-image", 1);
	pack_piece(&pk, first, 64);
	pack_piece(&pk, second, n);
	pack_end(&pk);
	st = parse(&b);
	msgpack_sbuffer_destroy(&b);
	return st;
}

static void test_order_of_pieces(void **state)
{
	(void)state;
	assert_int_equal(parse_pieces(4096, 4160, 64), GPC_OK);
	assert_int_equal(parse_pieces(4096, 4159, 64), GPC_E_CORRUPT);
	assert_int_equal(parse_pieces(4096, 0, 64), GPC_E_CORRUPT);
	assert_int_equal(parse_pieces(4096, 4096, 64), GPC_E_CORRUPT);
	assert_int_equal(parse_pieces(4096, UINT64_MAX - 63, 64), GPC_E_CORRUPT);
	assert_int_equal(parse_pieces(4096, UINT64_MAX - 64, 64), GPC_OK);
	assert_int_equal(parse_pieces(4096, 8192, 0), GPC_E_CORRUPT);
}

static gpc_status parse_with(const char *format, unsigned version, const char *more, size_t n)
{
	msgpack_sbuffer b;
	msgpack_packer pk;
	gpc_status st;

	msgpack_sbuffer_init(&b);
	msgpack_packer_init(&pk, &b, msgpack_sbuffer_write);
	pack_head(&pk, format, version);
	msgpack_sbuffer_write(&b, more, n);
	pack_end(&pk);
	st = parse(&b);
	msgpack_sbuffer_destroy(&b);
	return st;
}

static void test_what_is_no_image(void **state)
{
	(void)state;
	assert_int_equal(parse_with("gpc-memory-image", 1, "", 0), GPC_OK);
	assert_int_equal(parse_with("gpc-memory-image", 2, "", 0), GPC_E_UNSUPPORTED);
	assert_int_equal(parse_with("something else", 1, "", 0), GPC_E_UNSUPPORTED);
	assert_int_equal(parse_with("gpc-memory-image", 1, "\x80", 1), GPC_E_CORRUPT);
	assert_int_equal(parse_with("gpc-memory-image", 1, "\xc1", 1), GPC_E_CORRUPT);
	assert_int_equal(parse_with("gpc-memory-image", 1, "\x2a", 1), GPC_E_CORRUPT);
	/* An end, and then the end. */
	assert_int_equal(parse_with("gpc-memory-image", 1,
				    "\x81\xa3"
				    "end\x01",
				    6),
			 GPC_E_CORRUPT);
}

/* Counts that a few bytes can promise, and room for which nobody has. */
static void test_absurd_counts(void **state)
{
	static const struct {
		const char *bytes;
		size_t n;
	} all[] = {{"\xdd\xff\xff\xff\xff", 5},
		   {"\xdf\xff\xff\xff\xff", 5},
		   {"\x81\xa1x\xdd\x7f\xff\xff\xff", 8},
		   {"\x81\xa1x\xdf\x10\x00\x00\x00", 8},
		   {"\xdd\x00\x01\x00\x01", 5},
		   {"\xca\x00\x00\x00\x00\xdd\xff\xff\xff\xff", 10},
		   {"\xc7\x01\x05\xff\xdd\xff\xff\xff\xff", 9}};
	struct gpc_mem_image *image = NULL;

	(void)state;
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		assert_int_equal(parse_with("gpc-memory-image", 1, all[i].bytes, all[i].n),
				 GPC_E_CORRUPT);
		assert_true(gpc_mem_image_parse(all[i].bytes, all[i].n, 1 << 20, &image, NULL) < 0);
	}
	/* The same bytes within a text promise nothing. */
	assert_int_equal(parse_pieces(4096, 8192, 64), GPC_OK);
	assert_null(image);
}

static void test_counts_within_texts(void **state)
{
	msgpack_sbuffer b;
	msgpack_packer pk;

	(void)state;
	msgpack_sbuffer_init(&b);
	msgpack_packer_init(&pk, &b, msgpack_sbuffer_write);
	pack_head(&pk, "gpc-memory-image", 1);
	msgpack_pack_map(&pk, 8);
	pack_text(&pk, "at");
	msgpack_pack_uint64(&pk, 0xddffffffdfffffffu);
	pack_text(&pk, "bytes");
	msgpack_pack_bin_with_body(&pk, "\xdd\xff\xff\xff\xff", 5);
	pack_text(&pk, "short \xdd\xff\xff\xff\xff");
	msgpack_pack_double(&pk, -1);
	pack_text(&pk, "long: more than 31 bytes and then \xdd\xff\xff\xff\xff");
	msgpack_pack_nil(&pk);
	pack_text(&pk, "ext");
	msgpack_pack_ext_with_body(&pk, "\xdd\xff\xff\xff\xff", 5, 7);
	pack_text(&pk, "fixext");
	msgpack_pack_ext_with_body(&pk, "\xdd\xff\xff\xff", 4, 7);
	pack_text(&pk, "signed");
	msgpack_pack_int64(&pk, -0x2200000022ffffff);
	pack_text(&pk, "float");
	msgpack_pack_float(&pk, 1e30f);
	pack_end(&pk);
	assert_int_equal(parse(&b), GPC_OK);
	msgpack_sbuffer_destroy(&b);
}

/* By another writer: a frame without a checksum, whose only block is much larger
 * than what is taken at once. */
static void test_large_last_block(void **state)
{
	static char zeros[100000], packed[65536], back[sizeof zeros];
	char path[] = "/tmp/gpc-image-XXXXXX";
	struct gpc_mem_image *image = NULL;
	struct gpc_err err;
	msgpack_sbuffer b;
	msgpack_packer pk;
	size_t n;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	msgpack_sbuffer_init(&b);
	msgpack_packer_init(&pk, &b, msgpack_sbuffer_write);
	pack_head(&pk, "gpc-memory-image", 1);
	msgpack_pack_map(&pk, 2);
	pack_text(&pk, "at");
	msgpack_pack_uint64(&pk, 4096);
	pack_text(&pk, "bytes");
	msgpack_pack_bin_with_body(&pk, zeros, sizeof zeros);
	pack_end(&pk);
	n = ZSTD_compress(packed, sizeof packed, b.data, b.size, 3);
	msgpack_sbuffer_destroy(&b);
	assert_false(ZSTD_isError(n));
	assert_int_equal(write(fd, packed, n), n);
	close(fd);
	if (gpc_mem_image_load(path, 1 << 20, &image, &err) < 0)
		fail_msg("%s", err.text);
	unlink(path);
	memset(back, 1, sizeof back);
	assert_int_equal(gpc_mem_image_read(image, 4096, back, sizeof back), sizeof back);
	assert_memory_equal(back, zeros, sizeof zeros);
	gpc_mem_image_free(image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order_of_pieces),  cmocka_unit_test(test_what_is_no_image),
		cmocka_unit_test(test_absurd_counts),    cmocka_unit_test(test_counts_within_texts),
		cmocka_unit_test(test_large_last_block),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

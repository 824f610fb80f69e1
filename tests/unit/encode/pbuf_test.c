/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "encode/pbuf.h"

/* The examples of protobuf's description of its encoding. */
static void bytes_are_as_protobuf_describes_them(void **state)
{
	struct gpc_pbuf b = {0}, part = {0};

	(void)state;
	gpc_pbuf_u64(&b, 1, 150);
	assert_int_equal(b.bytes.n, 3);
	assert_memory_equal(b.bytes.at, "\x08\x96\x01", 3);
	gpc_pbuf_clear(&b);
	gpc_pbuf_bytes(&b, 2, "testing", 7);
	assert_memory_equal(b.bytes.at, "\x12\x07testing", 9);
	gpc_pbuf_clear(&b);
	gpc_pbuf_u64(&part, 1, 150);
	gpc_pbuf_part(&b, 3, &part);
	assert_int_equal(b.bytes.n, 5);
	assert_memory_equal(b.bytes.at, "\x1a\x03\x08\x96\x01", 5);
	gpc_pbuf_deinit(&b);
	gpc_pbuf_deinit(&part);
}

static void bounds(void **state)
{
	struct gpc_pbuf b = {0};

	(void)state;
	gpc_pbuf_u64(&b, 1, 0);
	assert_int_equal(b.bytes.n, 0);
	gpc_pbuf_varint(&b, 127);
	gpc_pbuf_varint(&b, 128);
	assert_memory_equal(b.bytes.at, "\x7f\x80\x01", 3);
	gpc_pbuf_clear(&b);
	gpc_pbuf_varint(&b, UINT64_MAX);
	assert_int_equal(b.bytes.n, 10);
	assert_memory_equal(b.bytes.at, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10);
	gpc_pbuf_clear(&b);
	gpc_pbuf_u64(&b, 1001, 1);
	assert_memory_equal(b.bytes.at, "\xc8\x3e\x01", 3);
	assert_false(b.is_short_of_memory);
	gpc_pbuf_deinit(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_are_as_protobuf_describes_them),
		cmocka_unit_test(bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

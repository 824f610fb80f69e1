/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/sha1.h"

static void hash(const void *bytes, size_t n, size_t step, char ret[41])
{
	struct gpc_sha1 s;
	uint8_t sum[GPC_SHA1_BYTES];

	gpc_sha1_init(&s);
	for (size_t at = 0; at < n; at += step)
		gpc_sha1_add(&s, (const char *)bytes + at, n - at < step ? n - at : step);
	gpc_sha1_end(&s, sum);
	for (unsigned i = 0; i < sizeof sum; i++)
		snprintf(ret + 2 * i, 3, "%02x", sum[i]);
}

/* The examples of FIPS 180. */
static void test_examples(void **state)
{
	static const char two[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
	char text[41], *million = malloc(1000000);

	(void)state;
	hash("abc", 3, 64, text);
	assert_string_equal(text, "a9993e364706816aba3e25717850c26c9cd0d89d");
	hash(two, sizeof two - 1, 7, text);
	assert_string_equal(text, "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
	memset(million, 'a', 1000000);
	hash(million, 1000000, 4096, text);
	assert_string_equal(text, "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
	free(million);
	hash("", 0, 1, text);
	assert_string_equal(text, "da39a3ee5e6b4b0d3255bfef95601890afd80709");
}

/* However it is cut, and at every length around a block's end, the sum is one that sha1sum
 * gives. */
static void test_lengths(void **state)
{
	(void)state;
	for (size_t n = 54; n < 68; n++) {
		char command[128], whole[41], parts[41], other[64] = "", bytes[68];
		FILE *f;

		memset(bytes, 'x', sizeof bytes);
		hash(bytes, n, 1000, whole);
		hash(bytes, n, 3, parts);
		assert_string_equal(whole, parts);
		snprintf(command, sizeof command, "printf '%%*s' %zu '' | tr ' ' x | sha1sum", n);
		f = popen(command, "r");
		assert_non_null(f);
		if (!fgets(other, sizeof other, f))
			other[0] = '\0';
		if (pclose(f) == 0)
			assert_memory_equal(whole, other, 40);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_examples),
		cmocka_unit_test(test_lengths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/io.h"
#include "record.h"
#include "source/rawfile.h"

static uint64_t number(const char *at, size_t n)
{
	uint64_t v = 0;

	while (n--)
		v = v << 8 | (uint8_t)at[n];
	return v;
}

static void test_layout(void **state)
{
	struct gpc_perf_format formats[] = {{.sample_type = REC_TYPE, .sample_id_all = true},
					    {.sample_type = PERF_SAMPLE_TIME,
					     .sample_id_all = false}};
	char dir[] = "/tmp/gpc-raw-XXXXXX", path[64], link[64];
	struct gpc_rawfile *f = NULL;
	char *text = NULL;
	const char *at;
	size_t n = 0;
	struct stat st;
	struct rec r;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof path, "%s/raw", dir);
	assert_int_equal(gpc_rawfile_new(path, &f, NULL), GPC_OK);
	rec_begin(&r, PERF_RECORD_THROTTLE, 3);
	rec_text(&r, "12345678");
	rec_end(&r);
	for (uint32_t i = 0; i < 2; i++)
		gpc_rawfile_put(f, r.words, r.n, 40 + i, &formats[i]);
	gpc_rawfile_free(f);
	assert_int_equal(gpc_read_file(-1, path, 1 << 16, &text, &n, NULL), GPC_OK);
	assert_int_equal(n, 2 * (24 + r.n));
	at = text;
	for (uint32_t i = 0; i < 2; i++, at += 24 + r.n) {
		assert_int_equal(number(at, 4), r.n);
		assert_int_equal(number(at + 4, 4), 40 + i);
		assert_int_equal(number(at + 8, 8), formats[i].sample_type);
		assert_int_equal(number(at + 16, 4), formats[i].sample_id_all);
		assert_int_equal(number(at + 20, 4), 0);
		assert_memory_equal(at + 24, r.words, r.n);
	}
	free(text);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	/* It may be written by root into a folder of others. */
	snprintf(link, sizeof link, "%s/link", dir);
	assert_int_equal(symlink(path, link), 0);
	assert_true(gpc_rawfile_new(link, &f, NULL) < 0);
	unlink(link);
	unlink(path);
	rmdir(dir);
}

static void test_impossible_path(void **state)
{
	struct gpc_rawfile *f = NULL;
	struct gpc_err err = {0};

	(void)state;
	assert_int_equal(gpc_rawfile_new("/nowhere/at/all", &f, &err), GPC_E_GONE);
	assert_int_equal(err.sys, ENOENT);
	assert_non_null(strstr(err.text, "/nowhere/at/all"));
	gpc_rawfile_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_layout),
		cmocka_unit_test(test_impossible_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

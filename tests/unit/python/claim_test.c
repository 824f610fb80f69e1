/* SPDX-License-Identifier: Apache-2.0 */
/* Which processes are Python's, by what they map. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "../../../plugins/python/runtime.h"

#define MAPS 6

/* 0 no, else how sure. */
static int32_t claim(const char *exe, const char *const paths[MAPS])
{
	struct gpc_map maps[MAPS];
	struct gpc_target t = {.struct_size = sizeof t,
			       .exe = exe,
			       .maps = maps,
			       .map_stride = sizeof *maps};

	memset(maps, 0, sizeof maps);
	for (; t.n_maps < MAPS && paths[t.n_maps]; t.n_maps++) {
		maps[t.n_maps].path = paths[t.n_maps];
		maps[t.n_maps].prot = GPC_MAP_READ | GPC_MAP_EXEC;
	}
	return gpc_py_runtime_claim(&t);
}

#define CLAIM(exe, ...) claim(exe, (const char *const[MAPS]){exe, __VA_ARGS__})

static void by_what_is_mapped(void **state)
{
	(void)state;
	assert_int_equal(CLAIM("/usr/bin/python3.11", "/lib64/ld-linux-x86-64.so.2",
			       "/lib/libc.so.6"),
			 80);
	assert_int_equal(CLAIM("/opt/app", "/lib/libpython3.9.so.1.0", "/lib/libc-2.31.so"), 90);
	assert_int_equal(CLAIM("/opt/app", "/lib/libc.so.6"), 30);
	assert_int_equal(CLAIM("/opt/static/python3", NULL), 80);
	assert_int_equal(CLAIM("/usr/bin/pypy3", "/lib/libc.so.6"), 0);
	assert_int_equal(CLAIM("/opt/python", "/lib/libpypy3-c.so", "/lib/libc.so.6"), 0);
}

/* Its interpreter may be a library that is mapped next: one looks again. */
static void while_it_is_loaded(void **state)
{
	(void)state;
	assert_int_equal(CLAIM("/opt/bin/python3", "/lib64/ld-linux-x86-64.so.2"), 0);
	assert_int_equal(CLAIM("/opt/bin/python3", "/lib/ld-2.31.so", "/lib/libm.so.6"), 0);
	assert_int_equal(CLAIM("/opt/bin/python3", "/lib64/ld-linux-x86-64.so.2",
			       "/opt/lib/libpython3.12.so.1.0"),
			 90);
	assert_int_equal(CLAIM("/opt/bin/python3", "/lib/ld-musl-x86_64.so.1"), 80);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_what_is_mapped),
		cmocka_unit_test(while_it_is_loaded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

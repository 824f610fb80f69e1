/* SPDX-License-Identifier: Apache-2.0 */
#include "sym/vdso.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include <cmocka.h>

#include "base/cleanup.h"

/* All that the kernel's vdso may be called; one of them must be there. */
static bool knows_clock_gettime(const struct gpc_vdso *v)
{
	for (uint64_t at = 0; at < 0x4000; at += 4) {
		autofree char *name = gpc_vdso_name(v, at);

		if (name && (!strcmp(name, "__vdso_clock_gettime") ||
			     !strcmp(name, "__kernel_clock_gettime")))
			return true;
	}
	return false;
}

static void names_our_own(void **state)
{
	struct gpc_vdso *v = NULL;

	(void)state;
	if (gpc_vdso_new(&v, NULL) == GPC_E_UNSUPPORTED)
		skip();
	assert_true(knows_clock_gettime(v));
	assert_null(gpc_vdso_name(v, 0));
	assert_null(gpc_vdso_name(v, UINT64_MAX));
	gpc_vdso_free(v);
}

static void refuses_what_is_no_image(void **state)
{
	struct gpc_vdso *v = NULL;

	(void)state;
	assert_int_equal(gpc_vdso_new_from("", 0, &v, NULL), GPC_E_UNSUPPORTED);
	assert_int_equal(gpc_vdso_new_from("\177ELF", 4, &v, NULL), GPC_E_UNSUPPORTED);
	assert_null(v);
}

static void survives_truncation(void **state)
{
	const void *image = (const void *)getauxval(AT_SYSINFO_EHDR);

	(void)state;
	if (!image)
		skip();
	for (size_t n = 0; n < 4096; n += 13) {
		struct gpc_vdso *v = NULL;

		if (gpc_vdso_new_from(image, n, &v, NULL) < 0)
			continue;
		for (uint64_t at = 0; at < 8192; at += 64)
			free(gpc_vdso_name(v, at));
		gpc_vdso_free(v);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_our_own),
		cmocka_unit_test(refuses_what_is_no_image),
		cmocka_unit_test(survives_truncation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

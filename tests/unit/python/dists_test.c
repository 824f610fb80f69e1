/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../../../plugins/python/dists.h"
#include "../../../plugins/python/packages.h"

static void owners(void **state)
{
	struct py_dists *d = gpc_py_dists_new();
	uint32_t yaml, one, two, six;

	(void)state;
	yaml = gpc_py_dists_add(d,
				"Metadata-Version: 2.1\nName: PyYAML\nVersion: 6.0\n\nName: no\n");
	one = gpc_py_dists_add(d, "Name: ns.one\r\nVersion: 1\r\n");
	two = gpc_py_dists_add(d, "Name: ns.two\nVersion: 2\n");
	six = gpc_py_dists_add(d, "Name: six\nVersion: 1.16.0\n");
	assert_true(yaml && one && two && six);
	gpc_py_dists_own(d, yaml,
			 "PyYAML-6.0.dist-info/RECORD,,\n_yaml/__init__.py,sha256=x,12\n"
			 "yaml/__init__.py,,\nyaml/a.py,,\n");
	gpc_py_dists_own(d, one, "ns/one/__init__.py,,\n");
	gpc_py_dists_own(d, two, "../ns/two.py\n../ns/deep/x.py\n");
	gpc_py_dists_own(d, six, "six\n");
	gpc_py_dists_end(d);
	assert_string_equal(gpc_py_dists_find(d, "yaml/__init__.py"), "PyYAML==6.0");
	assert_string_equal(gpc_py_dists_find(d, "yaml/other.py"), "PyYAML==6.0");
	assert_string_equal(gpc_py_dists_find(d, "ns/one/__init__.py"), "ns.one==1");
	assert_string_equal(gpc_py_dists_find(d, "ns/two.py"), "ns.two==2");
	assert_string_equal(gpc_py_dists_find(d, "ns/deep/y.py"), "ns.two==2");
	assert_string_equal(gpc_py_dists_find(d, "ns/three.py"), "");
	assert_string_equal(gpc_py_dists_find(d, "six.py"), "six==1.16.0");
	assert_string_equal(gpc_py_dists_find(d, "yam/__init__.py"), "");
	assert_string_equal(gpc_py_dists_find(d, ""), "");
	gpc_py_dists_free(d);
}

static void metadata_without_names(void **state)
{
	struct py_dists *d = gpc_py_dists_new();

	(void)state;
	assert_int_equal(gpc_py_dists_add(d, ""), 0);
	assert_int_equal(gpc_py_dists_add(d, "Name: x\n"), 0);
	assert_int_equal(gpc_py_dists_add(d, "Name: x\n\nVersion: 1\n"), 0);
	gpc_py_dists_own(d, 0, "\n\n,,\n/etc/x\n../../bin/x\n..\n");
	gpc_py_dists_end(d);
	assert_string_equal(gpc_py_dists_find(d, "etc/x"), "");
	gpc_py_dists_free(d);
}

static void places_of_files(void **state)
{
	struct py_packages *p = gpc_py_packages_new("3.11.2");
	char text[PY_PACKAGE_MAX];

	(void)state;
	assert_true(gpc_py_packages_find(p, "/usr/lib/python3.11/json/decoder.py", text));
	assert_string_equal(text, "standard-library==3.11.2");
	assert_true(gpc_py_packages_find(p, "/opt/lib/python3.9/x.py", text));
	assert_string_equal(text, "standard-library==3.11.2");
	assert_true(gpc_py_packages_find(p, "/srv/python/x.py", text));
	assert_string_equal(text, "");
	assert_true(gpc_py_packages_find(p, "<frozen importlib._bootstrap>", text));
	assert_string_equal(text, "");
	assert_true(gpc_py_packages_find(p, "usr/lib/python3.11/x.py", text));
	assert_string_equal(text, "");
	/* Of a folder that nobody has read yet. */
	assert_false(gpc_py_packages_find(p, "/v/lib/python3.11/site-packages/a/b.py", text));
	assert_string_equal(text, "");
	gpc_py_packages_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(owners),
		cmocka_unit_test(metadata_without_names),
		cmocka_unit_test(places_of_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../../../plugins/python/dists.h"
#include "../../../plugins/python/packages.h"
#include "../../../plugins/python/shelf.h"

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
	struct py_packages *p = gpc_py_packages_new("3.11.2", NULL);
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

static struct py_dists *some_dists(const char *name)
{
	struct py_dists *d = gpc_py_dists_new();
	char text[64];

	snprintf(text, sizeof text, "Name: %s\nVersion: 1\n", name);
	gpc_py_dists_own(d, gpc_py_dists_add(d, text), "pkg/__init__.py,,\n");
	gpc_py_dists_end(d);
	return d;
}

/* One folder for all who have it; what nobody asked for goes when others need the room. */
static void folders_are_shared(void **state)
{
	struct gpc_folder_id a = {1, 10, 5}, b = {1, 11, 5}, c = {1, 12, 5}, changed = {1, 10, 6};
	size_t one;
	struct py_dists *d = some_dists("a");
	struct py_shelf *s;
	char text[PY_PACKAGE_MAX];

	(void)state;
	one = gpc_py_dists_bytes(d);
	assert_true(one > 100 && one < 1000);
	s = gpc_py_shelf_new(2 * one);
	assert_false(gpc_py_shelf_find(s, &a, "pkg/x.py", text, sizeof text));
	gpc_py_shelf_put(s, &a, d);
	gpc_py_shelf_put(s, &a, some_dists("twice"));
	assert_int_equal(gpc_py_shelf_bytes(s), one);
	assert_true(gpc_py_shelf_has(s, &a));
	assert_false(gpc_py_shelf_has(s, &changed));
	gpc_py_shelf_put(s, &b, some_dists("b"));
	assert_true(gpc_py_shelf_find(s, &a, "pkg/x.py", text, sizeof text));
	assert_string_equal(text, "a==1");
	gpc_py_shelf_put(s, &c, some_dists("c"));
	assert_int_equal(gpc_py_shelf_bytes(s), 2 * one);
	assert_false(gpc_py_shelf_has(s, &b));
	assert_true(gpc_py_shelf_find(s, &a, "pkg/x.py", text, sizeof text));
	assert_true(gpc_py_shelf_find(s, &c, "other/x.py", text, sizeof text));
	assert_string_equal(text, "");
	/* What alone is too much is kept alone. */
	gpc_py_shelf_free(s);
	s = gpc_py_shelf_new(1);
	gpc_py_shelf_put(s, &a, some_dists("a"));
	gpc_py_shelf_put(s, &b, some_dists("b"));
	assert_false(gpc_py_shelf_has(s, &a));
	assert_true(gpc_py_shelf_has(s, &b));
	gpc_py_shelf_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(owners),
		cmocka_unit_test(metadata_without_names),
		cmocka_unit_test(places_of_files),
		cmocka_unit_test(folders_are_shared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

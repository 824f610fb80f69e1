/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../../plugins/python/dists.h"
#include "../../../plugins/python/packages.h"
#include "../../../plugins/python/reading.h"
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

/* ---- folders ------------------------------------------------------------------------------ */

#define PACKAGES 20

/* Its targets see the folder at one path each; those that ended see nothing. */
struct world {
	struct gpc_host host; /* first */
	struct gpc_target targets[2];
	bool has_ended[2];
	char folder[64];
	uint64_t now_ns;
};

static uint64_t now_ns(const struct gpc_host *h)
{
	return ((const struct world *)(const void *)h)->now_ns;
}

/* A millisecond each. */
static int32_t open_file(const struct gpc_host *h, const struct gpc_target *t, const char *path,
			 int32_t flags)
{
	struct world *w = (struct world *)(void *)(uintptr_t)h;
	char real[200];

	w->now_ns += 1000000;
	assert_memory_equal(path, "/site", 5);
	if (w->has_ended[t - w->targets])
		return GPC_E_GONE;
	snprintf(real, sizeof real, "%s%s", w->folder, path + 5);
	return open(real, flags ? O_RDONLY | O_DIRECTORY : O_RDONLY);
}

static void put_file(const struct world *w, unsigned i, const char *name, const char *text)
{
	char path[160];
	FILE *f;

	snprintf(path, sizeof path, "%s/p%u-2.dist-info", w->folder, i);
	mkdir(path, 0700);
	snprintf(path + strlen(path), sizeof path - strlen(path), "/%s", name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void make_folder(struct world *w)
{
	char text[80];

	*w = (struct world){.host = {.now_ns = now_ns, .open_file = open_file}};
	strcpy(w->folder, "/tmp/gpc-dists-XXXXXX");
	assert_non_null(mkdtemp(w->folder));
	for (unsigned i = 0; i < PACKAGES; i++) {
		snprintf(text, sizeof text, "Name: p%u\nVersion: 2\n", i);
		put_file(w, i, "METADATA", text);
		snprintf(text, sizeof text, "pkg%u/__init__.py,,\n", i);
		put_file(w, i, "RECORD", text);
	}
}

static void remove_folder(const struct world *w)
{
	char command[100];

	snprintf(command, sizeof command, "rm -r %s", w->folder);
	assert_int_equal(system(command), 0);
}

/* Turns are short, and a folder is read on through another process when one ends. */
static void a_folder_in_turns(void **state)
{
	struct py_desk *desk = gpc_py_desk_new();
	struct py_dists *d = NULL;
	struct world w;
	struct py_desk_folder mine, other;
	enum py_reading got;
	unsigned turns = 0;

	(void)state;
	make_folder(&w);
	mine = (struct py_desk_folder){&w.host, &w.targets[0], "/site", {1, 2, 3}};
	other = (struct py_desk_folder){&w.host, &w.targets[0], "/site", {1, 9, 3}};
	do {
		uint64_t begin = w.now_ns;

		got = gpc_py_desk_read(desk, &mine, w.now_ns + 3000000, &d);
		assert_true(w.now_ns - begin <= 5000000);
		if (got == PY_READING_MORE)
			assert_int_equal(gpc_py_desk_read(desk, &other, w.now_ns + 3000000, &d),
					 PY_READING_BUSY);
		w.has_ended[0] |= ++turns == 4;
		if (turns == 6)
			mine.target = &w.targets[1];
	} while (got == PY_READING_MORE);
	assert_int_equal(got, PY_READING_DONE);
	assert_true(turns >= PACKAGES / 2);
	for (unsigned i = 0; i < PACKAGES; i++) {
		char file[40], want[20];

		snprintf(file, sizeof file, "pkg%u/x/y.py", i);
		snprintf(want, sizeof want, "p%u==2", i);
		assert_string_equal(gpc_py_dists_find(d, file), want);
	}
	gpc_py_dists_free(d);
	/* One that nobody comes back to leaves its place. */
	assert_int_equal(gpc_py_desk_read(desk, &mine, w.now_ns, &d), PY_READING_MORE);
	w.has_ended[0] = false;
	assert_int_equal(gpc_py_desk_read(desk, &other, w.now_ns, &d), PY_READING_BUSY);
	w.now_ns += UINT64_C(6000000000);
	assert_int_equal(gpc_py_desk_read(desk, &other, w.now_ns, &d), PY_READING_MORE);
	assert_int_equal(gpc_py_desk_read(desk, &mine, w.now_ns, &d), PY_READING_BUSY);
	gpc_py_desk_free(desk);
	remove_folder(&w);
}

static void a_folder_that_is_not_there(void **state)
{
	struct py_desk *desk = gpc_py_desk_new();
	struct world w;
	struct py_desk_folder folder = {&w.host, &w.targets[0], "/site", {1, 2, 3}};
	struct py_dists *d;

	(void)state;
	make_folder(&w);
	w.has_ended[0] = true;
	assert_int_equal(gpc_py_desk_read(desk, &folder, 1, &d), PY_READING_NONE);
	gpc_py_desk_free(desk);
	remove_folder(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(owners),
		cmocka_unit_test(metadata_without_names),
		cmocka_unit_test(places_of_files),
		cmocka_unit_test(folders_are_shared),
		cmocka_unit_test(a_folder_in_turns),
		cmocka_unit_test(a_folder_that_is_not_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

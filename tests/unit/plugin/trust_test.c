/* SPDX-License-Identifier: Apache-2.0 */
#include "place.h"

#define STRANGER 54321

static const char *inner(struct place *p)
{
	place_path(p, "inner");
	assert_int_equal(mkdir(p->file, 0755), 0);
	return place_write(p, "inner/x.so", "x", 1);
}

static void assert_distrusted(const char *path, const char *text)
{
	struct gpc_err err = {0};

	assert_int_equal(gpc_trust_check(path, &err), GPC_E_PERM);
	if (!strstr(err.text, text))
		fail_msg("\"%s\" is not in \"%s\"", text, err.text);
}

static void trusts_what_is_ours(void **state)
{
	const char *path = inner(*state);
	struct gpc_err err;

	assert_int_equal(gpc_trust_check(path, &err), GPC_OK);
	assert_int_equal(gpc_trust_check("/proc/self/exe", NULL) == GPC_E_GONE, 0);
}

static void distrusts_writable_files(void **state)
{
	const char *path = inner(*state);

	assert_int_equal(chmod(path, 0775), 0);
	assert_distrusted(path, "its group");
	assert_int_equal(chmod(path, 0757), 0);
	assert_distrusted(path, "everybody");
	assert_distrusted(path, "chmod go-w");
	assert_int_equal(chmod(path, 0755), 0);
	assert_int_equal(gpc_trust_check(path, NULL), GPC_OK);
}

static void distrusts_writable_parents(void **state)
{
	struct place *p = *state;
	char path[PATH_MAX];

	strcpy(path, inner(p));
	assert_int_equal(chmod(place_path(p, "inner"), 0775), 0);
	assert_distrusted(path, "inner may be written to by its group");
	assert_int_equal(chmod(p->file, 01777), 0); /* sticky is no excuse */
	assert_distrusted(path, "inner may be written to by everybody");
	assert_int_equal(chmod(p->file, 0755), 0);
	assert_int_equal(chmod(p->dir, 0777), 0); /* not the nearest parent */
	assert_distrusted(path, "its folder");
}

static void distrusts_strangers(void **state)
{
	struct place *p = *state;
	char path[PATH_MAX];

	if (geteuid() != 0)
		skip();
	strcpy(path, inner(p));
	assert_int_equal(chown(path, STRANGER, 0), 0);
	assert_distrusted(path, "the file");
	assert_distrusted(path, "belongs to user 54321");
	assert_int_equal(chown(path, 0, 0), 0);
	assert_int_equal(chown(p->dir, STRANGER, 0), 0);
	assert_distrusted(path, "its folder");
	assert_distrusted(path, "chown it to root");
}

/* What counts is where the file really lies. */
static void follows_links_first(void **state)
{
	struct place *p = *state;
	char path[PATH_MAX];

	strcpy(path, inner(p));
	assert_int_equal(symlink("inner/x.so", place_path(p, "link.so")), 0);
	assert_int_equal(gpc_trust_check(p->file, NULL), GPC_OK);
	assert_int_equal(chmod(path, 0777), 0);
	assert_distrusted(p->file, "inner/x.so");
	assert_int_equal(chmod(path, 0755), 0);
	assert_int_equal(chmod(place_path(p, "inner"), 0777), 0);
	assert_distrusted(place_path(p, "link.so"), "its folder");
	assert_int_equal(chmod(place_path(p, "inner"), 0755), 0);
	assert_int_equal(symlink("inner", place_path(p, "way")), 0);
	assert_int_equal(gpc_trust_check(place_path(p, "way/x.so"), NULL), GPC_OK);
}

static void says_what_is_not_there(void **state)
{
	struct place *p = *state;
	struct gpc_err err;

	assert_int_equal(gpc_trust_check(place_path(p, "none.so"), &err), GPC_E_GONE);
	assert_int_equal(symlink("loop", place_path(p, "loop")), 0);
	assert_true(gpc_trust_check(p->file, &err) < 0);
	assert_true(gpc_trust_check("", &err) < 0);
}

static void keeps_the_remedy_with_long_paths(void **state)
{
	struct place *p = *state;
	char name[400], part[100] = {0};

	memset(part, 'd', 90);
	snprintf(name, sizeof name, "%s", part);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(mkdir(place_path(p, name), 0755), 0);
		snprintf(name + strlen(name), sizeof name - strlen(name), "/%s", part);
	}
	place_write(p, name, "x", 1);
	assert_int_equal(chmod(p->file, 0777), 0);
	assert_distrusted(p->file, "move the plugin to a safe folder");
}

int main(void)
{
#define with_place(fn) cmocka_unit_test_setup_teardown(fn, place_setup, place_teardown)
	const struct CMUnitTest tests[] = {
		with_place(trusts_what_is_ours),
		with_place(distrusts_writable_files),
		with_place(distrusts_writable_parents),
		with_place(distrusts_strangers),
		with_place(follows_links_first),
		with_place(says_what_is_not_there),
		with_place(keeps_the_remedy_with_long_paths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

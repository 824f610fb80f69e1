/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "profile/about.h"

static void check(struct gpc_abouts *a, uint64_t process, const char *appid, const char *metadata)
{
	char *text, *object = NULL;
	json_t *have;

	gpc_abouts_find(a, process, &text, &have);
	if (have)
		object = json_dumps(have, JSON_COMPACT | JSON_SORT_KEYS);
	assert_int_equal(!text, !appid);
	assert_int_equal(!object, !metadata);
	if (appid)
		assert_string_equal(text, appid);
	if (metadata)
		assert_string_equal(object, metadata);
	free(text);
	free(object);
	json_decref(have);
}

static void what_was_told(void **state)
{
	struct gpc_abouts *a = gpc_abouts_new();

	(void)state;
	check(a, 7, NULL, NULL);
	assert_int_equal(gpc_abouts_appid(a, 7, "one"), GPC_OK);
	assert_int_equal(gpc_abouts_appid(a, 7, "two"), GPC_OK);
	check(a, 7, "one", NULL);
	assert_int_equal(gpc_abouts_member(a, 7, "k", "v"), GPC_OK);
	assert_int_equal(gpc_abouts_member(a, 7, "n", NULL), GPC_OK);
	assert_int_equal(gpc_abouts_member(a, 7, "k", "w"), GPC_OK);
	assert_int_equal(gpc_abouts_member(a, 7, "bad", "\xFF"), GPC_OK);
	check(a, 7, "one", "{\"bad\":null,\"k\":\"w\",\"n\":null}");
	check(a, 8, NULL, NULL);
	gpc_abouts_free(a);
}

/* What is said later of one is not said of the other. */
static void children_inherit(void **state)
{
	struct gpc_abouts *a = gpc_abouts_new();

	(void)state;
	assert_int_equal(gpc_abouts_inherit(a, 8, 7), GPC_OK);
	check(a, 8, NULL, NULL);
	assert_int_equal(gpc_abouts_appid(a, 7, "one"), GPC_OK);
	assert_int_equal(gpc_abouts_member(a, 7, "k", "v"), GPC_OK);
	assert_int_equal(gpc_abouts_inherit(a, 8, 7), GPC_OK);
	check(a, 8, "one", "{\"k\":\"v\"}");
	assert_int_equal(gpc_abouts_member(a, 8, "k", "w"), GPC_OK);
	assert_int_equal(gpc_abouts_member(a, 7, "n", NULL), GPC_OK);
	check(a, 7, "one", "{\"k\":\"v\",\"n\":null}");
	check(a, 8, "one", "{\"k\":\"w\"}");
	gpc_abouts_free(a);
}

static void values_that_are_json(void **state)
{
	struct gpc_abouts *a = gpc_abouts_new();

	(void)state;
	assert_int_equal(gpc_abouts_json(a, 7, "list", "[{\"n\": 1}, \"x\"]"), GPC_OK);
	assert_int_equal(gpc_abouts_json(a, 7, "bad", "[1"), GPC_E_CORRUPT);
	assert_int_equal(gpc_abouts_json(a, 7, "bad", ""), GPC_E_CORRUPT);
	check(a, 7, NULL, "{\"list\":[{\"n\":1},\"x\"]}");
	gpc_abouts_free(a);
}

static bool is_even(void *ctx, uint64_t process)
{
	(void)ctx;
	return process % 2 == 0;
}

static void the_gone_are_forgotten(void **state)
{
	struct gpc_abouts *a = gpc_abouts_new();
	char name[16];

	(void)state;
	for (uint64_t p = 1; p <= 100; p++) {
		snprintf(name, sizeof name, "%d", (int)p);
		assert_int_equal(gpc_abouts_appid(a, p, name), GPC_OK);
	}
	gpc_abouts_trim(a, is_even, NULL);
	for (uint64_t p = 1; p <= 100; p++) {
		snprintf(name, sizeof name, "%d", (int)p);
		check(a, p, p % 2 ? NULL : name, NULL);
	}
	gpc_abouts_free(a);
}

static void there_is_a_bound(void **state)
{
	struct gpc_abouts *a = gpc_abouts_new();
	uint64_t p = 1;

	(void)state;
	while (p < 100000 && gpc_abouts_appid(a, p, "x") == GPC_OK)
		p++;
	assert_true(p > 1000 && p < 100000);
	assert_int_equal(gpc_abouts_appid(a, p, "x"), GPC_E_BUDGET);
	assert_int_equal(gpc_abouts_member(a, 1, "k", "v"), GPC_OK);
	gpc_abouts_free(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_told),        cmocka_unit_test(children_inherit),
		cmocka_unit_test(values_that_are_json), cmocka_unit_test(the_gone_are_forgotten),
		cmocka_unit_test(there_is_a_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

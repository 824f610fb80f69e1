/* SPDX-License-Identifier: Apache-2.0 */
/* The process table: in which container a process is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "proc/table.h"
#include "proc/target.h"

#define A "/docker/3f4b1c0a9d8e7f6655443322110099887766554433221100ffeeddccbbaa9988"
#define B "/docker/00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

static int begin(void **state)
{
	static const struct gpc_table_needs none;
	struct gpc_table *t;

	if (gpc_table_new("/proc/self/fdinfo", NULL, &none, NULL, &t, NULL) < 0)
		return -1;
	*state = t;
	return 0;
}

static int end(void **state)
{
	gpc_table_free(*state);
	return 0;
}

static struct gpc_process *child(struct gpc_table *t, int32_t pid, int32_t parent)
{
	gpc_table_fork(t, pid, parent);
	return gpc_table_sampled(t, pid, 0);
}

static void expect(struct gpc_table *t, const struct gpc_process *p, const char *group)
{
	const char *found = gpc_table_container(t, p);

	if (group)
		assert_string_equal(found, group);
	else
		assert_null(found);
}

static void test_by_process(void **state)
{
	struct gpc_table *t = *state;
	struct gpc_process *p = child(t, 10, 1);

	expect(t, p, NULL);
	gpc_table_place(p, "4:memory:/x\n1:name=systemd:" A "\n0::/\n");
	expect(t, p, "1:name=systemd:" A);
	gpc_table_place(p, "0::/user.slice\n");
	expect(t, p, NULL);
}

static void test_inherited(void **state)
{
	struct gpc_table *t = *state;
	struct gpc_process *parent = child(t, 10, 1), *p;

	gpc_table_place(parent, "0::" A);
	p = child(t, 11, 10);
	expect(t, p, "0::" A);
	gpc_table_place(p, "0::" B);
	expect(t, parent, "0::" A);
	gpc_table_exec(t, 11, "next");
	p = gpc_table_find(t, 11);
	expect(t, p, "0::" B);
	assert_false(p->is_placed); /* asked again: a runtime's helper moves, then execs */
}

static void test_by_group(void **state)
{
	struct gpc_table *t = *state;
	struct gpc_process *p = child(t, 10, 1);

	p->cgroup = 77;
	gpc_table_cgroup(t, 77, A);
	expect(t, p, A);
	/* What the sample says is newer than what was read before. */
	gpc_table_place(p, "0::" B);
	expect(t, p, A);
	/* A group without a container may be that of another hierarchy. */
	gpc_table_cgroup(t, 77, "/user.slice");
	expect(t, p, "0::" B);
	assert_string_equal(gpc_table_cgroup_path(t, 77), "/user.slice");
}

static void test_many_groups(void **state)
{
	struct gpc_table *t = *state;

	for (uint64_t id = 1; id <= 10000; id++) {
		gpc_table_cgroup(t, id, "/a");
		gpc_table_cgroup(t, id, "/b");
		assert_string_equal(gpc_table_cgroup_path(t, id), "/b");
	}
	assert_null(gpc_table_cgroup_path(t, 1)); /* bounded */
}

static void test_target(void **state)
{
	struct gpc_target_id id = {.pid = getpid(), .id = 1};
	struct gpc_target_view *v;

	(void)state;
	assert_int_equal(gpc_target_read(&id, &v, NULL), GPC_OK);
	assert_string_equal(v->target.container, "");
	gpc_target_set_container(v, "one");
	gpc_target_set_container(v, "two");
	assert_string_equal(v->target.container, "two");
	gpc_target_put(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_by_process, begin, end),
		cmocka_unit_test_setup_teardown(test_inherited, begin, end),
		cmocka_unit_test_setup_teardown(test_by_group, begin, end),
		cmocka_unit_test_setup_teardown(test_many_groups, begin, end),
		cmocka_unit_test(test_target),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "place.h"

#include "plugin/needs.h"

#define bit(n) (UINT64_C(1) << (n))

static void meets_by_capability(void **state)
{
	struct gpc_rights none = {.perf_event_paranoid = 2};
	struct gpc_rights ptrace = {.caps = bit(19), .perf_event_paranoid = 2};
	struct gpc_rights perfmon = {.caps = bit(38), .perf_event_paranoid = 4};

	(void)state;
	assert_int_equal(gpc_rights_meet(&none, "CAP_SYS_PTRACE"), GPC_NEED_MISSING);
	assert_int_equal(gpc_rights_meet(&ptrace, "CAP_SYS_PTRACE"), GPC_NEED_MET);
	assert_int_equal(gpc_rights_meet(&ptrace, "CAP_PERFMON"), GPC_NEED_MISSING);
	assert_int_equal(gpc_rights_meet(&perfmon, "CAP_PERFMON"), GPC_NEED_MET);
	assert_int_equal(gpc_rights_meet(&perfmon, "CAP_SYS_ADMIN"), GPC_NEED_MISSING);
}

static void admin_stands_for_what_was_split_off(void **state)
{
	struct gpc_rights admin = {.caps = bit(21), .perf_event_paranoid = 2};

	(void)state;
	assert_int_equal(gpc_rights_meet(&admin, "CAP_PERFMON"), GPC_NEED_MET);
	assert_int_equal(gpc_rights_meet(&admin, "CAP_BPF"), GPC_NEED_MET);
	assert_int_equal(gpc_rights_meet(&admin, "CAP_SYS_PTRACE"), GPC_NEED_MISSING);
}

static void an_open_kernel_stands_for_perfmon(void **state)
{
	struct gpc_rights r = {.perf_event_paranoid = -1};

	(void)state;
	assert_int_equal(gpc_rights_meet(&r, "CAP_PERFMON"), GPC_NEED_MET);
	assert_int_equal(gpc_rights_meet(&r, "CAP_BPF"), GPC_NEED_MISSING);
	r.perf_event_paranoid = 0;
	assert_int_equal(gpc_rights_meet(&r, "CAP_PERFMON"), GPC_NEED_MISSING);
}

static void says_what_it_does_not_know(void **state)
{
	struct gpc_rights all = {.caps = UINT64_MAX};

	(void)state;
	assert_int_equal(gpc_rights_meet(&all, "CAP_"), GPC_NEED_UNKNOWN);
	assert_int_equal(gpc_rights_meet(&all, ""), GPC_NEED_UNKNOWN);
	assert_int_equal(gpc_rights_meet(&all, "a GPU"), GPC_NEED_UNKNOWN);
}

static void finds_the_first_that_is_missing(void **state)
{
	static const char *const needs[] = {"a GPU", "CAP_PERFMON", "CAP_SYSLOG", "CAP_BPF", NULL};
	struct gpc_rights r = {.caps = bit(38), .perf_event_paranoid = 2};

	(void)state;
	assert_string_equal(gpc_rights_missing(&r, needs), "CAP_SYSLOG");
	r.caps |= bit(34) | bit(39);
	assert_null(gpc_rights_missing(&r, needs));
	assert_null(gpc_rights_missing(&r, NULL));
}

static void reads_proc(void **state)
{
	static const char status[] = "Name:\tx\nCapPrm:\tffffffffffffffff\n"
				     "CapEff:\t0000004000080000\nCapBnd:\t0\n";
	struct place *p = *state;
	struct gpc_rights r;
	struct gpc_err err;
	int dir = open(p->dir, O_DIRECTORY | O_RDONLY);

	assert_true(gpc_rights_read(dir, &r, &err) < 0);
	mkdir(place_path(p, "self"), 0755);
	place_write(p, "self/status", "Name:\tx\n", 8);
	assert_int_equal(gpc_rights_read(dir, &r, &err), GPC_E_CORRUPT);
	place_write(p, "self/status", status, sizeof status - 1);
	assert_int_equal(gpc_rights_read(dir, &r, &err), GPC_OK);
	assert_true(r.caps == (bit(38) | bit(19)));
	assert_int_equal(r.perf_event_paranoid, 2);
	assert_int_equal(gpc_mkdirs(place_path(p, "sys/kernel"), 0755, NULL), GPC_OK);
	place_write(p, "sys/kernel/perf_event_paranoid", "-1\n", 3);
	assert_int_equal(gpc_rights_read(dir, &r, &err), GPC_OK);
	assert_int_equal(r.perf_event_paranoid, -1);
	close(dir);
}

static void reads_the_real_proc(void **state)
{
	struct gpc_rights r;
	int dir = open("/proc", O_DIRECTORY | O_RDONLY);

	(void)state;
	assert_int_equal(gpc_rights_read(dir, &r, NULL), GPC_OK);
	close(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(meets_by_capability),
		cmocka_unit_test(admin_stands_for_what_was_split_off),
		cmocka_unit_test(an_open_kernel_stands_for_perfmon),
		cmocka_unit_test(says_what_it_does_not_know),
		cmocka_unit_test(finds_the_first_that_is_missing),
		cmocka_unit_test_setup_teardown(reads_proc, place_setup, place_teardown),
		cmocka_unit_test(reads_the_real_proc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

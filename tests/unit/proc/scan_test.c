/* SPDX-License-Identifier: Apache-2.0 */
/* Who is told to have used CPU, and when, without perf. */
#include "proc/scan.h"

#include "base/clock.h"
#include "fake_proc.h"

static void nothing(void *ctx)
{
	(void)ctx;
}

static struct gpc_scan *scan_of(struct world *w)
{
	struct gpc_scan_setup setup = {.access = {.table = w->table,
						  .lock = nothing,
						  .unlock = nothing},
				       .tells_use = true};
	struct gpc_scan *s;

	assert_int_equal(gpc_scan_new(w->dir, &setup, &s, NULL), GPC_OK);
	return s;
}

static void has_used(const struct world *w, int32_t pid, unsigned ticks)
{
	char text[200];

	snprintf(text, sizeof text, "%d (x) S 1 1 1 0 -1 0 0 0 0 0 %u 0 0 0 20 0 1 0 555 0 0\n",
		 pid, ticks);
	write_file(w, pid, "stat", text);
}

static unsigned told_of(const struct world *w, int32_t pid)
{
	unsigned n = 0;

	for (unsigned i = 0; i < w->n_events; i++)
		n += w->events[i].kind == GPC_PROC_SAMPLED && w->events[i].pid == pid;
	return n;
}

static void test_who_uses_cpu_between_scans(void **state)
{
	struct world *w = *state;
	struct gpc_scan *s = scan_of(w);

	has_used(w, 50, 7);
	gpc_scan_run(s);
	gpc_scan_run(s);
	assert_int_equal(told_of(w, 50), 0);
	has_used(w, 50, 8);
	gpc_scan_run(s);
	assert_int_equal(told_of(w, 50), 1);
	gpc_scan_free(s);
}

/* Not only at the next scan, which may be seconds away. */
static void test_new_processes_are_looked_at_soon(void **state)
{
	struct world *w = *state;
	struct gpc_scan *s = scan_of(w);
	uint64_t now = GPC_SECOND_NS, begin = now;
	unsigned looks = 0;

	gpc_scan_run(s);
	assert_true(gpc_scan_due(s) == UINT64_MAX);
	has_used(w, 60, 0);
	gpc_scan_expect(s, 60, now);
	assert_true(gpc_scan_due(s) > now && gpc_scan_due(s) <= now + 50 * GPC_MS_NS);
	gpc_scan_run_expected(s, now);
	assert_int_equal(told_of(w, 60), 0);
	now = gpc_scan_due(s);
	gpc_scan_run_expected(s, now);
	assert_int_equal(told_of(w, 60), 0); /* it waits */
	has_used(w, 60, 1);
	assert_true(gpc_scan_due(s) < now + 150 * GPC_MS_NS);
	now = gpc_scan_due(s);
	gpc_scan_run_expected(s, now);
	assert_int_equal(told_of(w, 60), 1);
	/* What it maps later is seen, too; then it is one of the others. */
	for (; gpc_scan_due(s) != UINT64_MAX; looks++) {
		assert_true(looks < 10);
		now = gpc_scan_due(s);
		gpc_scan_run_expected(s, now);
	}
	assert_true(now - begin > GPC_SECOND_NS && now - begin < 5 * GPC_SECOND_NS);
	gpc_scan_free(s);
}

static void test_those_that_have_gone(void **state)
{
	struct world *w = *state;
	struct gpc_scan *s = scan_of(w);
	uint64_t now = GPC_SECOND_NS;

	gpc_scan_run(s);
	for (int32_t pid = 100; pid < 3000; pid++)
		gpc_scan_expect(s, pid, now);
	now = gpc_scan_due(s);
	gpc_scan_run_expected(s, now);
	assert_true(gpc_scan_due(s) == UINT64_MAX);
	assert_int_equal(w->n_events, 0);
	gpc_scan_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_who_uses_cpu_between_scans, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_new_processes_are_looked_at_soon, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_those_that_have_gone, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

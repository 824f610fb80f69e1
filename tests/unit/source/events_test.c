/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "source/events.h"

/* The kernel that the fake plays. The function it replaces has no context, so
 * these are the one place where a test needs statics. */
static struct {
	bool no_build_id, no_cgroup, no_ksymbol, no_guest, no_comm_exec, no_mmap2, always_invalid;
	unsigned precise;   /* the most it can do; above it EOPNOTSUPP */
	int forbids_kernel; /* an errno, unless exclude_kernel */
	int forbids_all;    /* an errno */
	unsigned calls;
} kernel;

static int refuse(int sys)
{
	errno = sys;
	return -1;
}

static int fake_open(struct perf_event_attr *a, pid_t pid, int cpu, int group, unsigned long flags)
{
	(void)pid;
	kernel.calls++;
	assert_int_equal(group, -1);
	assert_true(flags & PERF_FLAG_FD_CLOEXEC);
	assert_true(a->use_clockid);
	if (kernel.calls > 100)
		fail_msg("asked again and again");
	if (kernel.forbids_all)
		return refuse(kernel.forbids_all);
	if (kernel.always_invalid || (kernel.no_build_id && a->build_id) ||
	    (kernel.no_cgroup && (a->cgroup || a->sample_type & PERF_SAMPLE_CGROUP)) ||
	    (kernel.no_ksymbol && a->ksymbol) || (kernel.no_guest && a->exclude_guest) ||
	    (kernel.no_comm_exec && a->comm_exec) || (kernel.no_mmap2 && a->mmap2))
		return refuse(EINVAL);
	if (a->precise_ip > kernel.precise)
		return refuse(EOPNOTSUPP);
	if (kernel.forbids_kernel && !a->exclude_kernel)
		return refuse(kernel.forbids_kernel);
	return 1000 + cpu;
}

struct lines {
	unsigned n, warnings;
	char text[16][200];
};

static void see(void *ctx, const struct gpc_log_line *line)
{
	struct lines *l = ctx;

	assert_true(l->n < 16);
	snprintf(l->text[l->n++], sizeof l->text[0], "%s", line->message);
	l->warnings += line->level == GPC_WARN;
}

static unsigned times(const struct lines *l, const char *word)
{
	unsigned n = 0;

	for (unsigned i = 0; i < l->n; i++)
		n += strstr(l->text[i], word) != NULL;
	return n;
}

struct bench {
	struct lines lines;
	struct gpc_log log;
	struct perf_event_attr attr;
};

static const struct gpc_perf_request sampling = {.name = "cycles",
						 .type = PERF_TYPE_HARDWARE,
						 .config = PERF_COUNT_HW_CPU_CYCLES,
						 .precise = 3,
						 .rate = 99,
						 .samples = true,
						 .sideband = true};

static void prepare(struct bench *b, const struct gpc_perf_request *req)
{
	memset(b, 0, sizeof *b);
	memset(&kernel, 0, sizeof kernel);
	kernel.precise = 3;
	gpc_log_init(&b->log, GPC_TRACE, see, &b->lines);
	gpc_perf_attr(req, &b->attr);
}

/* Two CPUs, as the reader does. */
static void open_two(struct bench *b, pid_t pid)
{
	for (int cpu = 0; cpu < 2; cpu++) {
		struct gpc_err err;
		int fd = -1;

		assert_int_equal(gpc_perf_open(fake_open, &b->attr, pid, cpu, &b->log, &fd, &err),
				 GPC_OK);
		assert_int_equal(fd, 1000 + cpu);
	}
	gpc_log_deinit(&b->log);
}

static void test_new_kernel_gets_all_wishes(void **state)
{
	struct bench b;

	(void)state;
	prepare(&b, &sampling);
	open_two(&b, -1);
	assert_int_equal(kernel.calls, 2);
	assert_int_equal(b.lines.n, 0);
	assert_true(b.attr.build_id && b.attr.ksymbol && b.attr.mmap2 && b.attr.comm_exec);
	assert_true(b.attr.comm && b.attr.task && b.attr.mmap && b.attr.sample_id_all);
	assert_true(b.attr.freq);
	assert_int_equal(b.attr.sample_freq, 99);
	assert_int_equal(b.attr.precise_ip, 3);
	assert_int_equal(b.attr.clockid, 1); /* CLOCK_MONOTONIC */
	assert_true(b.attr.disabled);
}

static void test_linux_5_10(void **state)
{
	struct bench b;

	(void)state;
	prepare(&b, &sampling);
	kernel.no_build_id = true;
	open_two(&b, -1);
	assert_int_equal(kernel.calls, 3); /* the second CPU starts at what was accepted */
	assert_false(b.attr.build_id);
	assert_true(b.attr.ksymbol && b.attr.mmap2 && b.attr.comm_exec && b.attr.exclude_guest);
	assert_int_equal(b.lines.n, 1);
	assert_int_equal(times(&b.lines, "build-id"), 1);
}

static void test_linux_4_19(void **state)
{
	struct bench b;

	(void)state;
	prepare(&b, &sampling);
	kernel.no_build_id = kernel.no_cgroup = kernel.no_ksymbol = true;
	open_two(&b, -1);
	assert_false(b.attr.build_id || b.attr.ksymbol);
	assert_true(b.attr.mmap2 && b.attr.comm_exec);
	assert_int_equal(b.lines.n, 3);
	assert_int_equal(times(&b.lines, "build-id"), 1);
	assert_int_equal(times(&b.lines, "control groups"), 1);
	assert_int_equal(times(&b.lines, "kernel symbol"), 1);
}

static void test_ancient(void **state)
{
	struct bench b;

	(void)state;
	prepare(&b, &sampling);
	kernel.no_build_id = kernel.no_ksymbol = kernel.no_guest = true;
	kernel.no_comm_exec = kernel.no_mmap2 = kernel.no_cgroup = true;
	open_two(&b, -1);
	assert_true(b.attr.mmap && b.attr.comm && b.attr.task);
	assert_false(b.attr.mmap2 || b.attr.comm_exec || b.attr.exclude_guest);
	assert_int_equal(times(&b.lines, "inodes of mappings"), 1);
	assert_int_equal(times(&b.lines, "exec marks"), 1);
	assert_int_equal(times(&b.lines, "guests"), 1);
}

/* Each step down is one line, and the rest stays. */
static void test_less_precise(void **state)
{
	struct bench b;

	(void)state;
	prepare(&b, &sampling);
	kernel.precise = 1;
	open_two(&b, -1);
	assert_int_equal(b.attr.precise_ip, 1);
	assert_true(b.attr.build_id && b.attr.mmap2);
	assert_int_equal(times(&b.lines, "precise"), 1);
	assert_int_equal(b.lines.n, 1);
}

static void test_event_that_is_not_there(void **state)
{
	struct gpc_perf_request req = sampling;
	struct bench b;
	struct gpc_err err = {0};
	int fd = -1;

	(void)state;
	prepare(&b, &req);
	kernel.forbids_all = ENOENT;
	assert_int_equal(gpc_perf_open(fake_open, &b.attr, -1, 0, &b.log, &fd, &err),
			 GPC_E_UNSUPPORTED);
	assert_int_equal(fd, -1);
	assert_int_equal(kernel.calls, 1);
	assert_non_null(strstr(err.text, "perf_event_open"));
	/* No samples at all from this counter: nothing less precise helps. */
	kernel.forbids_all = EOPNOTSUPP;
	assert_true(gpc_perf_open(fake_open, &b.attr, -1, 0, &b.log, &fd, &err) < 0);
	assert_int_equal(err.sys, EOPNOTSUPP);
	gpc_log_deinit(&b.log);
}

static void test_invalid_whatever_is_given_up(void **state)
{
	struct bench b;
	struct gpc_err err = {0};
	int fd = -1;

	(void)state;
	prepare(&b, &sampling);
	kernel.always_invalid = true;
	assert_true(gpc_perf_open(fake_open, &b.attr, -1, 0, &b.log, &fd, &err) < 0);
	assert_int_equal(err.sys, EINVAL);
	assert_int_equal(fd, -1);
	gpc_log_deinit(&b.log);
}

/* ---- rights ------------------------------------------------------------------ */

static void check_own_process(int sys)
{
	struct bench b;

	prepare(&b, &sampling);
	kernel.forbids_kernel = sys;
	open_two(&b, 1234);
	assert_true(b.attr.exclude_kernel && b.attr.exclude_hv && b.attr.exclude_callchain_kernel);
	assert_int_equal(kernel.calls, 3);
	assert_int_equal(b.lines.warnings, 1);
	assert_int_equal(times(&b.lines, "CAP_PERFMON"), 1);
}

static void test_own_process_without_the_kernel(void **state)
{
	(void)state;
	check_own_process(EACCES);
	check_own_process(EPERM);
}

static void test_whole_machine_without_rights(void **state)
{
	struct bench b;
	struct gpc_err err = {0};
	int fd = -1;

	(void)state;
	prepare(&b, &sampling);
	kernel.forbids_kernel = EACCES;
	assert_int_equal(gpc_perf_open(fake_open, &b.attr, -1, 0, &b.log, &fd, &err), GPC_E_PERM);
	assert_int_equal(kernel.calls, 1);
	assert_false(b.attr.exclude_kernel);
	assert_int_equal(b.lines.n, 0);
	gpc_log_deinit(&b.log);
}

static void test_process_forbidden_even_without_the_kernel(void **state)
{
	struct bench b;
	struct gpc_err err = {0};
	int fd = -1;

	(void)state;
	prepare(&b, &sampling);
	kernel.forbids_all = EACCES;
	assert_int_equal(gpc_perf_open(fake_open, &b.attr, 1234, 0, &b.log, &fd, &err), GPC_E_PERM);
	assert_int_equal(kernel.calls, 2);
	gpc_log_deinit(&b.log);
}

/* ---- what is asked for --------------------------------------------------------- */

static void test_sideband_only_counts_nothing(void **state)
{
	struct gpc_perf_request req = {.name = "side-band", .sideband = true, .wake_bytes = 4096};
	struct perf_event_attr a;

	(void)state;
	gpc_perf_attr(&req, &a);
	assert_int_equal(a.type, PERF_TYPE_SOFTWARE);
	assert_int_equal(a.config, PERF_COUNT_SW_DUMMY);
	assert_true(a.mmap2 && a.task && a.comm && a.exclude_kernel);
	assert_true(a.watermark);
	assert_int_equal(a.wakeup_watermark, 4096);
	assert_false(a.sample_type & PERF_SAMPLE_CALLCHAIN);
}

static void test_period_and_no_kernel(void **state)
{
	struct gpc_perf_request req = sampling;
	struct perf_event_attr a;

	(void)state;
	req.is_period = req.no_kernel = req.inherit = true;
	req.sideband = false;
	req.rate = 1000003;
	gpc_perf_attr(&req, &a);
	assert_false(a.freq);
	assert_int_equal(a.sample_period, 1000003);
	assert_true(a.exclude_kernel && a.exclude_callchain_kernel && a.inherit);
	assert_false(a.mmap || a.comm || a.task);
}

/* cpu-clock counts on every kernel that lets us ask at all. */
static void test_probe(void **state)
{
	struct gpc_perf_request clock = {.name = "cpu-clock",
					 .type = PERF_TYPE_SOFTWARE,
					 .config = PERF_COUNT_SW_CPU_CLOCK};
	struct gpc_perf_request wrong = {.name = "wrong",
					 .type = PERF_TYPE_SOFTWARE,
					 .config = 999};
	struct gpc_err err = {0};
	gpc_status st = gpc_perf_probe(&clock, &err);

	(void)state;
	if (st == GPC_E_PERM || (st < 0 && err.sys == ENOSYS))
		skip();
	assert_int_equal(st, GPC_OK);
	assert_true(gpc_perf_probe(&wrong, &err) < 0);
	assert_non_null(strstr(err.text, "wrong"));
	/* These count what happens: in a busy loop nothing does. */
	for (uint64_t config = PERF_COUNT_SW_PAGE_FAULTS; config <= PERF_COUNT_SW_PAGE_FAULTS_MAJ;
	     config++) {
		clock.config = config;
		assert_int_equal(gpc_perf_probe(&clock, &err), GPC_OK);
	}
}

static void test_explain_is_a_sentence(void **state)
{
	char text[400];

	(void)state;
	gpc_perf_explain(text, sizeof text);
	assert_non_null(strstr(text, "perf"));
	assert_true(strlen(text) < sizeof text - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_new_kernel_gets_all_wishes),
		cmocka_unit_test(test_linux_5_10),
		cmocka_unit_test(test_linux_4_19),
		cmocka_unit_test(test_ancient),
		cmocka_unit_test(test_less_precise),
		cmocka_unit_test(test_event_that_is_not_there),
		cmocka_unit_test(test_invalid_whatever_is_given_up),
		cmocka_unit_test(test_own_process_without_the_kernel),
		cmocka_unit_test(test_whole_machine_without_rights),
		cmocka_unit_test(test_process_forbidden_even_without_the_kernel),
		cmocka_unit_test(test_sideband_only_counts_nothing),
		cmocka_unit_test(test_period_and_no_kernel),
		cmocka_unit_test(test_probe),
		cmocka_unit_test(test_explain_is_a_sentence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

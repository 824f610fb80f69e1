/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "health/metrics.h"

struct fixture {
	char dir[32];
	int fd;
};

static void write_file(const struct fixture *f, const char *name, const char *text)
{
	int fd = openat(f->fd, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);

	strcpy(f->dir, "/tmp/gpc-metrics-XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	f->fd = open(f->dir, O_RDONLY | O_DIRECTORY);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	unlinkat(f->fd, "stat", 0);
	unlinkat(f->fd, "meminfo", 0);
	close(f->fd);
	rmdir(f->dir);
	free(f);
	return 0;
}

static void cpu_is_what_was_busy_since(void **state)
{
	struct fixture *f = *state;
	struct gpc_metrics m;

	write_file(f, "stat", "cpu  100 0 50 800 50 0 0 0 30 0\ncpu0 1 2 3\n");
	gpc_metrics_init(&m, f->fd);
	write_file(f, "stat", "cpu  110 0 60 860 70 0 0 0 30 0\n"); /* 20 busy of 100 */
	assert_true(fabs(gpc_metrics_read(&m).cpu - 20) < 1e-9);
	assert_true(isnan(gpc_metrics_read(&m).cpu)); /* no time went by */
	write_file(f, "stat", "cpu  110 0 60 1860 70 0 0 0 30 0\n");
	assert_true(gpc_metrics_read(&m).cpu == 0);
	write_file(f, "stat", "cpu  310 0 60 1850 70 0 0 0 30 0\n"); /* idle stepped back */
	assert_true(gpc_metrics_read(&m).cpu <= 100);
}

static void memory_is_the_mean_of_samples(void **state)
{
	struct fixture *f = *state;
	struct gpc_metrics m;

	gpc_metrics_init(&m, f->fd);
	write_file(f, "meminfo", "MemTotal: 1000 kB\nMemFree: 1 kB\nMemAvailable: 750 kB\n");
	gpc_metrics_tick(&m);
	write_file(f, "meminfo", "MemTotal: 1000 kB\nMemFree: 1 kB\nMemAvailable: 250 kB\n");
	gpc_metrics_tick(&m);
	assert_true(fabs(gpc_metrics_read(&m).memory - 50) < 1e-9);
	assert_true(isnan(gpc_metrics_read(&m).memory));
}

static void bad_files_say_nothing(void **state)
{
	static const char *const stats[] = {"", "cpu", "cpu  a b c d", "cpu 0 0 0 0", "cpu 1 2"};
	struct fixture *f = *state;
	struct gpc_metrics m;

	gpc_metrics_init(&m, f->fd);
	assert_true(isnan(gpc_metrics_read(&m).cpu));
	for (size_t i = 0; i < sizeof stats / sizeof *stats; i++) {
		write_file(f, "stat", "cpu 1 1 1 1");
		gpc_metrics_init(&m, f->fd);
		write_file(f, "stat", stats[i]);
		assert_true(isnan(gpc_metrics_read(&m).cpu));
		write_file(f, "stat", "cpu 5 1 1 1");
		assert_true(isnan(gpc_metrics_read(&m).cpu));
	}
	write_file(f, "meminfo", "MemTotal: 10 kB\n");
	gpc_metrics_tick(&m);
	write_file(f, "meminfo", "MemTotal: 10 kB\nMemAvailable: 11 kB\n");
	gpc_metrics_tick(&m);
	assert_true(isnan(gpc_metrics_read(&m).memory));
}

#define row_of(t) cmocka_unit_test_setup_teardown(t, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		row_of(cpu_is_what_was_busy_since),
		row_of(memory_is_the_mean_of_samples),
		row_of(bad_files_say_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

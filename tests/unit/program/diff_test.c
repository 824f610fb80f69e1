/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <unistd.h>

#include "draw.h"
#include "program/diff.h"
#include "program/fit.h"

static void before(struct gpc_summary *s)
{
	struct draw d;

	draw_begin(&d);
	draw_process(&d, 10, "app", "");
	draw_stack(&d, "main;work", 50);
	draw_stack(&d, "main;old", 30);
	draw_stack(&d, "main;same", 20);
	draw_process(&d, 0, "swapper", "");
	draw_stack(&d, "do_idle_[k]", 900);
	draw_end(&d, s);
}

/* Twice as many samples: shares count. */
static void after(struct gpc_summary *s)
{
	struct draw d;

	draw_begin(&d);
	draw_process(&d, 10, "app", "");
	draw_stack(&d, "main;work", 150);
	draw_stack(&d, "main;fresh", 10);
	draw_stack(&d, "main;same", 40);
	draw_end(&d, s);
}

static char *diff(int width)
{
	struct gpc_table t = {.width = width};
	struct gpc_summary a = {0}, b = {0};
	char *text = NULL;
	size_t size;

	before(&a);
	after(&b);
	t.out = open_memstream(&text, &size);
	assert_int_equal(gpc_diff_print(&t, &a, &b, NULL), GPC_OK);
	fclose(t.out);
	gpc_summary_deinit(&a);
	gpc_summary_deinit(&b);
	return text;
}

static void tells_what_changed(void **state)
{
	char *text = diff(80);
	const char *total = strstr(text, "Functions by change of total");

	(void)state;
	assert_non_null(strstr(text, "Functions by change of self\n"
				     "  before    after   points       function\n"
				     "  30.00%    0.00%   -30.00 gone  old\n"
				     "  50.00%   75.00%   +25.00       work\n"
				     "   0.00%    5.00%    +5.00 new   fresh\n"
				     "\n"));
	assert_non_null(total);
	assert_non_null(strstr(total, "work"));
	assert_null(strstr(text, "same"));
	assert_null(strstr(text, "main"));
	free(text);
}

static void narrow(void **state)
{
	(void)state;
	for (int width = GPC_TABLE_NARROWEST; width < 120; width++) {
		char *text = diff(width), *save = NULL;

		for (char *at = strtok_r(text, "\n", &save); at; at = strtok_r(NULL, "\n", &save))
			if (gpc_fit_columns(at) > (size_t)width)
				fail_msg("more than %d columns: %s", width, at);
		free(text);
	}
}

static void equal_profiles(void **state)
{
	struct gpc_table t = {.width = 80};
	struct gpc_summary a = {0};
	char *text = NULL;
	size_t size;

	(void)state;
	before(&a);
	t.out = open_memstream(&text, &size);
	assert_int_equal(gpc_diff_print(&t, &a, &a, NULL), GPC_OK);
	fclose(t.out);
	assert_non_null(strstr(text, "No share has changed."));
	assert_null(strstr(text, "work"));
	free(text);
	gpc_summary_deinit(&a);
}

static void write_col(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void writes_the_page(void **state)
{
	char folder[] = "/tmp/gpc-diff-XXXXXX", old[64], new[64], page[64], start[16] = "";
	struct gpc_err err;
	int fd;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(old, sizeof old, "%s/old.col", folder);
	snprintf(new, sizeof new, "%s/new.col", folder);
	snprintf(page, sizeof page, "%s/page.html", folder);
	write_col(old, "# {}\nweb;app;main;work 5\n");
	write_col(new, "# {}\nweb;app;main;work 5\nweb;app;main 5\n");
	assert_int_equal(gpc_diff(old, new, page, &err), GPC_OK);
	fd = open(page, O_RDONLY);
	assert_true(read(fd, start, sizeof start - 1) > 0);
	close(fd);
	assert_string_equal(start, "<!DOCTYPE html>");
	unlink(page);
	unlink(old);
	assert_true(gpc_diff(old, new, page, &err) < 0);
	assert_non_null(strstr(err.text, "old.col"));
	assert_int_equal(access(page, F_OK), -1);
	unlink(new);
	rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tells_what_changed),
		cmocka_unit_test(narrow),
		cmocka_unit_test(equal_profiles),
		cmocka_unit_test(writes_the_page),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

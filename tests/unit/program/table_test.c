/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "draw.h"
#include "program/fit.h"
#include "program/once.h"
#include "program/top.h"

#define LONG "std::vector<std::map<std::string, std::unique_ptr<int>>>::push_back(int const&, char)"

static void make(struct gpc_summary *s)
{
	struct draw d;

	draw_begin(&d);
	draw_process(&d, 4711, "app\033[2J", "web\nserver");
	draw_stack(&d, "main;" LONG ";read_[k]", 120);
	draw_stack(&d, "main;" LONG, 60);
	draw_stack(&d, "main;世界世界世界世界世界世界世界世界世界世界世界世界世界世界世界世界_[j]",
		   15);
	draw_stack(&d, "main;a\033]0;title\a_[p]", 5);
	draw_process(&d, 1, "a-very-long-name-of-a-process-that-nobody-would-give", "");
	draw_stack(&d, "main", 0x7FFFFFFFFF);
	draw_process(&d, 0, "swapper", "");
	draw_stack(&d, "do_idle_[k]", 50);
	draw_end(&d, s);
}

static char *once(const struct gpc_summary *s, int width, bool has_color)
{
	struct gpc_table t = {.width = width, .has_color = has_color};
	char *text = NULL;
	size_t size;

	t.out = open_memstream(&text, &size);
	gpc_once_print(&t, s);
	fclose(t.out);
	return text;
}

/* Each line fits, and each byte may go to a terminal. */
static void check_lines(const char *text, size_t width)
{
	char line[4096];

	for (; *text; text += *text == '\n') {
		size_t n = strcspn(text, "\n");

		assert_true(n < sizeof line);
		memcpy(line, text, n);
		line[n] = '\0';
		if (gpc_fit_columns(line) > width)
			fail_msg("more than %zu columns: %s", width, line);
		for (size_t i = 0; i < n; i++)
			assert_true((unsigned char)line[i] >= ' ' && line[i] != 0x7F);
		text += n;
	}
}

static const char *line_with(const char *text, const char *word)
{
	static char line[400];
	const char *at = strstr(text, word);
	size_t n;

	if (!at)
		fail_msg("no %s in %s", word, text);
	while (at > text && at[-1] != '\n')
		at--;
	n = strcspn(at, "\n");
	assert_true(n < sizeof line);
	memcpy(line, at, n);
	line[n] = '\0';
	return line;
}

static void all_widths(void **state)
{
	struct gpc_summary s = {0};

	(void)state;
	make(&s);
	for (int width = GPC_TABLE_NARROWEST; width <= 250; width++) {
		char *text = once(&s, width, false);

		check_lines(text, (size_t)width);
		assert_null(strstr(text, "do_idle"));
		free(text);
	}
	gpc_summary_deinit(&s);
}

static void make_small(struct gpc_summary *s)
{
	struct draw d;

	draw_begin(&d);
	draw_process(&d, 4711, "app", "web");
	draw_stack(&d, "main;" LONG ";read_[k]", 120);
	draw_stack(&d, "main;" LONG, 60);
	draw_process(&d, 12, "cc1", "");
	draw_stack(&d, "main", 10);
	draw_process(&d, 13, "cc1", "");
	draw_stack(&d, "main", 10);
	draw_process(&d, 0, "swapper", "");
	draw_stack(&d, "do_idle_[k]", 50);
	draw_end(&d, s);
}

static void at_80(void **state)
{
	struct gpc_summary s = {0};
	char *text;

	(void)state;
	make_small(&s);
	text = once(&s, 80, false);
	assert_string_equal(line_with(text, " Hz"),
			    "2.0 s at 100 Hz: 200 samples, 1.00 CPUs busy. Idle and left out: 50.");
	assert_string_equal(line_with(text, "Lost"),
			    "Lost: 7 samples (2.7%); the kernel throttled 1 times.");
	assert_string_equal(line_with(text, "Without"),
			    "Without a name: 0.0%; names of the kernel could not be read.");
	assert_string_equal(line_with(text, " read_[k]"),
			    " 60.0%     120   60.0%     120  read_[k]");
	assert_string_equal(line_with(text, " main"), " 10.0%      20  100.0%     200  main");
	assert_string_equal(line_with(text, "std::v"),
			    " 30.0%      60   90.0%     180  "
			    "std::vector<std::map<std…_back(int const&, char)");
	assert_string_equal(line_with(text, "kernel [k]"),
			    " 60.0%     120   60.0%     120  kernel [k]");
	assert_string_equal(line_with(text, " app"), " 90.0%     180  app (4711)");
	assert_string_equal(line_with(text, " cc1"), " 10.0%      20  cc1 (2 processes)");
	assert_string_equal(line_with(text, " web"), " 90.0%     180  web");
	assert_null(strchr(text, '\033'));
	free(text);
	gpc_summary_deinit(&s);
}

/* There is place for one of self and total: the one that it is sorted by. */
static void at_40(void **state)
{
	struct gpc_summary s = {0};
	char *text;

	(void)state;
	make_small(&s);
	text = once(&s, 40, false);
	assert_string_equal(line_with(text, " 30.0%"), " 30.0%      60  std::vector<…nst&, char)");
	assert_string_equal(line_with(text, "100.0%"), "100.0%     200  main");
	assert_string_equal(line_with(text, " Hz"), "2.0 s at 100 Hz: 200 samples, 1.00 CPUs");
	free(text);
	gpc_summary_deinit(&s);
}

static void at_200(void **state)
{
	struct gpc_summary s = {0};
	char *text;

	(void)state;
	make_small(&s);
	text = once(&s, 200, false);
	assert_string_equal(line_with(text, "std::v"), " 30.0%      60   90.0%     180  " LONG);
	free(text);
	gpc_summary_deinit(&s);
}

static void colours(void **state)
{
	struct gpc_summary s = {0};
	char *text;

	(void)state;
	make_small(&s);
	text = once(&s, 80, true);
	assert_non_null(strstr(text, "\033[31m 60.0%\033[0m"));
	assert_non_null(strstr(text, "\033[1mFunctions by self\n\033[0m"));
	free(text);
	gpc_summary_deinit(&s);
}

static void nothing_measured(void **state)
{
	struct gpc_summary s = {0};
	char *text = once(&s, 80, false);

	(void)state;
	assert_non_null(strstr(text, "nothing to show"));
	free(text);
}

static size_t lines_of(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

static void pictures_fill_the_screen(void **state)
{
	struct gpc_top top = {.has_profile = true};

	(void)state;
	make(&top.summary);
	for (int rows = 8; rows < 60; rows += 7)
		for (int columns = 20; columns < 220; columns += 20) {
			char *text = gpc_top_picture(&top, rows, columns, false);

			check_lines(text, (size_t)columns);
			assert_int_equal(lines_of(text), rows);
			free(text);
		}
	gpc_summary_deinit(&top.summary);
}

static void narrow_pictures_leave_clauses_out(void **state)
{
	struct gpc_top top = {.has_profile = true};
	char *text;

	(void)state;
	make_small(&top.summary);
	text = gpc_top_picture(&top, 20, 50, false);
	assert_string_equal(line_with(text, " Hz"), "2.0 s at 100 Hz: 200 samples, 1.00 CPUs busy");
	free(text);
	text = gpc_top_picture(&top, 20, 40, false);
	assert_string_equal(line_with(text, " Hz"), "2.0 s at 100 Hz: 200 samples");
	free(text);
	gpc_summary_deinit(&top.summary);
}

static bool shows(const struct gpc_top *top, const char *word)
{
	char *text = gpc_top_picture(top, 30, 100, false);
	bool found = strstr(text, word);

	free(text);
	return found;
}

static void keys(void **state)
{
	struct gpc_top top = {0};

	(void)state;
	assert_true(shows(&top, "Measuring"));
	make_small(&top.summary);
	top.has_profile = true;
	assert_true(shows(&top, "Functions by self"));
	assert_true(gpc_top_key(&top, 't'));
	assert_true(shows(&top, "Functions by total"));
	assert_true(gpc_top_key(&top, 'l'));
	assert_true(shows(&top, "Languages by total") && shows(&top, "kernel [k]"));
	assert_true(gpc_top_key(&top, 's'));
	assert_true(shows(&top, "Languages by self"));
	assert_true(gpc_top_key(&top, 'p'));
	assert_true(shows(&top, "Processes") && shows(&top, "app"));
	assert_true(gpc_top_key(&top, 'c'));
	assert_true(shows(&top, "Containers") && shows(&top, "web"));
	assert_true(gpc_top_key(&top, ' '));
	assert_true(shows(&top, "paused"));
	assert_true(gpc_top_key(&top, ' '));
	assert_false(shows(&top, "paused"));
	assert_true(gpc_top_key(&top, 'f'));
	assert_true(gpc_top_key(&top, 'x'));
	assert_true(gpc_top_key(&top, '\0'));
	assert_true(shows(&top, "Functions"));
	assert_false(gpc_top_key(&top, 'q'));
	gpc_summary_deinit(&top.summary);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_widths),
		cmocka_unit_test(at_80),
		cmocka_unit_test(at_40),
		cmocka_unit_test(at_200),
		cmocka_unit_test(colours),
		cmocka_unit_test(nothing_measured),
		cmocka_unit_test(pictures_fill_the_screen),
		cmocka_unit_test(narrow_pictures_leave_clauses_out),
		cmocka_unit_test(keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

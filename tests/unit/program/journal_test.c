/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "program/journal.h"

#define WHEN INT64_C(1770091506789000000) /* 2026-02-03T04:05:06.789Z */

static const char *format(struct gpc_log_line line)
{
	static char text[200];
	size_t n = gpc_journal_format(text, sizeof text, WHEN, &line);

	assert_int_equal(n, strlen(text));
	return text;
}

static void format_of_lines(void **state)
{
	(void)state;
	assert_string_equal(format((struct gpc_log_line){GPC_INFO, 0, "file", "Saved it"}),
			    "[2026-02-03 04:05:06,789] INFO: gprofiler: Saved it\n");
	assert_string_equal(format((struct gpc_log_line){GPC_WARN, 12, "perf", "lost"}),
			    "[2026-02-03 04:05:06,789] WARNING: gprofiler.perf: lost (pid=12)\n");
	assert_string_equal(format((struct gpc_log_line){GPC_ERROR, 0, NULL, "x"}),
			    "[2026-02-03 04:05:06,789] ERROR: gprofiler: x\n");
	assert_string_equal(format((struct gpc_log_line){GPC_TRACE, 0, "", "x"}),
			    "[2026-02-03 04:05:06,789] DEBUG: gprofiler: x\n");
}

/* What a process calls itself must not make a line of its own. */
static void one_line_stays_one(void **state)
{
	struct gpc_log_line line = {GPC_INFO, 0, "core", "a\n[2026] ERROR: b\033[2J\177"};

	(void)state;
	assert_string_equal(format(line),
			    "[2026-02-03 04:05:06,789] INFO: gprofiler: a [2026] ERROR: b [2J \n");
}

static void a_long_line_is_cut(void **state)
{
	char message[5000], text[100];
	struct gpc_log_line line = {.level = GPC_INFO, .message = message};

	(void)state;
	memset(message, 'x', sizeof message);
	message[sizeof message - 1] = '\0';
	assert_int_equal(gpc_journal_format(text, sizeof text, WHEN, &line), 99);
	assert_string_equal(text + 97, "x\n");
}

/* Standard output goes to a file meanwhile. */
static char *with_output(void (*fn)(struct gpc_journal *j, const char *path), const char *path)
{
	char out_path[] = "/tmp/gpc-journal-out-XXXXXX";
	int out = mkstemp(out_path), kept = dup(STDOUT_FILENO);
	struct gpc_journal j;
	char *text;

	dup2(out, STDOUT_FILENO);
	gpc_journal_init(&j);
	fn(&j, path);
	gpc_journal_deinit(&j);
	dup2(kept, STDOUT_FILENO);
	close(kept);
	close(out);
	assert_int_equal(gpc_read_file(AT_FDCWD, out_path, 100000, &text, NULL, NULL), GPC_OK);
	unlink(out_path);
	return text;
}

static void early_and_late(struct gpc_journal *j, const char *path)
{
	gpc_journal_say(j, GPC_WARN, "early %d", 1);
	gpc_journal_open(j, path, 1000, 1);
	gpc_journal_say(j, GPC_INFO, "late");
	gpc_journal_reopen(j);
	gpc_journal_say(j, GPC_INFO, "last");
}

static void lines_before_it_is_open(void **state)
{
	char dir[] = "/tmp/gpc-journal-XXXXXX";
	autofree char *out = NULL, *file = NULL;
	char path[64];

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof path, "%s/log", dir);
	out = with_output(early_and_late, path);
	assert_int_equal(gpc_read_file(AT_FDCWD, path, 100000, &file, NULL, NULL), GPC_OK);
	assert_string_equal(out, file);
	assert_non_null(strstr(out, "WARNING: gprofiler: early 1\n"));
	assert_true(strstr(out, "early") < strstr(out, "late"));
	assert_non_null(strstr(out, "last\n"));
	unlink(path);
	rmdir(dir);
}

static void without_a_file(void **state)
{
	autofree char *out = with_output(early_and_late, "/dev/null/x/y");

	(void)state;
	assert_non_null(strstr(out, "WARNING: gprofiler: No log file: "));
	assert_non_null(strstr(out, "/dev/null"));
	assert_non_null(strstr(out, "late\n"));
}

static void to_a_full_disk(struct gpc_journal *j, const char *path)
{
	gpc_journal_open(j, path, 1000, 1);
	gpc_journal_say(j, GPC_INFO, "one");
	gpc_journal_say(j, GPC_INFO, "two");
}

static void a_failing_file_is_told_of_once(void **state)
{
	autofree char *out = with_output(to_a_full_disk, "/dev/full");
	const char *first = strstr(out, "/dev/full: write: No space left");

	(void)state;
	assert_non_null(first);
	assert_null(strstr(first + 20, "No space left"));
	assert_non_null(strstr(out, "two\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(format_of_lines),
		cmocka_unit_test(one_line_stays_one),
		cmocka_unit_test(a_long_line_is_cut),
		cmocka_unit_test(lines_before_it_is_open),
		cmocka_unit_test(without_a_file),
		cmocka_unit_test(a_failing_file_is_told_of_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

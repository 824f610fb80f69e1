/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include <unistd.h>

static void keys_and_values_are_written_in_three_ways(void **state)
{
	struct fixture *f = *state;

	assert_ok(f, FILE_TEXT(f, "\xef\xbb\xbf# a comment\n"
				  "; another\n"
				  "--- a third\n"
				  "[section]\n"
				  "\n"
				  "  frequency = 20 \r\n"
				  "--output-dir: https://host:1/x=y\r\n"
				  "size\t2k\n"
				  "continuous = True\n"
				  "upload\n"
				  "plain: yes\n"
				  "items = [a, b]\n"
				  "items: c\n"
				  "filter a,b\n"
				  "safemode"));
	apply(f);
	assert_int_equal(f->v.hz, 20);
	assert_string_equal(f->v.dir, "https://host:1/x=y");
	assert_int_equal(f->v.size, 2048);
	assert_int_equal(f->v.continuous, 1);
	assert_int_equal(f->v.upload, 1);
	assert_int_equal(f->v.plain, 1);
	assert_string_equal(joined(&f->v.items), "a|b|c");
	assert_string_equal(joined(&f->v.filters), "a,b");
	assert_string_equal(joined(&f->v.safemode), "all");
}

static void quotes_and_remarks(void **state)
{
	struct fixture *f = *state;

	assert_ok(f, FILE_TEXT(f, "output-dir = \"/a # b\" ; remark\n"
				  "frequency = 5 # remark\n"
				  "continuous # remark\n"
				  "safemode = \"\"\n"
				  "old = it's#fine\n"));
	apply(f);
	assert_string_equal(f->v.dir, "/a # b");
	assert_int_equal(f->v.hz, 5);
	assert_int_equal(f->v.continuous, 1);
	assert_int_equal(f->v.safemode.n, 0);
	assert_string_equal(f->v.extra, "it's#fine");
}

static void empty_is_a_value(void **state)
{
	struct fixture *f = *state;

	assert_ok(f, FILE_TEXT(f, "output-dir =\nitems:\n"));
	apply(f);
	assert_string_equal(f->v.dir, "");
	assert_int_equal(f->v.items.n, 0);
	assert_refused(f, FILE_TEXT(f, "output-dir\n"), "--output-dir (some.ini:1)",
		       "a value is needed");
}

static void errors_name_file_and_line(void **state)
{
	struct fixture *f = *state;

	assert_refused(f, FILE_TEXT(f, "\n\nfrequency = 0\n"), "--frequency (some.ini:3)", "'0'",
		       "from 1 to 1000");
	assert_refused(f, FILE_TEXT(f, "# x\nfrequenci = 1\n"), "some.ini:2",
		       "unknown option --frequenci", "--frequency?");
	assert_refused(f, FILE_TEXT(f, "continuous = maybe"), "--continuous (some.ini:1)");
	assert_refused(f, FILE_TEXT(f, "= x"), "some.ini:1", "option = value");
	assert_refused(f, FILE_TEXT(f, "-f 5"), "some.ini:1");
	assert_refused(f, FILE_TEXT(f, "freq = 5"), "unknown option --freq");
	assert_refused(f,
		       gpc_options_file_text(f->o, "a\0b", 3, "some.ini", GPC_FROM_FILE, true,
					     &f->err),
		       "some.ini", "NUL");
}

static void secrets_are_never_in_errors(void **state)
{
	struct fixture *f = *state;

	assert_refused(f, FILE_TEXT(f, "token = hunter2"), "--token (some.ini:1)", "not shown");
	assert_null(strstr(f->err.text, "hunter2"));
	assert_refused(f, FILE_TEXT(f, "tokn hunter2"), "unknown option --tokn");
	assert_null(strstr(f->err.text, "hunter2"));
	assert_refused(f, FILE_TEXT(f, "token,hunter2"), "some.ini:1");
	assert_null(strstr(f->err.text, "hunter2"));
}

static void lenient_keeps_unknown_keys(void **state)
{
	static const char text[] = "java-mode = ap\nbroken-value-too = \n";
	struct fixture *f = *state;

	assert_ok(f, gpc_options_file_text(f->o, text, strlen(text), "some.ini", GPC_FROM_FILE,
					   true, &f->err));
	apply(f);
	assert_refused(f, gpc_options_check_known(f->o, &f->err), "some.ini:1",
		       "unknown option --java-mode");
}

static void files_may_be_missing(void **state)
{
	struct fixture *f = *state;
	char path[] = "/tmp/gpc-config-XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "frequency=7", 11), 11);
	close(fd);
	assert_ok(f, gpc_options_file(f->o, path, GPC_FROM_SYSTEM_FILE, true, false, &f->err));
	unlink(path);
	apply(f);
	assert_int_equal(f->v.hz, 7);
	assert_int_equal(gpc_options_origin(f->o, "frequency"), GPC_FROM_SYSTEM_FILE);
	assert_ok(f, gpc_options_file(f->o, path, GPC_FROM_SYSTEM_FILE, true, false, &f->err));
	assert_refused(f, gpc_options_file(f->o, path, GPC_FROM_FILE, false, false, &f->err), path);
	assert_refused(f, gpc_options_file(f->o, "/", GPC_FROM_FILE, true, false, &f->err), "/");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_fixture(keys_and_values_are_written_in_three_ways),
		with_fixture(quotes_and_remarks),
		with_fixture(empty_is_a_value),
		with_fixture(errors_name_file_and_line),
		with_fixture(secrets_are_never_in_errors),
		with_fixture(lenient_keeps_unknown_keys),
		with_fixture(files_may_be_missing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

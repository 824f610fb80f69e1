/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cmocka.h>

#include "proc/stat.h"

#define TAIL                                                                      \
	" S 77 5 5 0 -1 4194560 1 2 3 4 1000 234 7 8 20 0 3 0 987654321 1000 10 " \
	"18446744073709551615"

static void check_name(const char *written, const char *name)
{
	char text[200];
	struct gpc_proc_stat st;

	snprintf(text, sizeof text, "123 (%s)" TAIL "\n", written);
	assert_true(gpc_proc_stat_parse(text, &st));
	assert_string_equal(st.comm, name);
	assert_int_equal(st.state, 'S');
	assert_int_equal(st.ppid, 77);
	assert_int_equal(st.flags, 4194560);
	assert_int_equal(st.start_time, 987654321);
	assert_int_equal(st.cpu_ticks, 1234);
}

static void test_names(void **state)
{
	(void)state;
	check_name("bash", "bash");
	check_name("", "");
	check_name("(", "(");
	check_name(")", ")");
	check_name("a) R 1 2 (b", "a) R 1 2 (b");
	check_name("  ", "  ");
	check_name("\xff\n\t", "\xff\n\t");
	check_name("123456789012345", "123456789012345");
	check_name("kworker/u8:3-events_unbound", "kworker/u8:3-ev");
}

static void test_cut_anywhere(void **state)
{
	static const char text[] = "123 (a b)" TAIL;
	/* The start time is the last field that counts; cut inside it, it is
	 * another number, which nobody can know. */
	size_t needed = (size_t)(strstr(text, "987654321") - text);
	struct gpc_proc_stat st;

	(void)state;
	for (size_t n = 0; n < sizeof text; n++) {
		char *copy = strndup(text, n);

		assert_int_equal(gpc_proc_stat_parse(copy, &st), n > needed);
		free(copy);
	}
}

static void test_nonsense(void **state)
{
	static const char *const texts[] = {
		"",     ")(",           "1 )a( S 1",
		"1 (a", "1 a) S 1 2 3", "1 (a) S x 5 5 0 -1 1 1 2 3 4 1 2 7 8 20 0 3 0 9"};
	struct gpc_proc_stat st;

	(void)state;
	for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
		assert_false(gpc_proc_stat_parse(texts[k], &st));
}

static void test_ourselves(void **state)
{
	int procfd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct gpc_proc_stat st;
	char before[16];

	(void)state;
	prctl(PR_GET_NAME, before);
	prctl(PR_SET_NAME, "we ) (1");
	assert_true(gpc_proc_stat_read(procfd, getpid(), &st));
	prctl(PR_SET_NAME, before);
	assert_string_equal(st.comm, "we ) (1");
	assert_int_equal(st.ppid, getppid());
	assert_int_equal(st.state, 'R');
	assert_false(st.flags & GPC_PF_KTHREAD);
	assert_true(st.start_time > 0);
	assert_false(gpc_proc_stat_read(procfd, 0x7fffffff, &st));
	close(procfd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_cut_anywhere),
		cmocka_unit_test(test_nonsense),
		cmocka_unit_test(test_ourselves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "program/secrets.h"

#define MAX_WORDS 8

static void assert_masked(const char *line, const char *want)
{
	char copy[200], *argv[MAX_WORDS + 1] = {0}, *rest = copy;
	autofree char *text = NULL;

	strcpy(copy, line);
	for (int i = 0; i < MAX_WORDS && rest; i++)
		argv[i] = strsep(&rest, " ");
	gpc_secrets_mask(argv);
	text = gpc_secrets_command_line(argv);
	assert_string_equal(text, want);
}

static void tokens(void **state)
{
	(void)state;
	assert_masked("g -cu --token=abc -o x", "g -cu '--token=***' -o x");
	assert_masked("g --token abcd -o x", "g --token '****' -o x");
	assert_masked("g --tok=abc", "g '--tok=***'");
	assert_masked("g --to abc", "g --to '***'");
	assert_masked("g --token= x", "g --token= x");
	assert_masked("g --token", "g --token");
	assert_masked("g --token=a=b", "g '--token=***'");
}

static void other_words(void **state)
{
	(void)state;
	assert_masked("g --tokens=abc", "g --tokens=abc");
	assert_masked("g --output-dir token", "g --output-dir token");
	assert_masked("g token=abc", "g token=abc");
	assert_masked("g --=abc", "g --=abc");
	assert_masked("g -- --token=abc", "g -- --token=abc");
	assert_masked("--token=abc", "--token=abc"); /* the program's name */
}

static void words_are_quoted(void **state)
{
	char *argv[] = {"g", "a b", "", "it's", "--x=$y", NULL};
	autofree char *text = gpc_secrets_command_line(argv);

	(void)state;
	assert_string_equal(text, "g 'a b' '' 'it'\\''s' '--x=$y'");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tokens),
		cmocka_unit_test(other_words),
		cmocka_unit_test(words_are_quoted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Recorded images of each version: the stacks that are read of them are those
 * that Python itself told when they were made (tests/python_matrix/scene.py). */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/vec.h"
#include "py_stacks.h"

struct stacks {
	vec(char *) list; /* frames joined by newlines; of one thread each */
};

static void deinit(struct stacks *s)
{
	for (size_t i = 0; i < s->list.n; i++)
		free(s->list.at[i]);
	vec_deinit(&s->list);
}

static void add_line(struct stacks *s, const char *line, size_t n)
{
	char *old = s->list.at[s->list.n - 1], *joined;

	assert_true(asprintf(&joined, "%s%.*s\n", old, (int)n, line) > 0);
	free(old);
	s->list.at[s->list.n - 1] = joined;
}

/* Lines that begin with prefix; "thread" begins one. */
static void parse(const char *text, const char *prefix, struct stacks *ret)
{
	size_t skip = strlen(prefix);

	for (const char *end; *text; text = *end ? end + 1 : end) {
		end = strchrnul(text, '\n');
		if (strncmp(text, prefix, skip) != 0)
			continue;
		if (strncmp(text + skip, "thread", 6) == 0)
			assert_true(vec_push(&ret->list, strdup("")));
		else if (ret->list.n)
			add_line(ret, text + skip, (size_t)(end - text) - skip);
	}
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The thread that told the stacks is not among those that it told. */
static void remove_teller(struct stacks *s)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->list.n; i++)
		if (strncmp(s->list.at[i], "teller|", 7) == 0)
			free(s->list.at[i]);
		else
			s->list.at[kept++] = s->list.at[i];
	assert_int_equal(s->list.n, kept + 1);
	s->list.n = kept;
}

/* Others need the memory: what was forgotten is read again. */
static void check_forgetting(struct py_stacks *stacks, const char *text)
{
	struct py_codes_all *all = stacks->python.codes;
	size_t bytes = gpc_py_codes_trim(all, SIZE_MAX);
	char *again;

	assert_true(bytes > 4000);
	assert_int_equal(gpc_py_codes_trim(all, bytes), bytes);
	assert_true(gpc_py_codes_trim(all, bytes - 1) < bytes);
	again = py_stacks_text(stacks);
	assert_string_equal(again, text);
	assert_true(gpc_py_codes_trim(all, SIZE_MAX) > bytes / 2);
	free(again);
}

static void check(struct py_host *host, const char *name)
{
	struct stacks want = {0}, have = {0};
	struct py_stacks stacks;
	char *text;

	assert_true(py_stacks_open(&stacks, host));
	text = py_stacks_text(&stacks);
	parse(text, "", &have);
	parse(gpc_mem_image_stacks(host->image), "expect ", &want);
	assert_true(want.list.n >= 10);
	remove_teller(&have);
	qsort(want.list.at, want.list.n, sizeof *want.list.at, compare);
	qsort(have.list.at, have.list.n, sizeof *have.list.at, compare);
	assert_int_equal(have.list.n, want.list.n);
	for (size_t i = 0; i < want.list.n; i++) {
		if (strcmp(have.list.at[i], want.list.at[i]) != 0)
			fprintf(stderr, "%s:\nhave\n%swant\n%s", name, have.list.at[i],
				want.list.at[i]);
		assert_string_equal(have.list.at[i], want.list.at[i]);
	}
	check_forgetting(&stacks, text);
	/* What the file name says of the version is what was found. */
	assert_int_equal(strncmp(stacks.target.runtime.version, name, strcspn(name, "td")), 0);
	free(text);
	deinit(&want);
	deinit(&have);
	py_stacks_close(&stacks);
}

static void stacks_are_as_python_told(void **state)
{
	DIR *dir = opendir(PY_IMAGES);
	unsigned n = 0;
	struct dirent *e;

	(void)state;
	assert_non_null(dir);
	while ((e = readdir(dir))) {
		struct py_host host;
		char path[512], name[64];

		if (sscanf(e->d_name, "%60[^i]img", name) != 1 || e->d_name[0] == '.')
			continue;
		name[strlen(name) - 1] = '\0';
		snprintf(path, sizeof path, "%s/%s", PY_IMAGES, e->d_name);
		assert_true(py_host_load(&host, path));
		check(&host, name);
		py_host_close(&host);
		n++;
	}
	closedir(dir);
	assert_true(n >= 11);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks_are_as_python_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

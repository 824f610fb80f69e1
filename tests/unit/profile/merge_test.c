/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "profile/merge.h"

#define ERROR_1 "[Profiling error: exception E]"
#define ERROR_2 "[Profiling skipped: not supported]"

/* Stacks are written as text here: "root;leaf"; a frame that begins with
 * "[Profiling" is an error frame. */
struct fixture {
	struct gpc_names *names;
	struct gpc_stacks *perf, *runtime[3], *out;
};

static struct gpc_stacks *new_stacks(void)
{
	struct gpc_stacks *s = NULL;

	assert_int_equal(gpc_stacks_new(0, &s, NULL), GPC_OK);
	return s;
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);

	f->names = gpc_names_new(1);
	f->perf = new_stacks();
	for (int i = 0; i < 3; i++)
		f->runtime[i] = new_stacks();
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	gpc_stacks_free(f->perf);
	for (int i = 0; i < 3; i++)
		gpc_stacks_free(f->runtime[i]);
	gpc_stacks_free(f->out);
	gpc_names_put(f->names);
	free(f);
	return 0;
}

static gpc_frame frame(struct fixture *f, const char *text)
{
	struct gpc_frame_entry e = {.function = gpc_names_str(f->names, text, strlen(text))};

	if (strncmp(text, "[Profiling", 10) == 0)
		e.flags = GPC_FRAME_ERROR;
	return gpc_names_frame(f->names, &e);
}

static void add(struct fixture *f, struct gpc_stacks *s, uint64_t process, const char *stack,
		uint64_t value)
{
	autofree char *copy = strdup(stack);
	gpc_frame frames[64];
	uint32_t n = 0;
	char *save = NULL;

	for (char *t = strtok_r(copy, ";", &save); t; t = strtok_r(NULL, ";", &save))
		frames[63 - n++] = frame(f, t);
	gpc_stacks_add(s, process, frames + 64 - n, n, value);
}

static void merge_max(struct fixture *f, size_t max_bytes)
{
	struct gpc_stacks *old = f->out;

	f->out = NULL;
	assert_int_equal(gpc_merge(f->names, f->perf, (const struct gpc_stacks *const *)f->runtime,
				   3, max_bytes, &f->out, NULL),
			 GPC_OK);
	gpc_stacks_free(old);
}

static void merge(struct fixture *f)
{
	merge_max(f, 0);
}

static void row_text(struct fixture *f, const struct gpc_stacks *s, size_t i, char *to, size_t size)
{
	struct gpc_stack_row row = gpc_stacks_row(s, i);
	size_t n = (size_t)snprintf(to, size, "%d", (int)row.process);
	struct gpc_frame_text text;

	for (uint32_t k = row.n_frames; k-- > 0;) {
		assert_true(gpc_names_frame_text(f->names, row.frames[k], &text));
		n += (size_t)snprintf(to + n, size - n, ";%s", text.function);
	}
	snprintf(to + n, size - n, " %llu", (unsigned long long)row.value);
}

static void assert_lines(struct fixture *f, const char *const *lines, size_t n)
{
	char text[1024];

	for (size_t i = 0; i < n && i < gpc_stacks_rows(f->out); i++) {
		row_text(f, f->out, i, text, sizeof text);
		assert_string_equal(text, lines[i]);
	}
	assert_int_equal(gpc_stacks_rows(f->out), n);
}

#define assert_out(f, ...)                                               \
	do {                                                             \
		const char *const lines_[] = {__VA_ARGS__};              \
		assert_lines(f, lines_, sizeof lines_ / sizeof *lines_); \
	} while (0)

static void perf_alone_stays(void **state)
{
	struct fixture *f = *state;

	add(f, f->perf, 1, "a;b", 6);
	add(f, f->perf, 2, "c", 1);
	add(f, f->perf, 1, "a;d", 4);
	merge(f);
	assert_out(f, "1;a;b 6", "1;a;d 4", "2;c 1");
}

static void an_error_annotates_perfs_stack(void **state)
{
	struct fixture *f = *state;

	add(f, f->perf, 1, "[unknown];evalA;(/lib/libX.so)", 3);
	add(f, f->runtime[0], 1, ERROR_1, 1);
	merge(f);
	assert_out(f, "1;" ERROR_1 ";[unknown];evalA;(/lib/libX.so) 3");
}

static void an_error_annotates_every_stack(void **state)
{
	struct fixture *f = *state;

	add(f, f->perf, 1, "main;work", 2);
	add(f, f->perf, 1, "main;idle", 3);
	add(f, f->perf, 1, "do_syscall_64", 1);
	add(f, f->runtime[1], 1, ERROR_2, 1);
	merge(f);
	assert_out(f, "1;" ERROR_2 ";main;work 2", "1;" ERROR_2 ";main;idle 3",
		   "1;" ERROR_2 ";do_syscall_64 1");
}

static void an_error_without_samples_is_dropped(void **state)
{
	struct fixture *f = *state;

	add(f, f->perf, 1, "main", 0);
	add(f, f->runtime[0], 1, ERROR_1, 1);
	merge(f);
	assert_int_equal(gpc_stacks_rows(f->out), 0);
}

static void two_processes_two_errors(void **state)
{
	struct fixture *f = *state;

	add(f, f->perf, 1, "main", 5);
	add(f, f->perf, 2, "start", 6);
	add(f, f->runtime[0], 1, ERROR_1, 1);
	add(f, f->runtime[1], 2, ERROR_2, 1);
	merge(f);
	assert_out(f, "1;" ERROR_1 ";main 5", "2;" ERROR_2 ";start 6");
}

static void error_frames_come_once(void **state)
{
	struct fixture *f = *state;

	add(f, f->perf, 1, ERROR_1 ";main", 5);
	add(f, f->perf, 1, "main", 2);
	for (int i = 0; i < 3; i++)
		add(f, f->runtime[i], 1, ERROR_1, 1);
	add(f, f->runtime[2], 1, ERROR_2, 1);
	merge(f);
	assert_out(f, "1;" ERROR_2 ";" ERROR_1 ";main 5", "1;" ERROR_1 ";" ERROR_2 ";main 2");
}

static void errors_beside_stacks_are_no_samples(void **state)
{
	struct fixture *f = *state;

	add(f, f->perf, 1, "native", 10);
	add(f, f->runtime[0], 1, "py", 100);
	add(f, f->runtime[1], 1, ERROR_1, 1);
	add(f, f->runtime[0], 2, "py", 7);
	add(f, f->runtime[1], 2, ERROR_1, 1);
	merge(f);
	assert_out(f, "1;" ERROR_1 ";py 10", "2;" ERROR_1 ";py 7");
}

static void an_error_frame_among_others_is_a_stack(void **state)
{
	struct fixture *f = *state;

	add(f, f->perf, 1, "native", 4);
	add(f, f->runtime[0], 1, "py;" ERROR_1, 1);
	add(f, f->runtime[0], 1, ERROR_1 ";py", 1);
	merge(f);
	assert_out(f, "1;py;" ERROR_1 " 2", "1;" ERROR_1 ";py 2");
}

static void no_perf_samples_keep_the_runtimes(void **state)
{
	struct fixture *f = *state;

	add(f, f->runtime[0], 1, "x", 100);
	add(f, f->runtime[0], 1, "y", 50);
	add(f, f->runtime[0], 1, "z", 25);
	merge(f);
	assert_out(f, "1;x 100", "1;y 50", "1;z 25");
}

static void a_runtime_is_scaled_to_perf(void **state)
{
	struct fixture *f = *state;

	add(f, f->perf, 1, "n", 7);
	add(f, f->perf, 1, "m", 5);
	add(f, f->runtime[0], 1, "A", 30);
	add(f, f->runtime[0], 1, "B", 15);
	add(f, f->runtime[0], 1, "C", 5);
	merge(f); /* 7.2, 3.6, 1.2 */
	assert_out(f, "1;A 7", "1;B 4", "1;C 1");
}

static void what_scales_to_nothing_goes(void **state)
{
	struct fixture *f = *state;

	add(f, f->perf, 1, "n", 2);
	add(f, f->runtime[0], 1, "A", 1);
	add(f, f->runtime[0], 1, "B", 1000);
	merge(f);
	assert_out(f, "1;B 2");
}

static void without_perf_all_is_kept(void **state)
{
	struct fixture *f = *state;

	add(f, f->runtime[0], 1, "A", 30);
	add(f, f->runtime[0], 2, ERROR_1, 1);
	add(f, f->runtime[1], 1, ERROR_2, 1);
	gpc_stacks_free(take(f->perf));
	merge(f);
	assert_out(f, "1;A 30", "1;" ERROR_2 " 1", "2;" ERROR_1 " 1");
}

static void processes_come_in_perfs_order(void **state)
{
	struct fixture *f = *state;

	add(f, f->runtime[0], 5, "r", 1);
	add(f, f->runtime[0], 3, "r", 4);
	add(f, f->runtime[1], 4, "r", 1);
	add(f, f->perf, 9, "n", 1);
	add(f, f->perf, 3, "n", 2);
	merge(f);
	assert_out(f, "9;n 1", "3;r 2", "5;r 1", "4;r 1");
}

static void overflow_rows_count(void **state)
{
	struct fixture *f = *state;

	add(f, f->perf, 1, "", 6);
	add(f, f->perf, 1, "n", 4);
	add(f, f->perf, 2, "", 3);
	add(f, f->runtime[0], 1, "", 1);
	add(f, f->runtime[0], 1, "r", 1);
	add(f, f->runtime[0], 2, ERROR_1, 1);
	merge(f);
	assert_out(f, "1 5", "1;r 5", "2;" ERROR_1 " 3");
	merge_max(f, 1); /* an output that is full at once */
	assert_int_equal(gpc_stacks_total(f->out), 13);
}

static void scale_is_exact(void **state)
{
	uint64_t ties[] = {1, 1, 1, 1}, zero[] = {0, 0}, huge[] = {UINT64_MAX, UINT64_MAX, 1};

	(void)state;
	assert_int_equal(gpc_scale(ties, 4, 6, NULL), GPC_OK);
	assert_memory_equal(ties, ((uint64_t[]){2, 2, 1, 1}), sizeof ties);
	assert_int_equal(gpc_scale(zero, 2, 6, NULL), GPC_OK);
	assert_memory_equal(zero, ((uint64_t[]){0, 0}), sizeof zero);
	assert_int_equal(gpc_scale(huge, 3, UINT64_MAX, NULL), GPC_OK);
	assert_true(huge[0] + huge[1] + huge[2] == UINT64_MAX);
	assert_true(huge[0] - huge[1] <= 1);
	assert_int_equal(gpc_scale(ties, 4, 0, NULL), GPC_OK);
	assert_memory_equal(ties, ((uint64_t[]){0, 0, 0, 0}), sizeof ties);
	assert_int_equal(gpc_scale(NULL, 0, 6, NULL), GPC_OK);
}

/* Every value is its exact share rounded down or up, and the sum is right. */
static void scale_of_anything(void **state)
{
	(void)state;
	srand(1);
	for (int round = 0; round < 2000; round++) {
		uint64_t in[50], out[50], total = (uint64_t)(rand() % 3000), sum = 0, got = 0;
		size_t n = 1 + (size_t)rand() % 50;

		for (size_t i = 0; i < n; i++)
			sum += in[i] = out[i] = (uint64_t)(rand() % (rand() % 3 ? 9 : 2000));
		assert_int_equal(gpc_scale(out, n, total, NULL), GPC_OK);
		for (size_t i = 0; i < n; i++) {
			got += out[i];
			if (!sum)
				continue;
			assert_true(out[i] >= in[i] * total / sum);
			assert_true(out[i] <= in[i] * total / sum + 1);
			assert_true(in[i] || !out[i]);
		}
		assert_int_equal(got, sum ? total : 0);
	}
}

/* ---- random profiles ---- */

enum { PROCESSES = 6, STACKS = 14 };

struct plan {
	struct {
		int table; /* 0 perf, 1.. runtimes */
		uint64_t process, value;
		char stack[80];
	} rows[200];
	size_t n;
};

static void make_plan(struct plan *plan)
{
	plan->n = (size_t)rand() % 200;
	for (size_t i = 0; i < plan->n; i++) {
		int table = rand() % 4;
		bool error = table && rand() % 6 == 0;

		plan->rows[i].table = table;
		plan->rows[i].process = (uint64_t)(rand() % PROCESSES);
		plan->rows[i].value = error ? 1 : (uint64_t)(rand() % 40);
		if (error)
			strcpy(plan->rows[i].stack, rand() % 2 ? ERROR_1 : ERROR_2);
		else
			snprintf(plan->rows[i].stack, sizeof plan->rows[i].stack, "m;%s;f%d",
				 table ? "runtime" : "native", rand() % STACKS);
	}
}

static void fill(struct fixture *f, const struct plan *plan, const size_t *order)
{
	gpc_stacks_reset(f->perf, 0);
	for (int i = 0; i < 3; i++)
		gpc_stacks_reset(f->runtime[i], 0);
	for (size_t i = 0; i < plan->n; i++) {
		size_t k = order[i];
		int table = plan->rows[k].table;

		add(f, table ? f->runtime[table - 1] : f->perf, plan->rows[k].process,
		    plan->rows[k].stack, plan->rows[k].value);
	}
}

static void check_totals(struct fixture *f, const struct plan *plan)
{
	uint64_t perf[PROCESSES] = {0}, runtime[PROCESSES] = {0}, out[PROCESSES] = {0};

	for (size_t i = 0; i < plan->n; i++) {
		uint64_t process = plan->rows[i].process;

		if (!plan->rows[i].table)
			perf[process] += plan->rows[i].value;
		else if (plan->rows[i].stack[0] != '[')
			runtime[process] += plan->rows[i].value;
	}
	for (size_t i = 0; i < gpc_stacks_rows(f->out); i++)
		out[gpc_stacks_row(f->out, i).process] += gpc_stacks_row(f->out, i).value;
	for (size_t i = 0; i < PROCESSES; i++)
		assert_int_equal(out[i], perf[i] ? perf[i] : runtime[i]);
}

static bool has_row(const struct gpc_stacks *s, uint64_t process, const gpc_frame *frames,
		    uint32_t n)
{
	for (size_t i = 0; i < gpc_stacks_rows(s); i++) {
		struct gpc_stack_row row = gpc_stacks_row(s, i);

		if (row.process == process && row.n_frames == n &&
		    memcmp(row.frames, frames, n * sizeof *frames) == 0)
			return true;
	}
	return false;
}

/* Each stack, its error frames taken off, stands in an input; an error frame
 * stands in it once. */
static void check_stacks(struct fixture *f)
{
	gpc_frame errors[] = {frame(f, ERROR_1), frame(f, ERROR_2)};

	for (size_t i = 0; i < gpc_stacks_rows(f->out); i++) {
		struct gpc_stack_row row = gpc_stacks_row(f->out, i);
		uint32_t n = row.n_frames;
		bool found;

		while (n && (row.frames[n - 1] == errors[0] || row.frames[n - 1] == errors[1]))
			n--;
		assert_true(row.n_frames - n <= 2);
		if (row.n_frames - n == 2)
			assert_true(row.frames[n] != row.frames[n + 1]);
		found = has_row(f->perf, row.process, row.frames, n);
		for (int k = 0; k < 3; k++)
			found = found || has_row(f->runtime[k], row.process, row.frames, n);
		assert_true(found);
	}
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* All rows as sorted text; error frames sorted out, their order is the inputs'. */
static char *sorted_text(struct fixture *f)
{
	size_t n = gpc_stacks_rows(f->out), at = 0;
	char **lines = calloc(n + 1, sizeof *lines), *all = calloc(n + 1, 256);

	for (size_t i = 0; i < n; i++) {
		char line[256], *both;

		row_text(f, f->out, i, line, sizeof line);
		both = strstr(line, ERROR_2 ";" ERROR_1);
		if (both)
			memcpy(both, ERROR_1 ";" ERROR_2, strlen(ERROR_1 ";" ERROR_2));
		lines[i] = strdup(line);
	}
	qsort(lines, n, sizeof *lines, by_text);
	for (size_t i = 0; i < n; i++) {
		at += (size_t)sprintf(all + at, "%s\n", lines[i]);
		free(lines[i]);
	}
	free(lines);
	return all;
}

static void shuffle(size_t *order, size_t n)
{
	for (size_t i = n; i > 1; i--) {
		size_t k = (size_t)rand() % i, old = order[i - 1];

		order[i - 1] = order[k];
		order[k] = old;
	}
}

static void properties_of_random_profiles(void **state)
{
	struct fixture *f = *state;
	size_t order[200];
	struct plan plan;

	srand(7);
	for (int round = 0; round < 300; round++) {
		autofree char *first = NULL, *again = NULL, *shuffled = NULL;

		make_plan(&plan);
		for (size_t i = 0; i < plan.n; i++)
			order[i] = i;
		fill(f, &plan, order);
		merge(f);
		check_totals(f, &plan);
		check_stacks(f);
		first = sorted_text(f);
		merge(f);
		again = sorted_text(f);
		assert_string_equal(first, again);
		shuffle(order, plan.n);
		fill(f, &plan, order);
		merge(f);
		shuffled = sorted_text(f);
		assert_string_equal(first, shuffled);
	}
}

/* The same input through other frame numbers gives the same odd samples. */
static void numbers_of_frames_do_not_matter(void **state)
{
	struct fixture *f = *state;

	frame(f, "c");
	frame(f, "a");
	add(f, f->perf, 1, "n", 2);
	add(f, f->runtime[0], 1, "c", 1);
	add(f, f->runtime[0], 1, "b", 1);
	add(f, f->runtime[0], 1, "a", 1);
	merge(f);
	assert_out(f, "1;b 1", "1;a 1");
}

#define row_of(t) cmocka_unit_test_setup_teardown(t, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		row_of(perf_alone_stays),
		row_of(an_error_annotates_perfs_stack),
		row_of(an_error_annotates_every_stack),
		row_of(an_error_without_samples_is_dropped),
		row_of(two_processes_two_errors),
		row_of(error_frames_come_once),
		row_of(errors_beside_stacks_are_no_samples),
		row_of(an_error_frame_among_others_is_a_stack),
		row_of(no_perf_samples_keep_the_runtimes),
		row_of(a_runtime_is_scaled_to_perf),
		row_of(what_scales_to_nothing_goes),
		row_of(without_perf_all_is_kept),
		row_of(processes_come_in_perfs_order),
		row_of(overflow_rows_count),
		row_of(scale_is_exact),
		row_of(scale_of_anything),
		row_of(properties_of_random_profiles),
		row_of(numbers_of_frames_do_not_matter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

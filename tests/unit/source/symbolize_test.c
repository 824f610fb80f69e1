/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "source/frames.h"
#include "source/symbolize.h"

/* A sampler that is not started, with this process in its table: its symbols are
 * known without looking them up. */
struct bench {
	struct gpc_sampler *sampler;
	struct gpc_process *process;
	struct gpc_symbolizer y;
	struct gpc_stacks *raw, *out;
	struct gpc_vdso *vdso;
	char map_path[64];
};

__attribute__((noinline)) static int a_function_to_find(int x)
{
	__asm__ volatile("");
	return x * 3;
}

static inline __attribute__((always_inline)) int inlined_piece(int x)
{
	__asm__ volatile("nop");
	return x * 5;
}

__attribute__((noinline)) static int function_with_piece(int x)
{
	__asm__ volatile("");
	return inlined_piece(x) + 1;
}

static int set_up(void **state)
{
	struct gpc_sampler_config config = {.stack_bytes = 1 << 20};
	struct bench *b = calloc(1, sizeof *b);

	assert_int_equal(gpc_sampler_new(&config, NULL, &b->sampler, NULL), GPC_OK);
	gpc_sampler_lock(b->sampler);
	b->process = gpc_table_sampled(gpc_sampler_table(b->sampler), getpid(), 1);
	gpc_table_space(gpc_sampler_table(b->sampler), b->process);
	gpc_sampler_unlock(b->sampler);
	gpc_sampler_settle(b->sampler, 20 * GPC_SECOND_NS);
	b->y.sampler = b->sampler;
	b->y.names = gpc_names_new(1);
	if (gpc_vdso_new(&b->vdso, NULL) == GPC_OK)
		b->y.vdso = b->vdso;
	assert_int_equal(gpc_stacks_new(0, &b->raw, NULL), GPC_OK);
	assert_int_equal(gpc_stacks_new(0, &b->out, NULL), GPC_OK);
	snprintf(b->map_path, sizeof b->map_path, "/tmp/perf-%d.map", getpid());
	*state = b;
	return 0;
}

static int tear_down(void **state)
{
	struct bench *b = *state;

	gpc_stacks_free(b->raw);
	gpc_stacks_free(b->out);
	gpc_names_put(b->y.names);
	gpc_vdso_free(b->vdso);
	gpc_sampler_free(b->sampler);
	unlink(b->map_path);
	free(b);
	return 0;
}

static uint64_t raw_of(struct bench *b, uint64_t address)
{
	return gpc_raw_of(gpc_space_find(b->process->space, address), address);
}

static void add(struct bench *b, uint64_t process, uint64_t a, uint64_t c, uint64_t value)
{
	gpc_frame frames[2] = {a, c};

	assert_int_equal(gpc_stacks_add(b->raw, process, frames, 2, value), GPC_OK);
}

static void symbolize(struct bench *b)
{
	struct gpc_err err;

	if (gpc_symbolize(&b->y, b->raw, b->out, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(gpc_stacks_total(b->out), gpc_stacks_total(b->raw));
}

/* The text of a frame of the result. */
static struct gpc_frame_text text_of(struct bench *b, size_t row, uint32_t frame)
{
	struct gpc_frame_text t = {.struct_size = sizeof t};
	struct gpc_stack_row r = gpc_stacks_row(b->out, row);

	assert_true(frame < r.n_frames);
	assert_true(gpc_names_frame_text(b->y.names, r.frames[frame], &t));
	return t;
}

static void test_function_of_a_file(void **state)
{
	uint64_t address = (uintptr_t)a_function_to_find;
	struct bench *b = *state;
	char exe[256] = "";

	assert_true(readlink("/proc/self/exe", exe, sizeof exe - 1) > 0);
	assert_int_equal(raw_of(b, address) & GPC_RAW_KIND, GPC_RAW_FILE);
	add(b, b->process->id, raw_of(b, address), raw_of(b, (uintptr_t)test_function_of_a_file),
	    3);
	symbolize(b);
	assert_string_equal(text_of(b, 0, 0).function, "a_function_to_find");
	assert_string_equal(text_of(b, 0, 1).function, "test_function_of_a_file");
	assert_string_equal(text_of(b, 0, 0).module, exe);
	assert_string_equal(text_of(b, 0, 0).suffix, "");
}

/* Two places in one function are one frame, and so one stack. */
static void test_stacks_of_one_function_are_joined(void **state)
{
	uint64_t raw, other;
	struct bench *b = *state;

	raw = raw_of(b, (uintptr_t)a_function_to_find);
	other = raw_of(b, (uintptr_t)test_function_of_a_file);
	add(b, b->process->id, raw, other, 3);
	add(b, b->process->id, raw + 1, other, 4);
	add(b, b->process->id + 1, raw, other, 5);
	symbolize(b);
	assert_int_equal(gpc_stacks_rows(b->out), 2);
	assert_int_equal(gpc_stacks_row(b->out, 0).value, 7);
	assert_int_equal(gpc_stacks_row(b->out, 1).value, 5);
}

static void test_with_the_file_in_the_name(void **state)
{
	struct bench *b = *state;
	char expected[300] = "a_function_to_find (", exe[256] = "";

	assert_true(readlink("/proc/self/exe", exe, sizeof exe - 1) > 0);
	strcat(strcat(expected, exe), ")");
	b->y.insert_dso = true;
	add(b, b->process->id, raw_of(b, (uintptr_t)a_function_to_find), 0, 1);
	symbolize(b);
	assert_string_equal(text_of(b, 0, 0).function, expected);
}

/* No symbol: the file is what is known. No such image: neither is wrong. */
static void test_without_a_symbol(void **state)
{
	struct bench *b = *state;
	uint64_t raw = raw_of(b, (uintptr_t)a_function_to_find);
	char exe[256] = "", expected[300];

	assert_true(readlink("/proc/self/exe", exe, sizeof exe - 1) > 0);
	snprintf(expected, sizeof expected, "(%s)", exe);
	add(b, b->process->id, raw | GPC_RAW_OFFSET_MAX,
	    GPC_RAW_FILE | UINT64_C(0xffff0) << GPC_RAW_OFFSET_BITS, 1);
	symbolize(b);
	assert_string_equal(text_of(b, 0, 0).function, expected);
	assert_string_equal(text_of(b, 0, 1).function, "[unknown]");
}

static void test_kernel(void **state)
{
	struct bench *b = *state;

	add(b, b->process->id, UINT64_C(0xffffffff00000001), 0x1234, 1);
	symbolize(b);
	assert_string_equal(text_of(b, 0, 0).suffix, "k");
	assert_true(text_of(b, 0, 0).flags & GPC_FRAME_KERNEL);
	assert_string_equal(text_of(b, 0, 1).function, "[unknown]");
	assert_string_equal(text_of(b, 0, 1).suffix, "");
}

static void test_vdso(void **state)
{
	struct bench *b = *state;
	bool is_named = false;

	if (!b->vdso)
		skip();
	for (uint64_t offset = 0; offset < 0x2000; offset += 16)
		add(b, b->process->id, GPC_RAW_VDSO | offset, 0, 1);
	symbolize(b);
	for (size_t k = 0; k < gpc_stacks_rows(b->out); k++)
		is_named |= strstr(text_of(b, k, 0).function, "gettime") != NULL;
	assert_true(is_named);
}

static void test_generated_code(void **state)
{
	struct bench *b = *state;
	FILE *f = fopen(b->map_path, "w");

	assert_non_null(f);
	fputs("10000 100 jitted one\n20000 100 jitted two\n", f);
	fclose(f);
	b->process->has_jit = true;
	add(b, b->process->id, 0x10010, 0x20010, 2);
	add(b, b->process->id + 1, 0x10010, 0x20010, 3); /* another's means nothing */
	symbolize(b);
	assert_string_equal(text_of(b, 0, 0).function, "jitted one");
	assert_string_equal(text_of(b, 0, 1).function, "jitted two");
	assert_string_equal(text_of(b, 1, 0).function, "[unknown]");
}

/* Much was read for other processes of the window: what is left is for the newest code. */
static void test_a_share_of_what_is_left(void **state)
{
	struct bench *b = *state;
	FILE *f = fopen(b->map_path, "w");

	assert_non_null(f);
	fputs("10000 100 an old function\n20000 100 the function that was made last\n", f);
	fclose(f);
	b->process->has_jit = true;
	add(b, b->process->id, 0x10010, 0x20010, 2);
	b->y.jit_spent.map_bytes = (UINT64_C(512) << 20) - 4 * 50;
	symbolize(b);
	assert_string_equal(text_of(b, 0, 0).function, "[unknown]");
	assert_string_equal(text_of(b, 0, 1).function, "the function that was made last");
	assert_true(b->y.jit_spent.is_short);
}

static void test_names_as_they_are_in_the_file(void **state)
{
	struct bench *b = *state;
	FILE *f = fopen(b->map_path, "w");

	assert_non_null(f);
	fputs("10000 100 _ZN3foo3barEv\n", f);
	fclose(f);
	b->process->has_jit = true;
	add(b, b->process->id, 0x10010, 0, 1);
	symbolize(b);
	assert_string_equal(text_of(b, 0, 0).function, "_ZN3foo3barEv");
	b->y.demangle = true;
	gpc_stacks_free(b->out);
	assert_int_equal(gpc_stacks_new(0, &b->out, NULL), GPC_OK);
	symbolize(b);
	assert_string_equal(text_of(b, 0, 0).function, "foo::bar()");
}

/* Anybody can write into /tmp. */
static void test_perf_map_of_somebody_else(void **state)
{
	struct bench *b = *state;
	FILE *f = fopen(b->map_path, "w");

	assert_non_null(f);
	fputs("10000 100 jitted\n", f);
	fclose(f);
	if (geteuid() != 0 || chown(b->map_path, 65534, 65534) < 0)
		skip();
	b->process->has_jit = true;
	add(b, b->process->id, 0x10010, 0, 1);
	symbolize(b);
	assert_string_equal(text_of(b, 0, 0).function, "[unknown]");
}

/* Of all places of the function, one at least is in what was inlined. */
static bool has_inlined_frame(struct bench *b)
{
	for (size_t k = 0; k < gpc_stacks_rows(b->out); k++) {
		if (gpc_stacks_row(b->out, k).n_frames != 3)
			continue;
		assert_string_equal(text_of(b, k, 0).function, "inlined_piece");
		assert_true(text_of(b, k, 0).flags & GPC_FRAME_INLINED);
		assert_string_equal(text_of(b, k, 1).function, "function_with_piece");
		assert_false(text_of(b, k, 1).flags & GPC_FRAME_INLINED);
		assert_int_equal(text_of(b, k, 0).address, text_of(b, k, 1).address);
		assert_int_equal(text_of(b, k, 0).line != 0, b->y.addresses);
		if (b->y.addresses)
			assert_non_null(strstr(text_of(b, k, 1).file, "symbolize_test.c"));
		return true;
	}
	return false;
}

static void add_places(struct bench *b)
{
	uint64_t raw = raw_of(b, (uintptr_t)function_with_piece);
	uint64_t other = raw_of(b, (uintptr_t)a_function_to_find);

	for (uint64_t at = 0; at < 24; at++)
		add(b, b->process->id, raw + at, other, 1);
}

static void test_inlined_functions(void **state)
{
	struct bench *b = *state;

	b->y.inlines = true;
	add_places(b);
	symbolize(b);
	assert_true(has_inlined_frame(b));
	assert_true(gpc_stacks_rows(b->out) <= 4);
}

static void test_lines_with_addresses(void **state)
{
	struct bench *b = *state;

	b->y.inlines = b->y.addresses = true;
	add_places(b);
	symbolize(b);
	assert_true(has_inlined_frame(b));
}

static void test_without_inlined_functions(void **state)
{
	struct bench *b = *state;

	b->y.addresses = true;
	add_places(b);
	symbolize(b);
	for (size_t k = 0; k < gpc_stacks_rows(b->out); k++)
		assert_int_equal(gpc_stacks_row(b->out, k).n_frames, 2);
	assert_true(text_of(b, 0, 0).line > 0);
}

/* What came over the cap of the raw table stays what it is. */
static void test_overflow_row(void **state)
{
	struct bench *b = *state;

	assert_int_equal(gpc_stacks_add(b->raw, b->process->id, NULL, 0, 9), GPC_OK);
	symbolize(b);
	assert_int_equal(gpc_stacks_row(b->out, 0).n_frames, 0);
	assert_int_equal(gpc_stacks_row(b->out, 0).value, 9);
}

/* A collector's frames: its own names, addresses of the process, or nonsense. */
static void test_frames_of_a_collector(void **state)
{
	struct bench *b = *state;
	struct gpc_frame_entry e = {.function = gpc_names_str(b->y.names, "script.py:main", 14)};
	gpc_frame named = gpc_names_frame(b->y.names, &e);

	b->y.is_foreign = true;
	add(b, b->process->id, named, (uintptr_t)a_function_to_find, 1);
	add(b, b->process->id, GPC_RAW_FILE | 5, GPC_RAW_VDSO | 5, 1);
	symbolize(b);
	assert_string_equal(text_of(b, 0, 0).function, "script.py:main");
	assert_string_equal(text_of(b, 0, 1).function, "a_function_to_find");
	assert_string_equal(text_of(b, 1, 0).function, "[unknown]");
	assert_string_equal(text_of(b, 1, 1).function, "[unknown]");
}

/* Without is_foreign nothing of ours can look like a name; with it, a number
 * that nobody gave must not be believed. */
static void test_name_that_nobody_gave(void **state)
{
	struct gpc_frame_text t = {.struct_size = sizeof t};
	struct bench *b = *state;
	struct gpc_stack_row row;

	b->y.is_foreign = true;
	add(b, b->process->id, GPC_FRAME_TAG | 123456789, 0x1234, 1);
	symbolize(b);
	row = gpc_stacks_row(b->out, 0);
	if (gpc_names_frame_text(b->y.names, row.frames[0], &t))
		assert_string_equal(t.function, "[unknown]");
}

#define bench_test(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		bench_test(test_function_of_a_file),
		bench_test(test_stacks_of_one_function_are_joined),
		bench_test(test_with_the_file_in_the_name),
		bench_test(test_without_a_symbol),
		bench_test(test_kernel),
		bench_test(test_vdso),
		bench_test(test_generated_code),
		bench_test(test_a_share_of_what_is_left),
		bench_test(test_names_as_they_are_in_the_file),
		bench_test(test_perf_map_of_somebody_else),
		bench_test(test_inlined_functions),
		bench_test(test_lines_with_addresses),
		bench_test(test_without_inlined_functions),
		bench_test(test_overflow_row),
		bench_test(test_frames_of_a_collector),
		bench_test(test_name_that_nobody_gave),
	};

	return a_function_to_find(0) + function_with_piece(0) - 1 +
	       cmocka_run_group_tests(tests, NULL, NULL);
}
